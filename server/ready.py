"""Workers started ahead of the command that will use them: used once, then replaced. It runs no command itself.

Starting Python, importing a library and making a CUDA context takes longer than a small kernel takes to build, check and
time. A ready worker has done all that, has said so, and waits for one line on its standard input: the arguments, as JSON.
"""

import shutil
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread

from .command import Command
from .errors import WarpwiseError
from .process import Child

WAIT_ARGUMENT = "--wait"
LOADED_LINE, READY_LINE = b"loaded\n", b"ready\n"
READY_PROGRAMS = {"nvrtc": 3, "oracle": 3, "launcher": 2}
IDLE_S = 600.0
START_PATIENCE_S = 30.0


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

    async def discard(self) -> None:
        """End it unused, and remove its folder."""
        await self.child.end()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(lambda: shutil.rmtree(self.folder, ignore_errors=True))


Starter = Callable[[Key], Awaitable[Worker]]
Hold = Callable[[str | None], AbstractAsyncContextManager[object]]


class ReadyWorkers:
    """A few waiting workers of each key; one that was not used for ten minutes is ended.

    A worker of a GPU says when it is loaded and makes its context when told to: `hold` leases the GPU for just that, so
    that no context is made during a timed block.
    """

    def __init__(self, group: anyio.abc.TaskGroup, hold: Hold) -> None:
        self._group = group
        self._hold = hold
        self._waiting: dict[Key, list[Worker]] = {}
        self._starting: Counter[Key] = Counter()

    @staticmethod
    def fits(command: Command) -> bool:
        """Whether a command can be done by a waiting worker: a known worker, in the plain environment."""
        return command.program in READY_PROGRAMS and not command.environment and not command.stdin

    async def take(self, key: Key) -> Worker | None:
        """The longest waiting worker of a key, which is then no longer waiting; None where there is none alive."""
        while waiting := self._waiting.get(key):
            worker = waiting.pop(0)
            if worker.child.alive:
                return worker
            await worker.discard()
        return None

    def replace(self, key: Key, start: Starter) -> None:
        """Start workers of a key in the background until enough wait or are on their way."""
        missing = READY_PROGRAMS[key.program] - len(self._waiting.get(key, ())) - self._starting[key]
        for _ in range(missing):
            self._starting[key] += 1
            self._group.start_soon(self._start, key, start)

    async def _start(self, key: Key, start: Starter) -> None:
        try:
            worker = await self._until_ready(key, start)
        except WarpwiseError:
            return  # the next command of this key starts cold and meets the same error where it can be told
        finally:
            self._starting[key] -= 1
        if worker is None:
            return
        waiting = self._waiting.setdefault(key, [])
        waiting.append(worker)
        try:
            await anyio.sleep(IDLE_S)
        finally:
            if worker in waiting:
                waiting.remove(worker)
                await worker.discard()

    async def _until_ready(self, key: Key, start: Starter) -> Worker | None:
        """A started worker that has said that it is ready; None where it did not."""
        ready = False
        started: list[Worker] = []
        with anyio.CancelScope(shield=True):
            started.append(await start(key))
        worker = started[0]
        try:
            if key.device is None:
                ready = await worker.child.hear(READY_LINE, START_PATIENCE_S)
            elif await worker.child.hear(LOADED_LINE, START_PATIENCE_S):
                async with self._hold(key.device):
                    await worker.child.say(b"\n")
                    ready = await worker.child.hear(READY_LINE, START_PATIENCE_S)
        finally:
            if not ready:
                await worker.discard()
        return worker if ready else None
