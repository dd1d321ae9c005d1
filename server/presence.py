"""Where the user's one shared HTTP daemon is: a lock that it holds while it lives, and a file that says its port."""

import fcntl
import json
import os
import secrets
import tempfile
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import anyio

from .errors import Busy, StorageFailure

_FILE, _LIFE_LOCK, _START_LOCK = "daemon.json", "daemon.lock", "daemon.start.lock"
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Presence:
    """A running daemon: its process, its address on loopback, and a name that no other daemon has."""

    pid: int
    port: int
    instance: str
    version: str


def find(state_dir: Path) -> Presence | None:
    """The daemon that holds the life lock now, or None. Its file may be of the moment before it answers."""
    if not _is_locked(state_dir / _LIFE_LOCK):
        return None
    try:
        return Presence(**json.loads((state_dir / _FILE).read_text()))
    except (OSError, ValueError, TypeError):
        return None


@contextmanager
def announced(state_dir: Path, port: int, version: str) -> Generator[Presence | None]:
    """Be the shared daemon for the time of the block, or (None) not, where another is. The port must listen already.

    It tries for a second, since `find` holds the lock for a moment to look.
    """
    with _opened(state_dir / _LIFE_LOCK) as handle:
        deadline = time.monotonic() + 1
        while not (mine := _try_lock(handle)) and time.monotonic() < deadline:
            time.sleep(0.02)
        if not mine:
            yield None
            return
        here = Presence(os.getpid(), port, secrets.token_hex(8), version)
        _write(state_dir / _FILE, json.dumps(asdict(here)))
        try:
            yield here
        finally:
            (state_dir / _FILE).unlink(missing_ok=True)


@asynccontextmanager
async def starting(state_dir: Path) -> AsyncGenerator[None]:
    """Be the only one that starts a daemon. Raises Busy when another has been at it for half a minute."""
    with _opened(state_dir / _START_LOCK) as handle:
        with anyio.move_on_after(PATIENCE_S) as scope:
            while not _try_lock(handle):
                await anyio.sleep(0.02)
        if scope.cancelled_caught:
            raise Busy("another process has been starting the daemon for 30 s", f"See {log_file(state_dir)}.")
        yield


def log_file(state_dir: Path) -> Path:
    """Where a daemon that `warpwise connect` started writes its log."""
    return state_dir / "daemon.log"


@contextmanager
def _opened(path: Path) -> Generator[int]:
    """A lock file's descriptor; its lock is released by the kernel with the process, however that ends."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageFailure(f"cannot open {path}: {error.strerror}") from error
    try:
        yield handle
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_locked(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _write(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".daemon-")
    with os.fdopen(handle, "w") as stream:
        stream.write(text)
    Path(name).replace(path)
