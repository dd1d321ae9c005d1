"""The shipped baselines with their schedules, and the emulator's header folder."""

from pathlib import Path

import cuda.pathfinder
import pytest

from warpwise.server.evaluation.limits import device_limits
from warpwise.server.evaluation.schedule_check import Checked, check_schedule
from warpwise.server.evaluation.shipped import shipped, shipped_workload


@pytest.fixture(scope="session")
def checked() -> dict[str, Checked]:
    """The schedule of every baseline, checked."""
    found: dict[str, Checked] = {}
    for name in shipped():
        workload = shipped_workload(name)
        found[name] = check_schedule(workload.baseline(), "baseline.cu", workload, device_limits("sm_90"))
        assert found[name].findings == ()
    return found


@pytest.fixture(scope="session")
def cuda_headers() -> Path:
    """Where the toolkit's headers lie, for half and bfloat16 on the host."""
    found = cuda.pathfinder.find_nvidia_header_directory("cudart")
    assert found is not None
    return Path(found)
