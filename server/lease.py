"""Who may use a GPU now: a first-come, first-served ticket table shared by all processes of this machine.

*Shared* leases run together; an *exclusive* one runs when nothing else of ours touches the GPU. A ticket is served when
every earlier living ticket is compatible with it, so a waiting exclusive holds back later shared ones: nobody starves.
A holder that died is recognised by its start time and struck out.
"""

import os
import sqlite3
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from .command import GpuUse
from .errors import Busy, StorageFailure

_POLL_S = (0.001, 0.05)
_SCHEMA = """CREATE TABLE IF NOT EXISTS ticket (
    number INTEGER PRIMARY KEY AUTOINCREMENT, gpu TEXT NOT NULL, mode TEXT NOT NULL, pid INTEGER NOT NULL,
    started TEXT NOT NULL, taken_at REAL NOT NULL)"""


@dataclass(frozen=True, slots=True)
class Holder:
    """One ticket in the table: which process asks or holds, in which mode, since when (seconds of the epoch)."""

    number: int
    mode: str
    pid: int
    taken_at: float


class Leases:
    """The ticket table of this machine's GPUs."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "leases.sqlite"
        self._me = (os.getpid(), _start_time(os.getpid()))
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._open() as database:
                database.execute("PRAGMA journal_mode=WAL")
                database.execute(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise StorageFailure(f"cannot open the lease table {self._path}: {error}") from error

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=30, isolation_level=None)

    @asynccontextmanager
    async def hold(self, gpu: str, mode: GpuUse, patience_s: float = 3600.0) -> AsyncGenerator[float, None]:
        """Hold a GPU (by uuid) in a mode; yields the seconds waited. Raises Busy after `patience_s`."""
        number = await anyio.to_thread.run_sync(self._take, gpu, mode)
        started = time.monotonic()
        try:
            pause_s = _POLL_S[0]
            while (ahead := await anyio.to_thread.run_sync(self._ahead, gpu, mode, number)) is not None:
                if time.monotonic() - started > patience_s:
                    raise Busy(f"the GPU is held by process {ahead.pid} ({ahead.mode})")
                await anyio.sleep(pause_s)
                pause_s = min(pause_s * 2, _POLL_S[1])
            yield time.monotonic() - started
        finally:
            self._give_back(number)

    def _take(self, gpu: str, mode: str) -> int:
        database = self._open()
        try:
            cursor = database.execute(
                "INSERT INTO ticket (gpu, mode, pid, started, taken_at) VALUES (?, ?, ?, ?, ?)",
                (gpu, mode, *self._me, time.time()),
            )
            return int(cursor.lastrowid or 0)
        finally:
            database.close()

    def _give_back(self, number: int) -> None:
        database = self._open()
        try:
            database.execute("DELETE FROM ticket WHERE number=?", (number,))
        finally:
            database.close()

    def _ahead(self, gpu: str, mode: str, number: int) -> Holder | None:
        """The first living earlier ticket that this one must wait for."""
        for holder in self.holders(gpu):
            if holder.number >= number:
                return None
            if "exclusive" in (mode, holder.mode):
                return holder
        return None

    def holders(self, gpu: str) -> list[Holder]:
        """The living tickets of a GPU, first come first; dead ones are struck out on the way."""
        database = self._open()
        try:
            rows = database.execute(
                "SELECT number, mode, pid, taken_at, started FROM ticket WHERE gpu=? ORDER BY number", (gpu,)
            ).fetchall()
            living = [row for row in rows if _start_time(row[2]) == row[4]]
            for row in rows:
                if row not in living:
                    database.execute("DELETE FROM ticket WHERE number=?", (row[0],))
            return [Holder(*row[:4]) for row in living]
        finally:
            database.close()


def _start_time(pid: int) -> str:
    """The kernel's start time of a process in clock ticks, empty when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
