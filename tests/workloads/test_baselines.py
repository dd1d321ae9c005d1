"""Every shipped baseline, run on the CPU thread by thread, gives what its oracle says."""

from pathlib import Path

import cuda.pathfinder
import pytest

from warpwise.server.evaluation.comparison import compare
from warpwise.server.evaluation.limits import device_limits
from warpwise.server.evaluation.oracle import load_oracle
from warpwise.server.evaluation.schedule_check import Checked, check_schedule
from warpwise.server.evaluation.shipped import shipped, shipped_workload

from .emulator import Emulator, Unit, build


@pytest.fixture(scope="session")
def checked() -> dict[str, Checked]:
    """The schedule of every baseline, checked."""
    found: dict[str, Checked] = {}
    for name in shipped():
        workload = shipped_workload(name)
        found[name] = check_schedule(
            workload.baseline(), f"{name}/baseline.cu", workload, device_limits("sm_90")
        )
        assert found[name].findings == ()
    return found


def unit(checked: Checked) -> Unit:
    assert checked.schedule is not None
    workload = checked.workload
    return Unit(workload.name, workload.baseline(), checked.schedule.defines, checked.kernels)


@pytest.fixture(scope="session")
def emulator(checked: dict[str, Checked], tmp_path_factory: pytest.TempPathFactory) -> Emulator:
    include = Path(cuda.pathfinder.find_nvidia_header_directory("cudart") or "/usr/local/cuda/include")
    return build([unit(one) for one in checked.values()], tmp_path_factory.mktemp("emulator"), include)


@pytest.mark.parametrize("name", shipped())
def test_the_baseline_gives_what_the_oracle_says(
    name: str, checked: dict[str, Checked], emulator: Emulator
) -> None:
    one = checked[name]
    workload, oracle = one.workload, load_oracle(one.workload)
    drawn = sorted(workload.hidden_sizes("emulated", 9), key=workload.memory_bytes)[:3]
    for turn, sizes in enumerate([workload.presets["tiny"], *drawn]):
        case = oracle.case(turn, sizes)
        expected = oracle.expected(case)
        got = emulator.run(unit(one), workload, case, one.plan(sizes), reverse=turn % 2 == 1)
        for buffer in workload.outputs:
            assert buffer.tolerance is not None
            allowance = buffer.tolerance.allowance(buffer.dtype, sizes)
            result = compare(got[buffer.name], expected[buffer.name], allowance)
            assert result.ok, f"{buffer.name} {sizes}: {result}"
            # one correct rounding to half precision takes half of the allowance; float32 leaves honest variants room
            limit = 0.55 if "16" in buffer.dtype else 0.25
            assert result.ratio < limit, f"{buffer.name} {sizes}: {result}"
