"""The only place that starts processes: argv in, how it ended out, and nothing of it left running.

Every descendant is ended with the run, also one that made its own session: the daemon is a subreaper, so whatever
detaches comes back to it; a run's processes are known by session, by ancestry and by a mark in their environment.
"""

import ctypes
import os
import shutil
import signal
import subprocess  # noqa: TID251  # this is the one place
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread

from .errors import ProgramMissing, StorageFailure

MARK = "WARPWISE_RUN"
_PR_SET_CHILD_SUBREAPER = 36
_KILL_PATIENCE_S = 20.0
_active_roots: set[int] = set()
_active_marks: set[str] = set()
_starting: set[str] = set()
_subreaper: set[int] = set()


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


def become_subreaper() -> None:
    """Let orphaned descendants come back to this process instead of to init, so that they can be ended."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0:
        _subreaper.add(os.getpid())


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


async def spawn(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    stdin: bytes = b"",
    timeout_s: float = 60.0,
    max_output_bytes: int = 1 << 20,
    max_file_bytes: int = 4 << 30,
) -> Ended:
    """Run a program to its end or its deadline; afterwards nothing of it is alive. Raises ProgramMissing."""
    if shutil.which(argv[0], path=environment.get("PATH")) is None and not Path(cwd, argv[0]).is_file():
        raise ProgramMissing(f"cannot start {argv[0]}: no such program")
    mark = uuid.uuid4().hex
    started = time.monotonic()
    _starting.add(mark)
    try:
        process = await anyio.open_process(
            [*_guard(max_file_bytes), *argv],
            cwd=cwd,
            env={**environment, MARK: mark},
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        _active_roots.add(process.pid)
        _active_marks.add(mark)
    except FileNotFoundError as error:
        raise ProgramMissing(f"cannot start {argv[0]}: {error.strerror}") from error
    except OSError as error:
        raise StorageFailure(f"cannot start {argv[0]}: {error.strerror}") from error
    finally:
        _starting.discard(mark)
    out, err = _Bounded(max_output_bytes), _Bounded(max_output_bytes)
    try:
        timed_out = await _attend(process, mark, stdin, (out, err), timeout_s)
    finally:
        _active_roots.discard(process.pid)
        _active_marks.discard(mark)
    status = process.returncode
    ended_by = -status if status is not None and status < 0 else None
    return Ended(
        exit_code=None if ended_by is not None or timed_out else status,
        signal=None if timed_out else ended_by,
        timed_out=timed_out,
        stdout=out.content(),
        stderr=err.content(),
        stdout_dropped=out.dropped,
        stderr_dropped=err.dropped,
        wall_s=time.monotonic() - started,
    )


async def _attend(
    process: anyio.abc.Process, mark: str, stdin: bytes, sinks: tuple[_Bounded, _Bounded], timeout_s: float
) -> bool:
    """Feed, drain and wait; on the way out, by whatever door, end every descendant. True if the deadline came."""
    deadline = anyio.Event()
    async with anyio.create_task_group() as group:
        try:
            group.start_soon(_drain, process.stdout, sinks[0])
            group.start_soon(_drain, process.stderr, sinks[1])
            if stdin:
                group.start_soon(_feed, process.stdin, stdin)
            with anyio.move_on_after(timeout_s) as scope:
                await process.wait()
            if scope.cancelled_caught:
                deadline.set()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_end_all, process.pid, mark)
                with anyio.move_on_after(_KILL_PATIENCE_S):
                    await process.wait()
                with anyio.move_on_after(1):
                    await process.aclose()
    return deadline.is_set()


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


def _end_all(root: int, mark: str) -> None:
    """Kill until no process of the run is left, bounded in time; reap what came back to this process."""
    ours: set[int] = {root}
    deadline = time.monotonic() + _KILL_PATIENCE_S
    pause_s = 0.002
    while time.monotonic() < deadline:
        living = [pid for pid in _members(root, mark, ours) if not (pid == root and _is_zombie(root))]
        if not living:
            return
        for pid in living:
            ours.add(pid)
            _kill(pid)
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, 0.1)
        for pid in living:
            if pid != root:
                _reap(pid)


def _members(root: int, mark: str, ours: set[int]) -> Iterator[int]:
    me = os.getpid()
    table = dict(_process_table())
    for pid, (parent, session) in table.items():
        if pid == me or pid in _active_roots - {root}:
            continue
        known = session == root or pid in ours or _descends(pid, ours, table) or _marked(pid, mark)
        if known or (parent == me and _is_stray(pid)):
            yield pid


def _is_stray(pid: int) -> bool:
    """Whether an adopted orphan wiped its mark: a child of ours that is the root of no run and bears no living mark."""
    if os.getpid() not in _subreaper or _starting or pid in _active_roots or not _has_own_session(pid):
        return False
    return not any(_marked(pid, mark) for mark in tuple(_active_marks))


def _has_own_session(pid: int) -> bool:
    """Only a process in a session of its own can be an escaped descendant; our own helpers share our session."""
    try:
        return os.getsid(pid) != os.getsid(0)
    except OSError:
        return False


def _process_table() -> Iterator[tuple[int, tuple[int, int]]]:
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                fields = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            yield int(entry.name), (int(fields[1]), int(fields[3]))


def _descends(pid: int, ancestors: set[int], table: Mapping[int, tuple[int, int]]) -> bool:
    seen: set[int] = set()
    while pid in table and pid not in seen:
        seen.add(pid)
        pid = table[pid][0]
        if pid in ancestors:
            return True
    return False


def _marked(pid: int, mark: str) -> bool:
    try:
        return f"{MARK}={mark}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return True


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except OSError:
        return
