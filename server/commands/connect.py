"""`warpwise connect`: what a host starts; it carries stdio to the user's one daemon."""

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(connect)


def connect(
    client: Annotated[
        str, typer.Option(help="Whose jobs, artifacts and recordings these are; one name for each host.")
    ] = "default",
    root: Annotated[
        Path | None, typer.Option(help="The folder that paths are relative to. Default: the working folder.")
    ] = None,
) -> None:
    """Connect this host to your one daemon, started if need be; jobs survive the host."""
    import anyio

    from ..bridge import bridge
    from ..config import from_environment
    from .serve import roots_of

    roots = roots_of([root] if root else None)
    anyio.run(bridge, from_environment(roots).state_dir, client, roots[0] if roots else None)
