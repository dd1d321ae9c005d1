"""Tools that tests plug in through the public door, to drive the protocol without a compiler or a GPU."""

import os
from pathlib import Path
from typing import Annotated

import anyio
from pydantic import Field

from warpwise.server.errors import Busy
from warpwise.server.process import spawn
from warpwise.server.reports.answer import Answer, Detail
from warpwise.server.tool import Args, tool
from warpwise.server.workbench import Workbench


class EchoArgs(Args):
    """Say the text back."""

    text: Annotated[str, Field(description="What to say.")] = ""
    names: Annotated[tuple[str, ...], Field(description="A list.")] = ()
    defines: Annotated[dict[str, str], Field(default_factory=dict, description="Names with values.")]
    count: Annotated[int, Field(description="A number.")] = 1


class Echo(Answer):
    """What was given."""

    given: EchoArgs

    def block(self, detail: Detail) -> dict[str, object]:
        """All of it."""
        return self.given.model_dump(mode="json", exclude_defaults=True)


@tool(title="Echo", read_only=True, long=False)
async def probe_echo(bench: Workbench, args: EchoArgs) -> Echo:
    """Answer at once; what it prints must not reach the client."""
    print("printed by accident", flush=True)
    os.write(1, b"written by accident\n")
    return Echo(summary=args.text, given=args)


class WorkArgs(Args):
    """Work for a while, in a child process when `child` names a file for its pid."""

    seconds: Annotated[float, Field(description="How long.")] = 0.0
    child: Annotated[str | None, Field(description="Where the child writes its pid.")] = None
    ended: Annotated[str | None, Field(description="A file made at the end, however it comes.")] = None
    reports: Annotated[int, Field(description="How many progress reports to make.")] = 0
    detail: Annotated[Detail, Field(description="How much to tell.")] = "summary"
    wait_s: Annotated[float, Field(description="How long to wait for it.")] = 45.0


class Worked(Answer):
    """That the work ended."""

    def block(self, detail: Detail) -> dict[str, object]:
        """The detail that was asked."""
        return {"told": detail}


@tool(title="Work", read_only=True)
async def probe_work(bench: Workbench, args: WorkArgs) -> Worked:
    """Sleep, or let a child with a child of its own sleep."""
    how = "cancelled"
    try:
        for number in range(args.reports):
            await bench.progress(f"step {number}", number / args.reports)
        if args.child is not None:
            script = f"echo $$ > {args.child}; sleep {args.seconds} & wait"
            await spawn(["/bin/sh", "-c", script], cwd=Path("/"), environment=dict(os.environ), timeout_s=600)
        else:
            await anyio.sleep(args.seconds)
        how = "worked"
    finally:
        if args.ended is not None:
            Path(args.ended).write_text(how)
    return Worked(summary=how)


class FailArgs(Args):
    """Fail: with a typed error, a bug, or several at once."""

    how: Annotated[str, Field(description="typed, bug, or parallel.")]


@tool(title="Fail", read_only=True)
async def probe_fail(bench: Workbench, args: FailArgs) -> Answer:
    """Raise."""
    if args.how == "typed":
        raise Busy("the GPU is busy")
    if args.how == "bug":
        raise RuntimeError("secret path /home/someone")

    async def fail() -> None:
        raise Busy("one of several")

    async with anyio.create_task_group() as group:
        group.start_soon(fail)
        group.start_soon(fail)
    return Answer(summary="not reached")


class RootArgs(Args):
    """Tell the client's root."""


@tool(title="Root", read_only=True, long=False)
async def probe_root(bench: Workbench, args: RootArgs) -> Answer:
    """The folders that the client may name paths below."""
    return Answer(summary=" ".join(str(root) for root in bench.client.roots))


class OddArgs(Args):
    """Answer with what JSON cannot carry."""


class Odd(Answer):
    """A lone surrogate, as in a file name that is no UTF-8, and numbers that are none."""

    def block(self, detail: Detail) -> dict[str, object]:
        """Both of them."""
        return {"ratio": float("nan"), "names": ("\udc80", "ok")}


@tool(title="Odd", read_only=True, long=False)
async def probe_odd(bench: Workbench, args: OddArgs) -> Odd:
    """Answer."""
    return Odd(summary="odd \udc80")
