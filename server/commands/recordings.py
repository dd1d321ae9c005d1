"""`warpwise recordings` and `warpwise replay-calls`: what clients were told, and whether they would be told it again."""

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..replaying import Compared

EXIT_DIFFERS = 1


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("recordings")(recordings)
    app.command("replay-calls")(replay_calls)


def recordings(
    named: Annotated[
        str | None, typer.Argument(help="One recording, whose calls are listed; else all recordings.")
    ] = None,
) -> None:
    """List the recordings, or one's calls as JSON lines; also while it grows."""
    from ..components import ordered
    from ..config import from_environment
    from ..conversations import Conversations
    from ..store import Store

    held = Conversations(Store(from_environment().state_dir))
    if named is not None:
        for call in held.calls(held.find(named).id):
            told = held.told(call)
            line = {"tool": call.tool, "arguments": call.arguments, "latency_s": call.latency_s}
            line |= {"error": call.error, "withheld": call.withheld, "reply": call.reply, "text": told.text}
            print(json.dumps(line, ensure_ascii=False))
        return
    for recording, count in held.all():
        given = "everything" if recording.given is None else ", ".join(ordered(recording.given)) or "nothing"
        print(recording.id, recording.name, recording.client, f"{count} calls", f"given {given}", sep="\t")


def replay_calls(
    named: Annotated[str, typer.Argument(help="The recording (r-... or its name).")],
    from_record: Annotated[
        bool, typer.Option(help="Answer from the record, as `serve --replay-recording` does.")
    ] = False,
) -> None:
    """Have a whole recorded conversation again and report each answer that differs, times aside.

    Exit: 0 none differs, 1 one does.
    """
    import anyio

    found = anyio.run(_replay, named, from_record)
    different = [one for one in found if one.differs]
    for one in found:
        if one.skipped:
            print(f"call {one.number} {one.tool}: not asked again: {one.skipped}")
        for place in one.differs:
            print(f"call {one.number} {one.tool}: {place}")
    asked = sum(one.skipped is None for one in found)
    print(f"{asked} of {len(found)} calls asked again, {len(different)} answers differ")
    raise typer.Exit(EXIT_DIFFERS if different else 0)


async def _replay(named: str, from_record: bool) -> "list[Compared]":
    from collections.abc import Mapping

    from ..calls import Caller
    from ..client import Client
    from ..config import from_environment
    from ..conversations import Conversations, Told
    from ..daemon import opened
    from ..replaying import replay
    from ..store import Store

    config = from_environment()
    store = Store(config.state_dir)
    conversations = Conversations(store)
    recording = conversations.find(named)
    config = replace(config, script=recording.id if from_record else None)
    caller = Caller(Client(recording.client, config.roots, recording.given))
    async with opened(config, caller) as app:

        async def ask(tool: str, arguments: Mapping[str, Any]) -> Told:
            reply = await app.calls.call(caller, tool, arguments, wait_s=math.inf)
            return Told(reply.structured, reply.text, reply.error.as_json() if reply.error else None)

        found = [one async for one in replay(conversations, recording, ask, exact=from_record)]
    store.close()
    return found
