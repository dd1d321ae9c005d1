"""`warpwise export`, and `warpwise import`: a recording or a checkpoint as one file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..store import Store


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("export")(export)
    app.command("import")(import_)


def export(
    named: Annotated[str, typer.Argument(help="A recording (r-... or its name) or a checkpoint (k-...).")],
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
) -> None:
    """Write a recording or checkpoint, with all that it refers to, to one file."""
    from ..exchange import export as written

    count = written(_store(), named, file)
    print(f"{file}: {named} with {count} blobs")


def import_(
    file: Annotated[Path, typer.Argument(help="A file that `warpwise export` wrote.")],
    client: Annotated[str, typer.Option(help="Whose checkpoint it becomes.")] = "local",
) -> None:
    """Keep what a file holds, every digest verified, and print its id."""
    from ..exchange import import_ as kept
    from ..tool import load_tools

    load_tools()  # the kinds of answers are theirs
    print(kept(_store(), file, client))


def _store() -> "Store":
    from ..config import from_environment
    from ..store import Store

    return Store(from_environment().state_dir)
