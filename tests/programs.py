"""Real programs for the tests to talk to: `warpwise` over stdio in JSON lines, or its HTTP daemon."""

import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import httpx2
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from warpwise.server import presence
from warpwise.server.tokens import Tokens

PROBE_PLUGIN = Path(__file__).with_name("probe_plugin")
PATIENCE_S = 20
MAX_LINE = 32 << 20
Message = dict[str, Any]


def program_environment(folder: Path) -> dict[str, str]:
    """The environment of a program under test: a state folder of its own, the probe tools plugged in."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, "PYTHONPATH": str(PROBE_PLUGIN), "WARPWISE_STATE": str(folder / "state")}


class Program:
    """A running `warpwise`, spoken to in JSON lines over its stdin and stdout."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._in = process.stdin
        self._out = BufferedByteReceiveStream(process.stdout)
        self._next = 0

    async def send(self, message: Message | bytes) -> None:
        """Send one message, or bytes as they are."""
        await self._in.send(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    async def receive(self) -> Message:
        """The next message; every line on the wire must be one."""
        with anyio.fail_after(PATIENCE_S):
            line = await self._out.receive_until(b"\n", MAX_LINE)
        message: Message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    async def ask(self, method: str, **params: object) -> int:
        """Send a request and return its id without waiting."""
        self._next += 1
        await self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        return self._next

    async def answer(self, asked: int) -> Message:
        """The response to a request; notifications on the way are skipped."""
        while (message := await self.receive()).get("id") != asked:
            assert "method" in message, f"an answer to nothing: {message}"
        return message

    async def request(self, method: str, **params: object) -> Message:
        """Send a request and return its result."""
        answered = await self.answer(await self.ask(method, **params))
        assert "result" in answered, answered
        result: Message = answered["result"]
        return result

    async def call(self, tool: str, **arguments: object) -> Message:
        """Call a tool and return its structured content."""
        result = await self.request("tools/call", name=tool, arguments=arguments)
        content: Message = result["structuredContent"]
        return content

    async def greet(self) -> Message:
        """The handshake of 2025-11-25."""
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        result = await self.request("initialize", **hello)
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    async def close_stdin(self) -> None:
        """End its input."""
        await self._in.aclose()

    async def end(self) -> int:
        """Wait for its end and return its exit status."""
        with anyio.fail_after(PATIENCE_S):
            return await self.process.wait()


@asynccontextmanager
async def running(
    environment: dict[str, str], folder: Path, *arguments: str, greet: bool = False, **more: str
) -> AsyncGenerator[Program]:
    """`warpwise ARGUMENTS` in a folder, killed in the end if it still runs."""
    argv = [sys.executable, "-m", "warpwise.server", *arguments]
    process = await anyio.open_process(argv, cwd=folder, env={**environment, **more}, stderr=None)
    try:
        program = Program(process)
        if greet:
            await program.greet()
        yield program
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                process.kill()
            await process.wait()
            await process.aclose()


Start = Callable[..., AbstractAsyncContextManager[Program]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]
IsAlive = Callable[[Path], bool]


@dataclass
class Daemon:
    """A running HTTP daemon and its tokens."""

    program: Program
    port: int
    state: Path

    @property
    def base(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def tokens(self) -> Tokens:
        """Its grants."""
        return Tokens(self.state)

    def headers(self, name: str = "operator") -> dict[str, str]:
        """What a client of that name sends with each request."""
        accept = "application/json, text/event-stream"
        return {"Accept": accept, "Authorization": f"Bearer {self.tokens.ensure(name).token}"}

    @asynccontextmanager
    async def client(self, mode: str, name: str = "operator") -> AsyncGenerator[Client]:
        """A connected MCP client with that client's token."""
        async with (
            httpx2.AsyncClient(headers=self.headers(name), timeout=60) as http,
            Client(streamable_http_client(f"{self.base}/mcp", http_client=http), mode=mode) as opened,
        ):
            yield opened


@asynccontextmanager
async def serving(environment: dict[str, str], folder: Path) -> AsyncGenerator[Daemon]:
    """A daemon on a free port of loopback."""
    state = Path(environment["WARPWISE_STATE"])
    async with running(environment, folder, "serve", "--http", "127.0.0.1:0") as program:
        await until(lambda: presence.find(state) is not None)
        here = presence.find(state)
        assert here is not None
        yield Daemon(program, here.port, state)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition that another process brings about."""
    with anyio.fail_after(PATIENCE_S):
        while not condition():
            await anyio.sleep(0.01)


def alive(pid_file: Path) -> bool:
    """Whether the process named in a file still runs."""
    stat = Path(f"/proc/{pid_file.read_text().strip()}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
