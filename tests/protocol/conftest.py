"""Drives the real program over real pipes and sockets, a JSON-RPC message at a time, with probe tools plugged in."""

import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

PROBE_PLUGIN = Path(__file__).parents[1] / "probe_plugin"
PATIENCE_S = 20
MAX_LINE = 32 << 20
Message = dict[str, Any]


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plug the probe tools into this process, as any other package would."""
    monkeypatch.setattr(sys, "path", [str(PROBE_PLUGIN), *sys.path])


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a program under test: a state folder of its own, the probe tools plugged in."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, "PYTHONPATH": str(PROBE_PLUGIN), "WARPWISE_STATE": str(tmp_path / "state")}


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


Start = Callable[..., AbstractAsyncContextManager[Program]]


@pytest.fixture
def start(environment: dict[str, str], root: Path) -> Start:
    """Start `warpwise ARGUMENTS` in the root, killed in the end if it still runs."""

    @asynccontextmanager
    async def _start(*arguments: str, greet: bool = True, **more: str) -> AsyncGenerator[Program]:
        argv = [sys.executable, "-m", "warpwise.server", *arguments]
        process = await anyio.open_process(argv, cwd=root, env={**environment, **more}, stderr=None)
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

    return _start


@pytest.fixture(autouse=True)
def no_daemon_left(environment: dict[str, str]) -> Iterator[None]:
    """End a daemon that `connect` started."""
    yield
    from warpwise.server import presence

    if here := presence.find(Path(environment["WARPWISE_STATE"])):
        os.kill(here.pid, signal.SIGKILL)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition that another process brings about."""
    with anyio.fail_after(PATIENCE_S):
        while not condition():
            await anyio.sleep(0.01)


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], Any]:
    """Wait for a condition that another process brings about."""
    return until


def alive(pid_file: Path) -> bool:
    """Whether the process named in a file still runs."""
    stat = Path(f"/proc/{pid_file.read_text().strip()}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def is_alive() -> Callable[[Path], bool]:
    """Whether the process named in a file still runs."""
    return alive
