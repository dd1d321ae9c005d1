"""`warpwise token`: who may ask the HTTP daemon."""

from pathlib import Path
from typing import Annotated

import typer

from ..errors import NotFound
from ..tokens import Tokens

Name = Annotated[str, typer.Argument(help="The client's name.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Make, show and revoke the bearer tokens of HTTP clients.", no_args_is_help=True)
    for command in (add, show, list_all, revoke):
        group.command("list" if command is list_all else command.__name__)(command)
    app.add_typer(group, name="token")


def add(
    name: Name,
    root: Annotated[
        list[Path] | None,
        typer.Option(help="A folder that this client may name files in; repeatable. Default: the daemon's."),
    ] = None,
    give: Annotated[
        str | None, typer.Option(help="What it is told: components, comma separated, or a .toml policy.")
    ] = None,
    record: Annotated[str | None, typer.Option(help="Record its calls under this name.")] = None,
) -> None:
    """Make a token for a client and print it; a running daemon takes it at once."""
    from ..policy import parse_give

    given = None if give is None else parse_give(give)
    print(_tokens().add(name, tuple(folder.resolve() for folder in root or ()), given, record).token)


def show(name: Name) -> None:
    """Print a client's token."""
    for grant in _tokens().all():
        if grant.name == name:
            print(grant.token)
            return
    raise NotFound(f"no client {name} has a token", "`warpwise token list` shows them.")


def list_all() -> None:
    """List the clients, their roots, what they are given and their recordings, without their tokens."""
    from ..components import ordered

    for grant in _tokens().all():
        given = () if grant.given is None else ("given " + (", ".join(ordered(grant.given)) or "nothing"),)
        record = (f"recorded as {grant.record}",) if grant.record else ()
        print(grant.name, *(str(root) for root in grant.roots), *given, *record, sep="\t")


def revoke(name: Name) -> None:
    """Refuse a client's token from now on."""
    _tokens().revoke(name)
    print(f"revoked {name}")


def _tokens() -> Tokens:
    from ..config import from_environment

    return Tokens(from_environment().state_dir)
