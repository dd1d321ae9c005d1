"""On a GPU: a suite is frozen in one command, again without a run, and a conversation replays from its record alone.

With OUT set, the recording is exported there, to be replayed on a machine that has neither GPU nor CUDA:
`warpwise import conversation.zip && warpwise replay-calls conversation --from-record`.
"""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from warpwise.server.answering import script_of
from warpwise.server.calls import Caller, Calls
from warpwise.server.catalog import Catalog
from warpwise.server.client import Client
from warpwise.server.command import Command, Finished
from warpwise.server.evaluation.shipped import shipped, shipped_workload
from warpwise.server.exchange import export, import_
from warpwise.server.runner import Runner
from warpwise.server.store import Store
from warpwise.server.store_check import problems
from warpwise.server.tool import load_tools
from warpwise.server.workbench import Services

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(1200)]
KERNELS = Path(__file__).parents[1] / "kernels"
TOOLS = load_tools()


class Counting:
    """Counts the runs that use the GPU."""

    def __init__(self, inner: Runner) -> None:
        self._inner = inner
        self.on_gpu = 0

    async def run(self, command: Command) -> Finished:
        self.on_gpu += command.gpu != "none"
        return await self._inner.run(command)


async def test_polybench_is_frozen_once_and_again_for_nothing(services: Services, root: Path) -> None:
    counting = Counting(services.runner)
    calls = Calls(replace(services, runner=counting), Catalog.of(TOOLS))
    caller = Caller(Client("local", (root,)))
    baselines = [one for one in map(shipped_workload, shipped()) if one.suite == "polybench"]
    ids: list[list[str]] = []
    before = 0
    for _ in range(2):
        started, before, kept = time.monotonic(), counting.on_gpu, list[str]()
        for one in baselines:
            arguments: dict[str, Any] = {"source": one.baseline(), "workload": one.name, "wait_s": 600}
            reply = await calls.call(caller, "freeze", arguments)
            assert reply.error is None, reply.text
            assert reply.structured["parts"]["evaluation"] == "measured", reply.text
            kept.append(reply.structured["checkpoint"])
        print(
            f"{len(kept)} frozen in {time.monotonic() - started:.1f} s, {counting.on_gpu - before} GPU runs"
        )
        ids.append(kept)
    assert ids[0] == ids[1]
    assert counting.on_gpu == before
    assert list(problems(services.store)) == []


async def test_a_conversation_replays_from_its_record_alone(services: Services, tmp_path: Path) -> None:
    calls = Calls(services, Catalog.of(TOOLS))
    recorded = Caller(Client("local", (KERNELS,), None, "conversation"))
    baseline = shipped_workload("gemm").baseline()
    asked: list[tuple[str, dict[str, Any]]] = [
        (tool, {"path": f"{kernel}.cu", "wait_s": 600})
        for kernel in ("gemm", "oob", "race", "spill")
        for tool in ("compile", "debug", "analyze", "profile")
    ]
    asked += [("evaluate", {"source": baseline, "workload": "gemm", "wait_s": 600})]
    asked += [("freeze", {"path": "oob.cu", "plan": "mend the bound", "wait_s": 600})]
    told = [await calls.call(recorded, tool, arguments) for tool, arguments in asked]
    assert all(reply.error is None for reply in told), [reply.text for reply in told if reply.error]
    target = Path(os.environ.get("OUT", tmp_path)) / "conversation.zip"
    export(services.store, "conversation", target)
    elsewhere = Store(tmp_path / "elsewhere")
    import_(elsewhere, target)
    quiet = Caller(Client("local", (KERNELS,)))
    script = script_of(elsewhere, "conversation", fill=False)
    again = Calls(replace(services, store=elsewhere), Catalog.of(TOOLS), script)
    assert [await again.call(quiet, tool, arguments) for tool, arguments in asked] == told
