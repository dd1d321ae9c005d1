"""Every shipped baseline compiles for sm_90, through the daemon's own build, with no diagnostic."""

import anyio
import pytest

from warpwise.server import candidate as candidates
from warpwise.server.building import Build, build
from warpwise.server.client import Client
from warpwise.server.config import Config
from warpwise.server.evaluation.limits import device_limits
from warpwise.server.evaluation.schedule_check import check_schedule
from warpwise.server.evaluation.shipped import shipped, shipped_workload
from warpwise.server.services import open_services
from warpwise.server.workbench import Workbench

pytestmark = pytest.mark.xdist_group("baselines")  # all are built once, in one worker


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Build]:
    """All baselines, built two at a time."""
    root = tmp_path_factory.mktemp("root")
    found: dict[str, Build] = {}

    async def build_all() -> None:
        limit = anyio.CapacityLimiter(2)
        async with open_services(Config(tmp_path_factory.mktemp("state"), (root,))) as services:
            bench = Workbench(services, Client("test", (root,)))

            async def one(name: str) -> None:
                workload = shipped_workload(name)
                source = workload.baseline()
                schedule = check_schedule(source, "baseline.cu", workload, device_limits("sm_90")).schedule
                assert schedule is not None
                defines = {define: str(value) for define, value in schedule.defines.items()}
                async with limit:
                    found[name] = await build(
                        bench, candidates.from_source(source, defines, (), bench.blobs), "sm_90"
                    )

            async with anyio.create_task_group() as group:
                for name in shipped():
                    group.start_soon(one, name)

    anyio.run(build_all)
    return found


@pytest.mark.parametrize("name", shipped())
def test_the_baseline_compiles_without_a_word(name: str, builds: dict[str, Build]) -> None:
    made = builds[name]
    assert made.ok
    assert made.findings == ()
    assert {kernel.short_name for kernel in made.kernels} == launched(name)
    assert all(kernel.spill_store_bytes == 0 for kernel in made.kernels)


def launched(name: str) -> set[str]:
    workload = shipped_workload(name)
    schedule = check_schedule(workload.baseline(), "baseline.cu", workload, device_limits("sm_90")).schedule
    return {launch.kernel for launch in schedule.launches()} if schedule else set()
