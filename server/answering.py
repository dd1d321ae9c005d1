"""Answers from a record: what was told before is told again, without the toolchain and without a GPU. It runs nothing."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

from .checkpoints import Checkpoint, Checkpoints, answer_from
from .components import gives_some
from .conversations import Conversations, Recording, Told
from .errors import NotRecorded, WarpwiseError
from .masking import masked
from .reports.answer import Answer
from .store import Store
from .tool import Args, Tool
from .tools_arguments import KernelArgs
from .workbench import Workbench

_NOT_ASKED = ("wait_s",)
_NAMES = ("path", "source", "id")


class Asked:
    """A call's question: the tool, what it names (by content, not by path), and how it is to be told."""

    def __init__(self, tool: str, arguments: Mapping[str, Any], candidate: str | None) -> None:
        held = {"tool": tool, "arguments": dict(arguments), "candidate": candidate}
        self.candidate = candidate
        text = json.dumps(held, sort_keys=True, default=str, separators=(",", ":"))
        self.question = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


async def asked(bench: Workbench, tool: Tool, args: Args) -> Asked:
    """The question of a call, before it is answered: what a path names may be another text later."""
    data = args.model_dump(mode="json", exclude=set(_NOT_ASKED))
    candidate: str | None = None
    try:
        if isinstance(args, KernelArgs):
            candidate = (await args.candidate(bench)).id
            data = {key: value for key, value in data.items() if key not in (*_NAMES, "defines", "flags")}
        elif tool.name == "compare":
            for key in ("a", "b"):
                data[key] = await _named(bench, str(data[key]))
    except WarpwiseError:
        candidate = None  # the call itself will say what is wrong
    return Asked(tool.name, data, candidate)


async def _named(bench: Workbench, text: str) -> str:
    if text.startswith("c-") and not text.endswith((".cu", ".cuh")):
        return text
    return (await bench.candidate(path=text, source=None, id=None)).id


class Script(Protocol):
    """Where answers come from instead of the tools."""

    fill: bool

    async def find(self, bench: Workbench, tool: Tool, args: Args, question: Asked) -> Told | Answer | None:
        """What was told, exactly, or the answer that is still to be masked; None where nothing is held."""
        ...


class RecordedScript:
    """Answers the calls of a recording; one question asked several times gets its answers in their order."""

    def __init__(self, store: Store, recording: Recording, *, fill: bool = False) -> None:
        self.fill = fill
        self._store = store
        self._recording = recording
        self._conversations = Conversations(store)
        self._asked: Counter[str] = Counter()

    async def find(self, bench: Workbench, tool: Tool, args: Args, question: Asked) -> Told | Answer | None:
        """The next answer to this question: the very bytes for the same mask, else the whole answer."""
        calls = list(self._conversations.calls(self._recording.id, question.question))
        if not calls:
            return None
        call = calls[min(self._asked[question.question], len(calls) - 1)]
        self._asked[question.question] += 1
        if bench.client.given == self._recording.given:
            return self._conversations.told(call)
        if call.answer is None or not _covers(self._recording.given, bench.client.given):
            return None
        return answer_from(self._store.blobs.read(call.answer))


class CheckpointScript:
    """Answers what is asked about a checkpoint's candidate from its report, as the client's mask says."""

    def __init__(self, store: Store, checkpoint: Checkpoint, *, fill: bool = False) -> None:
        self.fill = fill
        self._store = store
        self._checkpoint = checkpoint

    async def find(self, bench: Workbench, tool: Tool, args: Args, question: Asked) -> Answer | None:
        """The frozen answer of the tool's component."""
        if tool.name == "compare" or question.candidate != self._checkpoint.candidate:
            return None
        for part in self._checkpoint.parts:
            if part.component != tool.component:
                continue
            if part.answer is None:
                raise NotRecorded(f"{tool.name} was {part.state} when this state was frozen: {part.reason}")
            for name, digest in part.artifacts.values():
                bench.keep_artifact(name, bench.blobs.read(digest), part.component)
            return answer_from(self._store.blobs.read(part.answer))
        return None


def script_of(store: Store, named: str | None, *, fill: bool) -> Script | None:
    """The script of a recording (r-… or its name) or a checkpoint (k-…). Raises NotFound."""
    if named is None:
        return None
    if named.startswith("k-"):
        return CheckpointScript(store, Checkpoints(store, None).load(named), fill=fill)
    return RecordedScript(store, Conversations(store).find(named), fill=fill)


async def answered(
    script: Script, bench: Workbench, tool: Tool, args: Args, question: Asked
) -> Told | Answer | None:
    """What the script holds, masked for the client; None where the tool must run. Raises NotRecorded."""
    held = await script.find(bench, tool, args, question)
    if isinstance(held, Answer):
        return masked(held, bench.client.given)
    if held is None and not script.fill and tool.component is not None:
        raise NotRecorded(f"the record holds no answer of {tool.name} to this question")
    return held


def _covers(recorded: frozenset[str] | None, given: frozenset[str] | None) -> bool:
    """Whether everything that is given now was recorded."""
    if recorded is None:
        return True
    return given is not None and all(gives_some(recorded, name) for name in given)


class RecordedError(WarpwiseError):
    """A refusal as it was told."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        super().__init__(str(told.get("what", "")), str(told.get("hint", "")))
        self._told = dict(told)

    def as_json(self) -> dict[str, object]:
        """The recorded error."""
        return dict(self._told)
