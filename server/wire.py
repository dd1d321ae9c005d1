"""MCP over one duplex byte stream: a JSON-RPC message a line. Used by stdio and by the pipe of `warpwise connect`.

No thread touches the stream, so a signal ends it at once; a line is bounded, and what cannot be read is answered.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError

MAX_LINE_BYTES = 16 << 20
_KEPT = 4096
_ID = rb'"id"\s*:\s*(\d+|"[^"\\]{0,200}")'
_ID_FIRST = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID)
_ID_LAST = re.compile(_ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')

Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]


class TooLong:
    """A line over the bound, of which only the ends were kept."""

    def __init__(self, head: bytes, tail: bytes, size_bytes: int) -> None:
        self.head, self.tail = head, tail
        self.size_bytes = size_bytes

    @property
    def request_id(self) -> int | str | None:
        """The id of the request that it was, where it stands first or last in the message as SDKs write it."""
        found = _ID_FIRST.search(self.head) or _ID_LAST.search(self.tail)
        if found is None:
            return None
        text = found[1].decode("utf-8", "replace")
        return text[1:-1] if text.startswith('"') else int(text)


class _Line:
    """A line that grows; past its bound it keeps its first and last bytes only."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._held, self._head = bytearray(), b""
        self.size = 0

    def add(self, part: bytes) -> None:
        self.size += len(part)
        self._held += part
        if self.size > self._bound:
            self._head = self._head or bytes(self._held[:_KEPT])
            del self._held[:-_KEPT]

    def take(self) -> bytes | TooLong:
        held, head, size = bytes(self._held), self._head, self.size
        self._held, self._head, self.size = bytearray(), b"", 0
        return TooLong(head, held, size) if head else held


async def lines(chunks: AsyncIterator[bytes], bound: int = MAX_LINE_BYTES) -> AsyncIterator[bytes | TooLong]:
    """Cut a byte stream into lines; one over the bound is dropped but for its ends. An unfinished last line counts."""
    line = _Line(bound)
    async for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            line.add(part)
            yield line.take()
        line.add(rest)
    if line.size:
        yield line.take()


@asynccontextmanager
async def json_lines(
    chunks: AsyncIterator[bytes], send: Callable[[bytes], Awaitable[None]], caller: object = None
) -> AsyncGenerator[Streams]:
    """The streams that the SDK's server runs over; `caller` travels with every message as its request context.

    The incoming stream ends with `chunks`, or when the peer no longer takes answers.
    """
    to_server, incoming = anyio.create_memory_object_stream[Incoming](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    metadata = ServerMessageMetadata(request_context=caller)

    async def read() -> None:
        async with to_server:
            async for line in lines(chunks):
                message = _parse(line)
                if isinstance(message, types.JSONRPCError):
                    await send(_line(message))
                elif message is not None:
                    await to_server.send(SessionMessage(message, metadata))

    async def write() -> None:
        async with from_server:
            async for message in from_server:
                await send(_line(message.message))

    async def guarded(work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except (BrokenPipeError, ConnectionError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            to_server.close()

    async with anyio.create_task_group() as group:
        group.start_soon(guarded, read)
        group.start_soon(guarded, write)
        yield incoming, outgoing
        group.cancel_scope.cancel()


def _parse(line: bytes | TooLong) -> types.JSONRPCMessage | None:
    """The message of a line, None for an empty line, or the error to answer where it cannot be read."""
    if isinstance(line, TooLong):
        text = f"the message has {line.size_bytes:,} bytes; at most {MAX_LINE_BYTES:,} are read"
        return _refusal(types.INVALID_REQUEST, text, line.request_id)
    if not line.strip():
        return None
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        if any(
            found["type"] == "json_invalid" for found in error.errors(include_input=False, include_url=False)
        ):
            return _refusal(types.PARSE_ERROR, "not JSON")
        return _refusal(types.INVALID_REQUEST, "not one JSON-RPC request, notification or response")


def _refusal(code: int, message: str, request_id: int | str | None = None) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=message))


def _line(message: types.JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
