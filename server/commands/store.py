"""`warpwise store`: look over the state folder, and free what nothing needs any more."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..store import Store

EXIT_DAMAGED = 1
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Check, free and count what is stored.", no_args_is_help=True)
    for command in (check, gc, stats):
        group.command(command.__name__)(command)
    app.add_typer(group, name="store")


def check(
    quick: Annotated[bool, typer.Option(help="Look at references only, read no blob.")] = False,
    as_json: AsJson = False,
) -> None:
    """Verify the index, every reference and every digest. Exit: 0 whole, 1 damaged."""
    from ..store_check import problems

    found = list(problems(_store(), read_all=not quick))
    if as_json:
        print(json.dumps({"ok": not found, "problems": found}))
    else:
        print("\n".join(found) or "Everything is whole.")
    raise typer.Exit(EXIT_DAMAGED if found else 0)


def gc(
    older_than_s: Annotated[
        float, typer.Option(min=0, help="Leave what was touched in the last so many seconds.")
    ] = 3600.0,
) -> None:
    """Remove stored bytes that nothing refers to; safe beside running daemons."""
    from ..store_check import collect

    done = collect(_store(), older_than_s)
    print(f"removed {done.blobs} blobs and {done.unfinished} unfinished files, {done.bytes:,} bytes")


def stats(as_json: AsJson = False) -> None:
    """Count what is stored."""
    from ..store_check import stats as counted

    found = counted(_store())
    print(json.dumps(found) if as_json else "\n".join(f"{name}: {count:,}" for name, count in found.items()))


def _store() -> "Store":
    from ..config import from_environment
    from ..store import Store

    return Store(from_environment().state_dir)
