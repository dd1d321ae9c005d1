"""Has a recorded conversation again, without an agent, and says which answers differ. Times are the only noise."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from .conversations import Call, Conversations, Recording, Told

NOISE = frozenset({"age_s", "how", "sandbox", "seconds", "wall_s", "phases_ms", "conditions"})
_CHANGES = ("freeze", "checkpoints", "job")
Ask = Callable[[str, Mapping[str, Any]], Awaitable[Told]]


@dataclass(frozen=True, slots=True)
class Compared:
    """One call had again: `differs` names the places where the answers differ, `skipped` says why it was not asked."""

    number: int
    tool: str
    differs: tuple[str, ...] = ()
    skipped: str | None = None


async def replay(
    conversations: Conversations, recording: Recording, ask: Ask, *, exact: bool
) -> AsyncIterator[Compared]:
    """Ask every recorded call again, files by their recorded content; `exact` compares the text, too."""
    for number, call in enumerate(conversations.calls(recording.id), 1):
        if reason := _skipped(call, conversations.told(call), exact=exact):
            yield Compared(number, call.tool, skipped=reason)
            continue
        before = conversations.told(call)
        after = await ask(call.tool, _by_content(call))
        places = _differences("", before.structured, after.structured)
        if exact and not places and before != after:
            places = ["text"]
        yield Compared(number, call.tool, tuple(places[:20]))


def _skipped(call: Call, told: Told, *, exact: bool) -> str | None:
    if exact:
        return None
    if call.tool in _CHANGES:
        return "it changes or names what this daemon does not have"
    return "it became a job" if told.structured.get("state") == "running" else None


def _by_content(call: Call) -> Mapping[str, Any]:
    """The arguments, with what a path named at that moment named by its id."""
    if call.candidate is None:
        return call.arguments
    without = ("path", "source", "id", "defines", "flags")
    return {name: value for name, value in call.arguments.items() if name not in without} | {
        "id": call.candidate
    }


def _differences(path: str, before: object, after: object) -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("dict[str, object]", before), cast("dict[str, object]", after)
        keys = [key for key in {**old, **new} if key not in NOISE]
        return [one for key in keys for one in _differences(f"{path}.{key}", old.get(key), new.get(key))]
    if isinstance(before, list) and isinstance(after, list):
        olds, news = cast("list[object]", before), cast("list[object]", after)
        if len(olds) != len(news):
            return [f"{path}: {len(olds)} -> {len(news)} entries"]
        pairs = enumerate(zip(olds, news, strict=True))
        return [
            one for index, (left, right) in pairs for one in _differences(f"{path}[{index}]", left, right)
        ]
    return [] if before == after else [f"{path}: {before!s:.80} -> {after!s:.80}"]
