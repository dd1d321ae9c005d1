"""`warpwise doctor`: what works here and what would mend the rest, with the facts that a bug report needs."""

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..calls import Reply
    from ..config import Config

_PACKAGES = ("mcp", "pydantic", "anyio", "cuda-toolkit", "sentryward")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """Say what works on this machine, what does not, and what would mend it."""
    import anyio

    from ..cli import EXIT_FAILED
    from ..config import from_environment

    config = from_environment()
    reply = anyio.run(_capabilities, config)
    facts = _facts(config)
    if as_json:
        print(json.dumps({"facts": facts, "capabilities": reply.structured}, ensure_ascii=False))
    else:
        print(reply.text)
        print(*(f"{name}: {value}" for name, value in facts.items()), sep="\n")
    if reply.error is not None:
        raise typer.Exit(EXIT_FAILED)


async def _capabilities(config: "Config") -> "Reply":
    from ..calls import Caller
    from ..client import Client
    from ..daemon import LOCAL_CLIENT, opened

    caller = Caller(Client(LOCAL_CLIENT, config.roots))
    async with opened(config, caller) as app:
        return await app.calls.call(caller, "capabilities", {})


def _facts(config: "Config") -> dict[str, Any]:
    from warpwise import __version__

    from .. import presence
    from .config import executable

    here = presence.find(config.state_dir)
    daemon = f"process {here.pid}, port {here.port}, version {here.version}" if here else "none running"
    return {
        "warpwise": __version__,
        "executable": " ".join(executable()),
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "packages": ", ".join(f"{name} {found}" for name in _PACKAGES if (found := _version(name))),
        "state folder": str(config.state_dir),
        "shared daemon": daemon,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
