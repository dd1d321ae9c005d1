"""The process's stdin and stdout as a byte stream, without threads and safe from stray prints. It knows no protocol."""

import fcntl
import os
import select
import socket
import stat
import sys
from collections.abc import AsyncIterator

import anyio
import anyio.lowlevel

_CHUNK = 1 << 16


def claim() -> tuple[int, int]:
    """Take stdin and stdout for the wire: (reader, writer) descriptors that no child inherits.

    From then on descriptor 0 is the null device and 1 goes to stderr, so that nothing printed by accident, by us or
    by a library, can break the stream.
    """
    reader = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    writer = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return reader, writer


async def chunks(descriptor: int) -> AsyncIterator[bytes]:
    """What arrives on a descriptor until its end."""
    waits = _can_wait(descriptor)
    while True:
        if waits:
            await anyio.wait_readable(descriptor)
        else:
            await anyio.lowlevel.checkpoint()
        chunk = os.read(descriptor, _CHUNK)
        if not chunk:
            return
        yield chunk


class Writer:
    """Writes whole messages to a descriptor; waiting for a slow reader can be cancelled."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waits = _can_wait(descriptor)
        is_socket = stat.S_ISSOCK(os.fstat(descriptor).st_mode)
        self._socket = socket.socket(fileno=descriptor) if is_socket else None
        self._turn = anyio.Lock()

    async def send(self, message: bytes) -> None:
        """Write all of it, after any other message. Raises BrokenPipeError when nobody reads any more."""
        async with self._turn:
            left = memoryview(message)
            while left:
                if self._waits:
                    await anyio.wait_writable(self._descriptor)
                left = left[self._write(left) :]

    def _write(self, content: memoryview) -> int:
        """Write what fits at once: a pipe that is ready takes PIPE_BUF bytes, a socket says how much it took."""
        if self._socket is None:
            return os.write(self._descriptor, content[: select.PIPE_BUF])
        try:
            return self._socket.send(content, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0


def _can_wait(descriptor: int) -> bool:
    """Pipes, sockets and terminals can be waited for; files and the null device are always ready."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
