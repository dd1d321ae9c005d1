"""Workers started ahead of the command that will use them: used once, then replaced. It runs no command itself.

Starting Python, importing a library and making a CUDA context takes longer than a small kernel takes to build, check and
time. A ready worker has done all that and waits for one line on its standard input: the arguments, as JSON.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.abc

from .command import Command
from .errors import WarpwiseError
from .process import Child

WAIT_ARGUMENT = "--wait"
READY_PROGRAMS = frozenset({"nvrtc", "oracle", "launcher"})
IDLE_S = 600.0


@dataclass(frozen=True, slots=True)
class Key:
    """What makes a waiting worker fit a command: its program, and the GPU (by uuid) that it has its context on."""

    program: str
    device: str | None


@dataclass(frozen=True, slots=True)
class Worker:
    """A started process that waits for its arguments in its own, still empty, work folder."""

    child: Child
    folder: Path


Starter = Callable[[Key], Awaitable[Worker]]
Hold = Callable[[str | None], AbstractAsyncContextManager[object]]


class ReadyWorkers:
    """At most one waiting worker of each key; one that was not used for ten minutes is ended.

    `hold` leases the GPU while a worker makes its context there, so that none is made during a timed block.
    """

    def __init__(self, group: anyio.abc.TaskGroup, hold: Hold) -> None:
        self._group = group
        self._hold = hold
        self._waiting: dict[Key, Worker] = {}
        self._starting: set[Key] = set()

    @staticmethod
    def fits(command: Command) -> bool:
        """Whether a command can be done by a waiting worker: a known worker, in the plain environment."""
        return command.program in READY_PROGRAMS and not command.environment and not command.stdin

    def take(self, key: Key) -> Worker | None:
        """The waiting worker of a key, which is then no longer waiting; None where there is none alive."""
        worker = self._waiting.pop(key, None)
        return worker if worker is not None and worker.child.alive else None

    def replace(self, key: Key, start: Starter) -> None:
        """Start the next worker of a key in the background, unless one waits or is on its way."""
        if key not in self._waiting and key not in self._starting:
            self._starting.add(key)
            self._group.start_soon(self._start, key, start)

    async def _start(self, key: Key, start: Starter) -> None:
        try:
            async with self._hold(key.device):
                worker = await start(key)
        except WarpwiseError:
            return  # the next command of this key starts cold and meets the same error where it can be told
        finally:
            self._starting.discard(key)
        self._waiting[key] = worker
        try:
            await anyio.sleep(IDLE_S)
        finally:
            if self._waiting.get(key) is worker:
                del self._waiting[key]
                await worker.child.end()
