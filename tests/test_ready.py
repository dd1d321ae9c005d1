"""Workers kept ready: used once, replaced, and ended with their folders when nobody uses them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from warpwise.server.command import Command
from warpwise.server.config import Config
from warpwise.server.evaluation import references
from warpwise.server.evaluation.references import SetRequest
from warpwise.server.evaluation.shipped import shipped_workload
from warpwise.server.process import start
from warpwise.server.ready import READY_PROGRAMS, Key, ReadyWorkers, Worker
from warpwise.server.services import open_services

KEY = Key("oracle", None)


@asynccontextmanager
async def no_lease(device: str | None) -> AsyncGenerator[None, None]:
    yield


async def until(condition: object) -> None:
    with anyio.fail_after(20):
        while not condition():  # type: ignore[operator]
            await anyio.sleep(0.01)


def starter(tmp_path: Path, program: str) -> object:
    made: list[Path] = []

    async def _start(key: Key) -> Worker:
        folder = tmp_path / f"worker{len(made)}"
        folder.mkdir()
        made.append(folder)
        child = await start(
            ["/bin/sh", "-c", program], cwd=folder, environment={"PATH": "/bin"}, piped_stdin=True
        )
        return Worker(child, folder)

    return _start


async def test_a_worker_that_says_ready_waits_and_is_used_once(tmp_path: Path) -> None:
    async with anyio.create_task_group() as group:
        ready = ReadyWorkers(group, no_lease)
        ready.replace(KEY, starter(tmp_path, "echo ready; read line; echo got $line"))  # type: ignore[arg-type]
        held: list[Worker] = []

        async def take() -> None:
            while len(held) < READY_PROGRAMS["oracle"]:
                if worker := await ready.take(KEY):
                    held.append(worker)
                await anyio.sleep(0.01)

        with anyio.fail_after(20):
            await take()
        assert await ready.take(KEY) is None
        ended = await held[0].child.attend(b"this\n")
        assert (ended.exit_code, ended.stdout) == (0, b"got this\n")
        for worker in held[1:]:
            await worker.discard()
        assert not held[1].folder.exists()
        group.cancel_scope.cancel()


@pytest.mark.parametrize("program", ["exit 3", "echo no; sleep 60"], ids=["ends", "says something else"])
async def test_a_worker_that_does_not_get_ready_is_ended_and_its_folder_removed(
    tmp_path: Path, program: str
) -> None:
    async with anyio.create_task_group() as group:
        ready = ReadyWorkers(group, no_lease)
        ready.replace(KEY, starter(tmp_path, program))  # type: ignore[arg-type]
        await until(lambda: len(list(tmp_path.iterdir())) > 0)
        await until(lambda: not list(tmp_path.iterdir()))
        assert await ready.take(KEY) is None
        group.cancel_scope.cancel()


async def test_a_worker_of_a_gpu_makes_its_context_under_the_lease(tmp_path: Path) -> None:
    told: list[str] = []

    @asynccontextmanager
    async def lease(device: str | None) -> AsyncGenerator[None, None]:
        told.append(f"leased {device}, context made: {(tmp_path / 'context').exists()}")
        yield
        told.append(f"returned, context made: {(tmp_path / 'context').exists()}")

    key = Key("launcher", "GPU-1")
    program = f"echo loaded; read line; echo > {tmp_path}/context; echo ready; read line"
    async with anyio.create_task_group() as group:
        ready = ReadyWorkers(group, lease)
        ready.replace(key, starter(tmp_path, program))  # type: ignore[arg-type]
        await until(lambda: len(told) == 2 * READY_PROGRAMS["launcher"])
        group.cancel_scope.cancel()
    assert told[0] == "leased GPU-1, context made: False"
    assert told[-1] == "returned, context made: True"


async def test_unused_workers_leave_nothing_when_the_daemon_ends(tmp_path: Path) -> None:
    async with open_services(Config(tmp_path / "state", (tmp_path,))) as services:
        workload = shipped_workload("reduction")
        requests = [SetRequest(workload.presets["tiny"], 1)]
        command: Command = references.command(workload, requests, services.store.blobs, 60.0)
        first = await services.runner.run(command)
        assert first.exit_code == 0
        work = services.config.work_dir
        await until(
            lambda: len([one for one in work.iterdir() if one.name != "probe"]) == READY_PROGRAMS["oracle"]
        )
    assert [one.name for one in work.iterdir() if one.name != "probe"] == []
