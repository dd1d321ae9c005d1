"""The only place that starts processes: argv in, how it ended out, and nothing of it left running."""

import os
import shutil
import subprocess  # noqa: TID251  # this is the one place
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread

from . import process_tree
from .errors import ProgramMissing, StorageFailure
from .process_tree import become_subreaper

__all__ = ["Child", "Ended", "become_subreaper", "spawn", "start", "start_detached"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended; streams hold at most the bound, head and tail kept, `*_dropped` bytes left out between."""

    exit_code: int | None
    signal: int | None
    timed_out: bool
    stdout: bytes
    stderr: bytes
    stdout_dropped: int
    stderr_dropped: int
    wall_s: float


class _Bounded:
    """A byte sink that keeps the first and the last half of its bound and counts what it drops."""

    def __init__(self, bound: int) -> None:
        self._half = max(bound // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self.dropped = 0

    def write(self, chunk: bytes) -> None:
        room = self._half - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        excess = len(self._tail) - self._half
        if excess > 0:
            self.dropped += excess
            del self._tail[:excess]

    def content(self) -> bytes:
        gap = f"\n[{self.dropped:,} bytes left out]\n".encode() if self.dropped else b""
        return bytes(self._head) + gap + bytes(self._tail)


class Child:
    """A started process: idle until `attend` sees it to its end, or `end` ends it unused."""

    def __init__(self, process: anyio.abc.Process, mark: str) -> None:
        self._process = process
        self._mark = mark

    @property
    def alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.returncode is None

    async def hear(self, line: bytes, patience_s: float) -> bool:
        """Whether it says this line first, within seconds; only before `attend`."""
        held = b""
        with anyio.move_on_after(patience_s):
            try:
                while self._process.stdout and not held.endswith(b"\n") and len(held) < len(line):
                    held += await self._process.stdout.receive(len(line) - len(held))
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                return False
        return held == line

    async def say(self, line: bytes) -> None:
        """Write a line to its input, which stays open; nothing where it has ended."""
        try:
            if self._process.stdin is not None:
                await self._process.stdin.send(line)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return

    async def attend(
        self, stdin: bytes = b"", timeout_s: float = 60.0, max_output_bytes: int = 1 << 20
    ) -> Ended:
        """Feed it, drain it, wait for its end or the deadline; afterwards nothing of its tree is alive."""
        began = time.monotonic()
        out, err = _Bounded(max_output_bytes), _Bounded(max_output_bytes)
        timed_out = False
        async with anyio.create_task_group() as group:
            try:
                group.start_soon(_drain, self._process.stdout, out)
                group.start_soon(_drain, self._process.stderr, err)
                if stdin:
                    group.start_soon(_feed, self._process.stdin, stdin)
                with anyio.move_on_after(timeout_s) as scope:
                    await self._process.wait()
                timed_out = scope.cancelled_caught
            finally:
                await self.end()
        status = self._process.returncode
        ended_by = -status if status is not None and status < 0 else None
        return Ended(
            exit_code=None if ended_by is not None or timed_out else status,
            signal=None if timed_out else ended_by,
            timed_out=timed_out,
            stdout=out.content(),
            stderr=err.content(),
            stdout_dropped=out.dropped,
            stderr_dropped=err.dropped,
            wall_s=time.monotonic() - began,
        )

    async def end(self) -> None:
        """End its whole tree, now; doing so twice does no harm."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(process_tree.end_all, self._process.pid, self._mark)
            with anyio.move_on_after(process_tree.KILL_PATIENCE_S):
                await self._process.wait()
            with anyio.move_on_after(1):
                await self._process.aclose()
        process_tree.ended(self._mark, self._process.pid)


async def start(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    piped_stdin: bool = False,
    max_file_bytes: int = 4 << 30,
) -> Child:
    """Start a program in a session of its own; it dies with this process. Raises ProgramMissing, StorageFailure."""
    if shutil.which(argv[0], path=environment.get("PATH")) is None and not Path(cwd, argv[0]).is_file():
        raise ProgramMissing(f"cannot start {argv[0]}: no such program")
    mark = uuid.uuid4().hex
    process_tree.starting(mark)
    root: int | None = None
    try:
        process = await anyio.open_process(
            [*_guard(max_file_bytes), *argv],
            cwd=cwd,
            env={**environment, process_tree.MARK: mark},
            stdin=subprocess.PIPE if piped_stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        root = process.pid
    except FileNotFoundError as error:
        raise ProgramMissing(f"cannot start {argv[0]}: {error.strerror}") from error
    except OSError as error:
        raise StorageFailure(f"cannot start {argv[0]}: {error.strerror}") from error
    finally:
        process_tree.started(mark, root)
    return Child(process, mark)


async def spawn(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    stdin: bytes = b"",
    timeout_s: float = 60.0,
    max_output_bytes: int = 1 << 20,
) -> Ended:
    """Run a program to its end or its deadline; afterwards nothing of it is alive. Raises ProgramMissing."""
    child = await start(argv, cwd=cwd, environment=environment, piped_stdin=bool(stdin))
    return await child.attend(stdin, timeout_s, max_output_bytes)


def start_detached(argv: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
    """Start a program that outlives this process, in a session of its own, its output appended to a 0600 file.

    Raises StorageFailure where it cannot be started.
    """
    try:
        with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as stream:
            return subprocess.Popen(
                argv, cwd="/", stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, start_new_session=True
            )
    except OSError as error:
        raise StorageFailure(f"cannot start {argv[0]}: {error.strerror}") from error


async def _drain(stream: anyio.abc.ByteReceiveStream | None, sink: _Bounded) -> None:
    if stream is None:
        return
    try:
        async for chunk in stream:
            sink.write(chunk)
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        return


async def _feed(stream: anyio.abc.ByteSendStream | None, content: bytes) -> None:
    if stream is None:
        return
    try:
        await stream.send(content)
        await stream.aclose()
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        return


def _guard(max_file_bytes: int) -> list[str]:
    """Die with the daemon, leave no host core dump, write no endless file (util-linux; without it, unguarded)."""
    guard: list[str] = []
    if setpriv := shutil.which("setpriv"):
        guard += [setpriv, "--pdeathsig", "KILL", "--"]
    if prlimit := shutil.which("prlimit"):
        guard += [prlimit, "--core=0", f"--fsize={max_file_bytes}", "--"]
    return guard
