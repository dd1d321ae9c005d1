"""The `warpwise` program: finds the command that was asked for and runs it. What commands do is in `commands/`.

Only the asked command's module is imported, so that a host's start is quick; help and commands of other packages
(entry points `warpwise.commands`) import them all.
"""

import importlib
import logging
import os
import pkgutil
import sys
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated

import typer

from warpwise import __version__

from . import commands
from .errors import WarpwiseError, typed_cause

EXIT_ANSWERED, EXIT_MISUSED, EXIT_FAILED = 0, 2, 3
_IMPORT_ERRORS = (ImportError, AttributeError, SyntaxError, TypeError, ValueError)


def main() -> None:
    """Run the command line of this process."""
    _open_standard_streams()
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="warpwise: %(message)s")
    try:
        build(sys.argv[1:])(prog_name="warpwise")
    except (WarpwiseError, ExceptionGroup) as error:
        cause = typed_cause(error)
        if cause is None:
            raise
        print(f"warpwise: {cause.what}\n{cause.hint}", file=sys.stderr)
        sys.exit(EXIT_FAILED)
    except BrokenPipeError:
        # Whoever read our output went away: let nothing flush into the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_FAILED)


def _open_standard_streams() -> None:
    """Where a host closed one, put the null device: else the next file opened would be taken for it."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor, which is this one


def build(arguments: list[str]) -> typer.Typer:
    """The typer app with the asked command, or with all of them where none of ours is asked."""
    app = typer.Typer(
        name="warpwise",
        help="A language server for CUDA kernels, spoken over MCP.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_root)
    ours = [found.name for found in pkgutil.iter_modules(commands.__path__)]
    asked = arguments[0] if arguments else ""
    for name in [asked] if asked in ours else ours:
        importlib.import_module(f"{commands.__name__}.{name}").register(app)
    if asked not in ours:
        for entry in sorted(entry_points(group="warpwise.commands")):
            _plug_in(app, entry)
    return app


def _plug_in(app: typer.Typer, entry: EntryPoint) -> None:
    """Let another package add its commands; one that cannot is named and left out."""
    try:
        entry.load()(app)
    except _IMPORT_ERRORS as error:
        print(f"warpwise: the commands of {entry.value} are left out: {error}", file=sys.stderr)


def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit
