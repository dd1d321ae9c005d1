"""Wait for, or cancel, work that outlived the call that started it."""

from typing import Annotated, Literal

import anyio
from pydantic import Field

from ..reports.answer import Answer
from ..tool import Args, tool
from ..workbench import Workbench


class JobArgs(Args):
    """Wait for long work to end and return its tool's own answer, or cancel it and end its programs."""

    id: Annotated[str, Field(description="The job (j-…) that a running answer named.")]
    action: Annotated[Literal["wait", "cancel"], Field(description="Wait for it, or end it.")] = "wait"
    wait_s: Annotated[float, Field(ge=0, le=600, description="Longest wait, in seconds.")] = 45.0


@tool(title="Wait for a job", read_only=False, destructive=True, long=False)
async def job(bench: Workbench, args: JobArgs) -> Answer:
    """The job's answer, or how far it is when the wait ended first."""
    found = bench.services.jobs.find(bench.client.name, args.id)
    if args.action == "cancel":
        found.cancel()
        await found.done.wait()
        return Answer(summary=f"{args.id} ({found.tool}) is {found.state}; nothing of it is left running.")
    with anyio.move_on_after(args.wait_s):
        while not found.done.is_set():
            await bench.progress(found.message, found.fraction)
            await found.changed.wait()
    return found.answer()
