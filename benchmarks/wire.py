"""What the protocol benchmarks share: programs spoken to in JSON lines, and the bare SDK server as comparison."""

import json
import os
import subprocess  # noqa: TID251  # a benchmark measures the start of processes
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PROBES = ROOT / "tests" / "probe_plugin"
WARPWISE = str(Path(sys.executable).with_name("warpwise"))
BARE = """
import anyio, mcp.types as t
from mcp.server import Server
from mcp.server.stdio import stdio_server
SCHEMA = {"type": "object", "properties": {}}
async def tools(ctx, params):
    return t.ListToolsResult(tools=[t.Tool(name="noop", description="Nothing.", input_schema=SCHEMA)])
async def call(ctx, params):
    return t.CallToolResult(content=[t.TextContent(type="text", text="ok")], structured_content={"state": "done"})
server = Server("bare", on_list_tools=tools, on_call_tool=call)
async def main():
    async with stdio_server() as (r, w):
        await server.run(r, w, server.create_initialization_options())
anyio.run(main)
"""
BARE_ARGV = [sys.executable, "-c", BARE]
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Program:
    """A started MCP server on stdio."""

    def __init__(self, argv: list[str], state: Path) -> None:
        environment = {**os.environ, "WARPWISE_STATE": str(state), "PYTHONPATH": str(PROBES)}
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=state,
        )
        self._next = 0

    def request(self, method: str, **params: Any) -> dict[str, Any]:  # noqa: ANN401
        """Send a request and wait for its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._next += 1
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            answer: dict[str, Any] = json.loads(self.process.stdout.readline())
            if answer.get("id") == self._next:
                return answer

    def greet(self) -> None:
        """The handshake of 2025-11-25."""
        assert self.process.stdin is not None
        self.request("initialize", **HELLO)
        self.process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def end(self) -> None:
        """Close its input and wait for its end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(30)
        if self.process.stdout is not None:
            self.process.stdout.close()


def median(values: list[float]) -> float:
    """The middle value."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
