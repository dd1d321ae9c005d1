"""The process trees of runs: which processes belong to one, and the end of them all. It starts nothing.

A run's processes are known by session, by ancestry and by a mark in their environment; what wiped its mark and left its
session comes back to the daemon, which is a subreaper, as an orphan that belongs to no living run.
"""

import ctypes
import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

MARK = "WARPWISE_RUN"
KILL_PATIENCE_S = 20.0
_PR_SET_CHILD_SUBREAPER = 36
_active_roots: set[int] = set()
_active_marks: set[str] = set()
_starting: set[str] = set()
_subreaper: set[int] = set()


def become_subreaper() -> None:
    """Let orphaned descendants come back to this process instead of to init, so that they can be ended."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0:
        _subreaper.add(os.getpid())


def starting(mark: str) -> None:
    """A run with this mark is about to start: until it has, no child of ours can be told to be a stray."""
    _starting.add(mark)
    _active_marks.add(mark)


def started(mark: str, root: int | None) -> None:
    """It has started with this root process, or (None) failed to."""
    _starting.discard(mark)
    if root is None:
        _active_marks.discard(mark)
    else:
        _active_roots.add(root)


def ended(mark: str, root: int) -> None:
    """The run is over and its tree is gone."""
    _active_roots.discard(root)
    _active_marks.discard(mark)


def end_all(root: int, mark: str) -> None:
    """Kill until no process of the run is left, bounded in time; reap what came back to this process."""
    ours: set[int] = {root}
    deadline = time.monotonic() + KILL_PATIENCE_S
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
