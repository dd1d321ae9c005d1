"""Runs that are remembered: RecordingRunner keeps and reuses them, ReplayRunner answers from a record, packs move them.

A pack is a folder with `runs.jsonl` (one finished run a line) and `blobs/`: what tests, the demo and replays read.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path

import anyio

from .blobs import Blobs
from .command import Command, Environment, Finished
from .errors import NotRecorded, StorageFailure, Unavailable
from .runner import Runner
from .store import Store, finished_from_json, finished_to_json

_SHORTAGE = re.compile(
    rb"No space left on device|out of memory|Cannot allocate memory|bad_alloc|MemoryError|virtual memory exhausted"
    rb"|(?:Killed|Terminated) signal terminated|died due to signal (?:9|15)\b|^Killed$"
    rb"|Resource temporarily unavailable|devices? (?:is|are|is/are) (?:busy|unavailable)|busy or unavailable",
    re.IGNORECASE | re.MULTILINE,
)


class RecordingRunner:
    """Answers a repeated question from the store, runs a new one once however many ask, and keeps the answer.

    A run that reached its deadline, was killed, or failed for want of memory, disk or device is kept for replay but
    never reused: the next call runs it again.
    """

    def __init__(
        self,
        inner: Runner,
        store: Store,
        environment: Callable[[Command], Awaitable[Environment]],
        *,
        reuse: bool = True,
    ) -> None:
        self._inner = inner
        self._store = store
        self._environment = environment
        self._reuse = reuse
        self._running: dict[str, anyio.Lock] = {}

    async def run(self, command: Command) -> Finished:
        """The kept answer if there is one in this environment, else a fresh run."""
        environment = await self._environment(command)
        key = command.question + environment.digest
        lock = self._running.setdefault(key, anyio.Lock())
        try:
            async with lock:
                kept = self._store.find_run(command.question, environment) if self._reuse else None
                if kept is not None and self._is_reusable(kept):
                    return kept
                finished = await self._inner.run(command)
                self._store.keep_run(finished)
                return finished
        finally:
            if not lock.locked() and lock.statistics().tasks_waiting == 0:
                self._running.pop(key, None)

    def _is_reusable(self, kept: Finished) -> bool:
        ended = not kept.timed_out and not kept.was_killed and not _was_short(kept)
        return ended and all(self._store.blobs.holds(file.digest) for file in kept.files.values())


def _was_short(kept: Finished) -> bool:
    """Whether it failed, by its own words, for want of memory, disk or device: the next call may fare better."""
    return kept.exit_code != 0 and bool(_SHORTAGE.search(kept.stderr) or _SHORTAGE.search(kept.stdout))


class ReplayRunner:
    """Answers by the question alone from a pack, and says which environment answered; what it lacks goes to `inner`.

    With `inner`, what can run live does (`live_gpu` says whether that holds for the GPU too), and the pack is looked
    up where it cannot: on a machine without a GPU compiling is live and what an H200 said is replayed.
    """

    def __init__(self, pack: "Pack", inner: Runner | None = None, *, live_gpu: bool = False) -> None:
        self._pack = pack
        self._inner = inner
        self._live_gpu = live_gpu

    async def run(self, command: Command) -> Finished:
        """The recorded answer. Raises NotRecorded where neither the pack nor `inner` has one."""
        if self._inner is None or (command.gpu != "none" and not self._live_gpu):
            return self._pack.require(command)
        try:
            return await self._inner.run(command)
        except Unavailable:
            return self._pack.require(command)


class Pack:
    """A folder of recorded runs, read whole at the start; its blobs are copied into the store's when asked for."""

    def __init__(self, folder: Path, into: Blobs) -> None:
        self._blobs = Blobs(folder / "blobs")
        self._into = into
        self._runs: dict[str, dict[str, object]] = {}
        try:
            lines = (folder / "runs.jsonl").read_text().splitlines()
        except OSError as error:
            raise StorageFailure(f"no recording at {folder}: {error.strerror}") from error
        for number, line in enumerate(lines, 1):
            try:
                held = json.loads(line)
                self._runs[held["question"]] = held
            except (ValueError, KeyError, TypeError) as error:
                raise StorageFailure(
                    f"{folder.name}/runs.jsonl, line {number} is damaged: {error}"
                ) from error

    def find(self, command: Command) -> Finished | None:
        """The recorded answer to a command's question, or None."""
        held = self._runs.get(command.question)
        if held is None:
            return None
        finished = finished_from_json(held, self._blobs)
        for digest in (*(file.digest for file in finished.files.values()), *finished.inputs.values()):
            if not self._into.holds(digest) and self._blobs.holds(digest):
                self._into.put(self._blobs.read(digest))
        return replace(finished, sandbox="replayed")

    def require(self, command: Command) -> Finished:
        """The recorded answer. Raises NotRecorded."""
        found = self.find(command)
        if found is None:
            raise NotRecorded(f"the recording holds no run of {command.program} for this question")
        return found


def write_pack(folder: Path, runs: Iterable[Finished], blobs: Blobs) -> int:
    """Write runs, their streams, outputs and built inputs as a pack, in a stable order; returns how many."""
    target = Blobs(folder / "blobs")
    lines: list[str] = []
    for finished in sorted(runs, key=lambda run: run.question):
        for digest in (*(file.digest for file in finished.files.values()), *finished.inputs.values()):
            if blobs.holds(digest) and not target.holds(digest):
                target.put(blobs.read(digest))
        lines.append(json.dumps(finished_to_json(finished, target), sort_keys=True))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "runs.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return len(lines)
