"""Every shipped baseline, run on the CPU thread by thread, gives what its oracle says."""

from pathlib import Path

import pytest

from warpwise.server.evaluation.comparison import compare
from warpwise.server.evaluation.oracle import load_oracle
from warpwise.server.evaluation.schedule_check import Checked
from warpwise.server.evaluation.shipped import shipped

from .emulator import Emulator, build, unit

pytestmark = pytest.mark.xdist_group("emulator")  # the library is built once, in one worker


@pytest.fixture(scope="module")
def emulator(
    checked: dict[str, Checked], cuda_headers: Path, tmp_path_factory: pytest.TempPathFactory
) -> Emulator:
    units = [unit(one, one.workload.baseline()) for one in checked.values()]
    return build(units, tmp_path_factory.mktemp("emulator"), cuda_headers)


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
        got = emulator.run(
            unit(one, workload.baseline()), workload, case, one.plan(sizes), reverse=turn % 2 == 1
        )
        for buffer in workload.outputs:
            assert buffer.tolerance is not None
            allowance = buffer.tolerance.allowance(buffer.dtype, sizes)
            result = compare(got[buffer.name], expected[buffer.name], allowance)
            assert result.ok, f"{buffer.name} {sizes}: {result}"
            # one correct rounding to half precision takes half of the allowance; float32 leaves honest variants room
            limit = 0.55 if "16" in buffer.dtype else 0.25
            assert result.ratio < limit, f"{buffer.name} {sizes}: {result}"
