"""`warpwise serve`: the daemon in the foreground, over stdio or HTTP."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidRequest

if TYPE_CHECKING:
    from ..config import Config

Give = Annotated[
    str | None, typer.Option(help="What clients are told: components, comma separated, or a .toml policy.")
]
Record = Annotated[str | None, typer.Option(help="Record every call under this name.")]
ReplayRecording = Annotated[
    str | None, typer.Option(metavar="R", help="Answer from this recording of calls (r-... or its name).")
]
FromCheckpoint = Annotated[str | None, typer.Option(metavar="K", help="Answer from this checkpoint (k-...).")]
Fill = Annotated[bool, typer.Option(help="Run what the recording or checkpoint does not hold.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(serve)


def serve(  # noqa: PLR0913, PLR0917  # one parameter an option
    root: Annotated[
        list[Path] | None,
        typer.Option(help="A folder whose files may be named; repeatable. Default: the working folder."),
    ] = None,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Serve streamable HTTP here instead of stdio (port 0: a free one)."
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A host name that HTTP clients use; repeatable. Loopback names always work."),
    ] = None,
    toolsets: Annotated[str, typer.Option(help="Which sets of tools, comma separated.")] = "core",
    replay: Annotated[
        Path | None, typer.Option(help="Answer what needs a GPU from this folder of recorded runs.")
    ] = None,
    give: Give = None,
    record: Record = None,
    replay_recording: ReplayRecording = None,
    checkpoint: FromCheckpoint = None,
    fill: Fill = False,
    detached: Annotated[bool, typer.Option(hidden=True, help="As `connect` starts it.")] = False,
) -> None:
    """Serve MCP over stdio (default) or HTTP until end of input or a signal."""
    from ..config import from_environment
    from ..policy import parse_give

    roots = () if detached else roots_of(root)
    chosen = frozenset(name.strip() for name in toolsets.split(",") if name.strip())
    if replay_recording is not None and checkpoint is not None:
        raise InvalidRequest("name a recording or a checkpoint, not both")
    config = replace(
        from_environment(roots, replay=replay),
        roots=roots,
        toolsets=chosen,
        given=None if give is None else parse_give(give),
        record=record,
        script=replay_recording or checkpoint,
        fill=fill,
    )
    _serve(config, http, frozenset(allow_host or ()), idle_exit=detached)


def _serve(config: "Config", http: str | None, hosts: frozenset[str], *, idle_exit: bool) -> None:
    import anyio

    if http is None:
        from ..daemon import serve_stdio

        anyio.run(serve_stdio, config)
        return
    from ..http_daemon import Address, serve_http

    anyio.run(serve_http, config, Address(*_host_and_port(http), hosts, idle_exit=idle_exit))


def roots_of(named: list[Path] | None) -> tuple[Path, ...]:
    """The folders that are served: those named, else the working folder, but never the whole disk by accident."""
    for folder in named or ():
        if not folder.is_dir():
            raise InvalidRequest(f"the root {folder} is not a folder")
    try:
        roots = tuple(folder.resolve() for folder in named or [Path.cwd()])
    except FileNotFoundError as error:
        raise InvalidRequest("the working folder does not exist any more", "Name one with --root.") from error
    if not named and roots == (Path("/"),):
        print("warpwise: started in /, so no folder is served; name one with --root", file=sys.stderr)
        return ()
    return roots


def _host_and_port(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise InvalidRequest(f"not an address: {text!r}", "Write it as HOST:PORT, such as 127.0.0.1:8931.")
    return host.strip("[]"), int(port)
