"""`warpwise demo`: a real client walks a broken kernel to a correct and faster one."""

from pathlib import Path
from typing import Annotated

import typer

from ..cli import EXIT_ANSWERED, EXIT_FAILED


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)


def demo(
    page: Annotated[Path, typer.Option(help="Where to write the page.")] = Path("warpwise-demo.html"),
) -> None:
    """Watch a broken kernel become correct and fast, as an agent sees it, and get a page with pictures."""
    import anyio
    from rich.console import Console

    from ..demo.walk import walk

    answered = anyio.run(walk, Console(highlight=False), page.resolve())
    raise typer.Exit(EXIT_ANSWERED if answered else EXIT_FAILED)
