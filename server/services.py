"""Opens what a daemon lives on: store, toolchain, sandbox, GPUs, runners, jobs; and closes it again."""

import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from .config import Config
from .conversations import Conversations
from .gpu import Gpus, LeasingRunner
from .jobs import Jobs
from .ready import ReadyWorkers
from .recording import Pack, RecordingRunner, ReplayRunner
from .runner import LocalRunner, Runner
from .sandbox import LazySandbox
from .store import Store
from .toolchain.discovery import Toolchain
from .workbench import Services


@asynccontextmanager
async def open_services(config: Config) -> AsyncGenerator[Services, None]:
    """Everything that lives as long as the daemon. What is slow to find (programs, sandbox) is found at first use."""
    store = Store(config.state_dir)
    toolchain = Toolchain()
    gpus = Gpus(config.state_dir / "gpu")
    sandbox = LazySandbox(config.sandbox, config.work_dir / "probe")
    conversations = Conversations(store)
    try:
        async with anyio.create_task_group() as group:
            ready = ReadyWorkers(group, gpus.hold_shared)
            local = LocalRunner(toolchain, sandbox, store.blobs, config.work_dir, gpus.facts, ready)
            runner: Runner = RecordingRunner(LeasingRunner(local, gpus), store, local.environment)
            if config.replay is not None:
                pack = Pack(config.replay, store.blobs)
                runner = ReplayRunner(pack, inner=runner, live_gpu=bool(gpus.devices))
            yield Services(config, store, runner, gpus, toolchain, sandbox, Jobs(group), conversations)
            group.cancel_scope.cancel()
    finally:
        conversations.close()
        store.close()
        shutil.rmtree(config.work_dir / "probe", ignore_errors=True)
