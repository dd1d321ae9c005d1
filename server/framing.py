"""Bytes cut into lines, each bounded. It knows nothing of what the lines say."""

import re
from collections.abc import AsyncIterator

MAX_LINE_BYTES = 16 << 20
KEPT_BYTES = 4096
_ID = rb'"id"\s*:\s*(\d+|"[^"\\]{0,200}")'
_ID_FIRST = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID)
_ID_LAST = re.compile(_ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


class TooLong:
    """A line over the bound, of which only the ends were kept."""

    def __init__(self, head: bytes, tail: bytes, size_bytes: int) -> None:
        self.head, self.tail = head, tail
        self.size_bytes = size_bytes

    @property
    def request_id(self) -> int | str | None:
        """The id of the request that it was, as far as its ends show it."""
        return request_id(self.head, self.tail)


def request_id(head: bytes, tail: bytes) -> int | str | None:
    """The id of a message that cannot be read whole, where it stands first or last in it, as SDKs write it."""
    found = _ID_FIRST.search(head) or _ID_LAST.search(tail)
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
            self._head = self._head or bytes(self._held[:KEPT_BYTES])
            del self._held[:-KEPT_BYTES]

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
