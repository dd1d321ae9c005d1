"""How a process of ours stops: the first SIGTERM, SIGINT or SIGHUP unwinds everything, later ones change nothing."""

import signal
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import anyio

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@asynccontextmanager
async def until_signal() -> AsyncGenerator[anyio.CancelScope]:
    """A scope that the first SIGTERM, SIGINT or SIGHUP cancels, so that everything inside cleans up."""
    async with anyio.create_task_group() as group:
        with anyio.open_signal_receiver(*STOP_SIGNALS) as signals:
            group.start_soon(_stop, signals, group.cancel_scope)
            yield group.cancel_scope


async def _stop(signals: AsyncIterator[signal.Signals], scope: anyio.CancelScope) -> None:
    async for _ in signals:
        scope.cancel()
