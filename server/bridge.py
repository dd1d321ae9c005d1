"""`warpwise connect`: the host's stdio, carried to the user's one HTTP daemon, which it starts when there is none.

It forwards lines and remembers the unanswered ones, so that a daemon's restart goes unnoticed by the host. It imports
no MCP library, since it must start at once.
"""

import json
import logging
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream

from . import presence, stdio
from .errors import Unavailable, WarpwiseError
from .framing import TooLong, lines
from .presence import Presence
from .process import start_detached
from .stopping import until_signal
from .tokens import Tokens

MAX_HEAD_BYTES = 64 << 10
_LOST = (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError)
_DAEMON = ("-m", "warpwise.server", "serve", "--http", "127.0.0.1:0", "--detached")
log = logging.getLogger(__name__)


class Pipe:
    """One open `/pipe` request: lines go out in its body, lines come in with its answer."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._received = BufferedByteReceiveStream(stream)

    async def open(self, head: bytes) -> None:
        """Send the request's head and read the answer's. Raises Unavailable where it is refused."""
        await self._stream.send(head)
        answer = await self._received.receive_until(b"\r\n\r\n", MAX_HEAD_BYTES)
        status = answer.split(b" ", 2)[1]
        if status != b"200":
            raise Unavailable(
                f"the daemon refused the connection with HTTP {status.decode()}", "Run `warpwise doctor`."
            )

    async def aclose(self) -> None:
        """Close it, which ends what was asked over it and did not become a job."""
        with anyio.CancelScope(shield=True):
            await self._stream.aclose()

    async def send(self, line: bytes) -> None:
        """Send one line."""
        await self._stream.send(b"%x\r\n%b\n\r\n" % (len(line) + 1, line))

    async def chunks(self) -> AsyncIterator[bytes]:
        """What the daemon answers, until it closes."""
        while size := int(await self._received.receive_until(b"\r\n", 32), 16):
            yield await self._received.receive_exactly(size)
            await self._received.receive_exactly(2)


class Bridge:
    """One host's connection, over as many pipes as its life takes.

    `_unanswered` holds the requests that the host waits for, by id; `_backlog` the lines that await the next pipe.
    """

    def __init__(self, state_dir: Path, client: str, root: Path | None, host: stdio.Writer) -> None:
        self._state_dir = state_dir
        self._client = client
        self._root = root
        self._host = host
        self._pipe: Pipe | None = None
        self._unanswered: dict[str, bytes] = {}
        self._losses: dict[str, int] = {}
        self._greeting: list[bytes] = []
        self._hidden: object = None
        self._backlog: list[bytes] = []
        self._something = anyio.Event()

    async def run(self, chunks: AsyncIterator[bytes]) -> None:
        """Carry lines both ways until the host's end of input. Raises what keeps a daemon from starting."""
        async with anyio.create_task_group() as group:

            async def from_host() -> None:
                async for line in lines(chunks):
                    await self._from_host(line)
                group.cancel_scope.cancel()

            group.start_soon(from_host)
            try:
                while True:
                    await self._something.wait()
                    await self._one_pipe()
                    await self._after_loss()
            except WarpwiseError as error:
                for asked in tuple(self._unanswered):
                    await self._refuse(json.loads(asked), f"{error.what}. {error.hint}")
                raise

    async def _one_pipe(self) -> None:
        """Be connected until the daemon closes; it is started, or started again, when there is something to say."""
        pipe = await opened(self._state_dir, self._head)
        try:
            while self._backlog:
                await pipe.send(self._backlog.pop(0))
            self._pipe = pipe
            async for line in lines(pipe.chunks()):
                await self._from_daemon(line)
        except _LOST:
            log.info("the daemon closed the connection")
        finally:
            self._pipe = None
            await pipe.aclose()

    async def _after_loss(self) -> None:
        """Prepare what the next pipe starts with: the greeting, then every request that is still unanswered."""
        for asked in tuple(self._unanswered):
            self._losses[asked] = self._losses.get(asked, 0) + 1
            if self._losses[asked] > 1:
                await self._refuse(json.loads(asked), "the daemon stopped twice while it was answering this")
        greeted = self._greeting and self._greeting[0] not in self._unanswered.values()
        self._hidden = _message(self._greeting[0]).get("id") if greeted else None
        self._backlog = [*(self._greeting if greeted else ()), *self._unanswered.values()]
        if not self._unanswered:
            self._something = anyio.Event()

    async def _from_host(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong):
            await self._refuse(
                line.request_id, f"the message has {line.size_bytes:,} bytes; that is too long"
            )
            return
        message = _message(line)
        method = message.get("method")
        if method is not None and "id" in message:
            self._unanswered[_key(message["id"])] = line
        if method == "initialize":
            self._greeting = [line]
        elif method == "notifications/initialized":
            self._greeting = [*self._greeting[:1], line]
        elif method == "notifications/cancelled":
            self._forget(_key(message.get("params", {}).get("requestId")))
        if self._pipe is None:
            self._backlog.append(line)
            self._something.set()
            return
        try:
            await self._pipe.send(line)
        except _LOST:
            self._pipe = None

    async def _from_daemon(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong):
            await self._refuse(line.request_id, "the answer is too long")
            return
        message = _message(line)
        if "method" not in message:
            answered = _key(message.get("id"))
            if self._hidden is not None and answered == _key(self._hidden):
                self._hidden = None
                return
            self._forget(answered)
        await self._host.send(line + b"\n")

    def _forget(self, asked: str) -> None:
        self._unanswered.pop(asked, None)
        self._losses.pop(asked, None)

    async def _refuse(self, asked: object, why: str) -> None:
        self._forget(_key(asked))
        error = {"jsonrpc": "2.0", "id": asked, "error": {"code": -32603, "message": why}}
        await self._host.send(json.dumps(error).encode() + b"\n")

    def _head(self, here: Presence) -> bytes:
        tokens = Tokens(self._state_dir)
        fields = {
            "Host": f"127.0.0.1:{here.port}",
            "Authorization": f"Bearer {tokens.ensure(self._client).token}",
            "Content-Type": "application/x-ndjson",
            "Transfer-Encoding": "chunked",
        }
        if self._root is not None:
            fields |= {"Warpwise-Admin": tokens.admin(), "Warpwise-Root": quote(str(self._root))}
        lines = [f"{name}: {value}" for name, value in fields.items()]
        return "\r\n".join(["POST /pipe HTTP/1.1", *lines, "", ""]).encode()


async def opened(state_dir: Path, head: Callable[[Presence], bytes]) -> Pipe:
    """A pipe to the user's daemon, started if there is none. Raises Busy or Unavailable where it does not start."""
    if pipe := await _opened(state_dir, head):
        return pipe
    async with presence.starting(state_dir):
        if pipe := await _opened(state_dir, head):
            return pipe
        child = start_detached([sys.executable, *_DAEMON], presence.log_file(state_dir))
        with anyio.move_on_after(presence.PATIENCE_S):
            while child.poll() is None:
                if pipe := await _opened(state_dir, head):
                    return pipe
                await anyio.sleep(0.02)
    raise Unavailable("the warpwise daemon does not start", f"See {presence.log_file(state_dir)}.")


async def _opened(state_dir: Path, head: Callable[[Presence], bytes]) -> Pipe | None:
    """A pipe to the daemon that runs, or None: a daemon that is just being killed may still take a connection."""
    here = presence.find(state_dir)
    if here is None:
        return None
    try:
        pipe = Pipe(await anyio.connect_tcp("127.0.0.1", here.port))
    except OSError:
        return None
    try:
        await pipe.open(head(here))
    except _LOST:
        await pipe.aclose()
        return None
    return pipe


def _message(line: bytes) -> dict[str, Any]:
    """The line as an object; what cannot be read is the daemon's to refuse."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return cast("dict[str, Any]", message) if isinstance(message, dict) else {}


def _key(id: object) -> str:  # noqa: A002
    return json.dumps(id, default=repr)


async def bridge(state_dir: Path, client: str, root: Path | None) -> None:
    """Serve the process's stdin and stdout through the user's daemon until end of input or a signal."""
    reader, writer = stdio.claim()
    async with until_signal() as scope:
        await Bridge(state_dir, client, root, stdio.Writer(writer)).run(stdio.chunks(reader))
        scope.cancel()
