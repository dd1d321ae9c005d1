"""Drives the real program over real pipes and sockets, with probe tools plugged in."""

import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from programs import (
    PROBE_PLUGIN,
    Daemon,
    Eventually,
    IsAlive,
    Program,
    Start,
    alive,
    program_environment,
    running,
    serving,
    until,
)

from warpwise.server import presence


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plug the probe tools into this process, as any other package would."""
    monkeypatch.setattr(sys, "path", [str(PROBE_PLUGIN), *sys.path])


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a program under test."""
    return program_environment(tmp_path)


@pytest.fixture
def start(environment: dict[str, str], root: Path) -> Start:
    """Start `warpwise ARGUMENTS` in the root and shake hands, unless it is not to be spoken to."""

    def _start(*arguments: str, greet: bool = True, **more: str) -> AbstractAsyncContextManager[Program]:
        return running(environment, root, *arguments, greet=greet, **more)

    return _start


@pytest.fixture
async def daemon(environment: dict[str, str], root: Path) -> AsyncIterator[Daemon]:
    """A daemon for one test, which may end it."""
    async with serving(environment, root) as opened:
        yield opened


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """A daemon for the tests of a module that only ask."""
    folder = tmp_path_factory.mktemp("shared")
    async with serving(program_environment(folder), folder) as opened:
        yield opened


@pytest.fixture(params=["legacy", "auto"])
def era(request: pytest.FixtureRequest) -> str:
    """2025-11-25 by handshake, and 2026-07-28."""
    return str(request.param)


@pytest.fixture(autouse=True)
def no_daemon_left(environment: dict[str, str]) -> Iterator[None]:
    """End a daemon that `connect` started."""
    yield
    if here := presence.find(Path(environment["WARPWISE_STATE"])):
        os.kill(here.pid, signal.SIGKILL)


@pytest.fixture
def eventually() -> Eventually:
    """Wait for a condition that another process brings about."""
    return until


@pytest.fixture
def is_alive() -> IsAlive:
    """Whether the process named in a file still runs."""
    return alive
