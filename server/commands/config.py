"""`warpwise config`: a ready block for a host's own configuration file."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

_PASSED_ON = ("CUDA_HOME", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "WARPWISE_STATE", "WARPWISE_REPLAY")


class Host(StrEnum):
    """The hosts whose configuration is known."""

    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CODEX = "codex"
    CURSOR = "cursor"
    VSCODE = "vscode"


@dataclass(frozen=True, slots=True)
class Launch:
    """How a host starts the bridge: argv, and the variables that hosts would not pass on themselves."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """The entry that most hosts share."""
        entry: dict[str, Any] = {"type": "stdio", "command": self.argv[0], "args": list(self.argv[1:])}
        return entry | ({"env": dict(self.environment)} if self.environment else {})


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(config)


def config(
    host: Annotated[Host, typer.Argument(help="The host to configure.")],
    root: Annotated[
        Path | None,
        typer.Option(help="The folder that paths are relative to. Default: where the host starts it."),
    ] = None,
) -> None:
    """Print the block that connects a host to warpwise, and on stderr where it belongs."""
    if root is None and host is Host.CLAUDE_DESKTOP:  # it starts servers in no project's folder
        root = Path.cwd()
    where = ("--root", str(root.resolve())) if root else ()
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    launch = Launch((*executable(), "connect", "--client", host.value, *where), passed)
    place, block = _BLOCKS[host]
    print(f"# for {place}", file=sys.stderr)
    print(block(launch))


def executable() -> tuple[str, ...]:
    """The absolute argv of this installation, since hosts start servers with a small PATH."""
    beside = Path(sys.executable).with_name("warpwise")
    return (str(beside),) if beside.is_file() else (sys.executable, "-m", "warpwise.server")


def _servers(key: str) -> Callable[[Launch], str]:
    return lambda launch: json.dumps({key: {"warpwise": launch.as_json()}}, indent=2)


def _codex(launch: Launch) -> str:
    lines = [
        "[mcp_servers.warpwise]",
        f"command = {json.dumps(launch.argv[0])}",
        f"args = {json.dumps(launch.argv[1:])}",
        "startup_timeout_sec = 30",
        "tool_timeout_sec = 660",
    ]
    if launch.environment:
        lines.append("[mcp_servers.warpwise.env]")
        lines += [f"{name} = {json.dumps(value)}" for name, value in launch.environment.items()]
    return "\n".join(lines)


_BLOCKS: Mapping[Host, tuple[str, Callable[[Launch], str]]] = {
    Host.CLAUDE_CODE: (".mcp.json of the project", _servers("mcpServers")),
    Host.CLAUDE_DESKTOP: ("claude_desktop_config.json", _servers("mcpServers")),
    Host.CODEX: ("~/.codex/config.toml", _codex),
    Host.CURSOR: (".cursor/mcp.json of the project, or ~/.cursor/mcp.json", _servers("mcpServers")),
    Host.VSCODE: (".vscode/mcp.json of the project", _servers("servers")),
}
