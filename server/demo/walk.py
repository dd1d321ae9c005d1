"""The demo's client: it starts the daemon over stdio as any host would, asks, prints what an agent sees, keeps it."""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, cast

import anyio
from mcp import Client, StdioServerParameters
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from ..gpu import find_devices
from .page import write_page
from .seen import Seen
from .steps import RECORDING, SOURCE_NAME, STEPS, Question, Step, lay_out


async def walk(console: Console, page: Path) -> bool:
    """Walk all steps and write the page; returns whether every question got an answer."""
    devices, reason = find_devices()
    live = bool(devices)
    where = (
        f"live on {devices[0].name}" if live else "compile and analysis live, the rest replayed from an H200"
    )
    console.print(
        f"[bold]warpwise demo[/bold]: {where}" + ("" if live else f" [dim](no GPU here: {reason})[/dim]")
    )
    folder = Path(tempfile.mkdtemp(prefix="warpwise-demo-"))
    try:
        seen = await _ask_all(console, folder, live)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    page.write_text(write_page(seen, live), encoding="utf-8")
    console.print(f"\nPage with pictures: [bold]{escape(str(page))}[/bold]")
    return all("error" not in one.data for one in seen)


def _server(folder: Path, live: bool) -> StdioServerParameters:
    environment = {"WARPWISE_STATE": str(folder / "state"), "PATH": os.environ.get("PATH", "")}
    environment |= {
        name: os.environ[name]
        for name in ("CUDA_HOME", "LD_LIBRARY_PATH", "PYTHONPATH")
        if name in os.environ
    }
    if not live:
        environment["WARPWISE_REPLAY"] = str(RECORDING)
    arguments = ["-m", "warpwise.server", "serve", "--root", str(folder / "root")]
    return StdioServerParameters(command=sys.executable, args=arguments, env=environment)


async def _ask_all(console: Console, folder: Path, live: bool) -> list[Seen]:
    (folder / "root").mkdir()
    seen: list[Seen] = []
    async with Client(_server(folder, live)) as client:
        for number, step in enumerate(STEPS, 1):
            lay_out(folder / "root", step)
            console.rule(f"[bold]{number} of {len(STEPS)}: {step.title}[/bold]", align="left")
            console.print(f"[dim]{escape(step.story)}[/dim]")
            seen += [await _ask(console, client, step, question) for question in step.questions]
    return seen


async def _ask(console: Console, client: Client, step: Step, question: Question) -> Seen:
    """Ask one question and wait it out: work that becomes a job is waited for."""
    arguments: dict[str, Any] = {"path": SOURCE_NAME, **question.arguments}
    shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    started = time.monotonic()
    with console.status(f"{question.tool} ...") as status, anyio.fail_after(1200):

        async def told(progress: float, total: float | None, message: str | None) -> None:
            status.update(escape(message or question.tool))

        result = await client.call_tool(question.tool, arguments, progress_callback=told)
        while (data := cast("dict[str, Any]", result.structured_content or {})).get("state") == "running":
            result = await client.call_tool("job", {"id": data["job"]}, progress_callback=told)
    wall_s = time.monotonic() - started
    text = "\n".join(block.text for block in result.content if block.type == "text")
    failed = result.is_error or any(found["severity"] == "error" for found in data.get("findings", ()))
    title = f"{question.tool}({escape(shown)})  {wall_s:.2f} s"
    style = "red" if failed else "green"
    console.print(Panel(escape(text), title=title, title_align="left", border_style=style))
    return Seen(step, question, text, data, wall_s)
