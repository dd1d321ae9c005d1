"""MCP over one duplex byte stream: a JSON-RPC message a line. Used by stdio and by the pipe of `warpwise connect`.

No thread touches the stream, so a signal ends it at once; a line is bounded, and what cannot be read is answered.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError

from .framing import KEPT_BYTES, MAX_LINE_BYTES, TooLong, lines, request_id

Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]


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
        asked = request_id(line[:KEPT_BYTES], line[-KEPT_BYTES:])
        if any(
            found["type"] == "json_invalid" for found in error.errors(include_input=False, include_url=False)
        ):
            return _refusal(types.PARSE_ERROR, "not JSON", asked)
        return _refusal(types.INVALID_REQUEST, "not one JSON-RPC request, notification or response", asked)


def _refusal(code: int, message: str, request_id: int | str | None = None) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=message))


def _line(message: types.JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
