"""`warpwise freeze`: keep the states of baselines, of files, or of a recorded conversation, with progress."""

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..cli import EXIT_ANSWERED, EXIT_FAILED

if TYPE_CHECKING:
    from ..config import Config
    from ..conversations import Conversations

Job = tuple[str, Mapping[str, Any]]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(freeze)


def freeze(
    paths: Annotated[
        list[str] | None, typer.Argument(help="Files below the root; none with --suite or --recording.")
    ] = None,
    workload: Annotated[str | None, typer.Option(help="What the files are judged by.")] = None,
    suite: Annotated[
        str | None, typer.Option(help="Freeze the baseline of every workload of a suite, such as polybench.")
    ] = None,
    recording: Annotated[
        str | None, typer.Option(help="Freeze every candidate of a recording (r-... or its name), in order.")
    ] = None,
    preset: Annotated[str, typer.Option(help="The sizes to judge at.")] = "tiny",
    replay: Annotated[
        Path | None, typer.Option(help="Answer what needs a GPU from this folder of recorded runs.")
    ] = None,
) -> None:
    """Freeze states as checkpoints; what was frozen before in this environment is not measured again."""
    import anyio

    from ..config import from_environment

    config = from_environment(replay=replay)
    judged = {"workload": workload} if workload else {}
    jobs: list[Job] = [(path, {"path": path, **judged}) for path in paths or ()]
    jobs += _baselines(suite) if suite else []
    jobs = [(name, {**arguments, "preset": preset}) for name, arguments in jobs]
    failed = anyio.run(_freeze, config, jobs, recording)
    raise typer.Exit(EXIT_FAILED if failed else EXIT_ANSWERED)


def _baselines(suite: str) -> list[Job]:
    from ..errors import InvalidRequest
    from ..evaluation.shipped import shipped, shipped_workload
    from ..evaluation.workload import SUITES

    if suite not in SUITES:
        raise InvalidRequest(f"no suite {suite!r}", f"Suites: {', '.join(SUITES)}.")
    found = [one for one in map(shipped_workload, shipped()) if one.suite == suite]
    return [
        (one.name, {"source": one.baseline(), "workload": one.name, "generation": 0, "notes": "baseline"})
        for one in found
    ]


async def _freeze(config: "Config", jobs: list[Job], recording: str | None) -> int:
    from ..calls import Caller
    from ..client import Client
    from ..daemon import LOCAL_CLIENT, opened

    client = Client(LOCAL_CLIENT, config.roots)
    failed = 0
    async with opened(config, Caller(client)) as app:
        if recording is not None:
            jobs = [*jobs, *_decisions(app.calls.services.conversations, recording)]
        parent: str | None = None
        for number, (name, arguments) in enumerate(jobs, 1):
            more = {"parent": parent, "generation": number - 1} if recording and parent else {}
            reply = await app.calls.call(Caller(client), "freeze", {**arguments, **more}, wait_s=math.inf)
            failed += reply.error is not None
            parent = reply.structured.get("checkpoint", parent)
            print(f"[{number}/{len(jobs)}] {name}", file=sys.stderr, flush=True)
            print(reply.text.splitlines()[0], flush=True)
    return failed


def _decisions(conversations: "Conversations", named: str) -> list[Job]:
    """Each candidate of a recording where it first appears, with what its author had been told by then."""
    held = conversations.find(named)
    jobs: dict[str, Job] = {}
    for number, call in enumerate(conversations.calls(held.id), 1):
        if call.candidate and call.candidate not in jobs:
            told = f"{held.id}: before call {number}; its author had been told {number - 1} answers"
            jobs[call.candidate] = (call.candidate, {"id": call.candidate, "notes": told})
    return list(jobs.values())
