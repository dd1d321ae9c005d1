"""A workload of its own for tests of schedules, and a way to check a source against it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from warpwise.server.evaluation.limits import device_limits
from warpwise.server.evaluation.schedule import DefineValue
from warpwise.server.evaluation.schedule_check import Checked, check_schedule
from warpwise.server.evaluation.workload import Workload
from warpwise.server.evaluation.workload_file import load

WORKLOAD = """\
name = "scale"
title = "scaled copy"
suite = "hpc"
about = "y = factor·x"
flops = "N*T"
tolerance = { kind = "elementwise" }

[sizes]
N = "elements"
T = "repetitions"

[scalars]
factor = "float32"

[buffers]
x = { dtype = "float32", shape = ["N"], role = "in" }
y = { dtype = "float32", shape = ["N"], role = "out" }
count = { dtype = "int32", shape = ["N"], role = "inout" }

[presets]
tiny = { N = 100, T = 1 }
small = { N = 1000, T = 2 }
medium = { N = 10000, T = 3 }
large = { N = 100000, T = 4 }
xl = { N = 3000000000, T = 5 }

[hidden]
N = { range = [3, 99], kinds = ["odd", "tail", "prime"] }
T = { range = [1, 5] }
"""
ORACLE = """\
import numpy as np

def inputs(rng, sizes):
    n = sizes["N"]
    return {"factor": 2 + rng.random(), "x": rng.random(n), "count": rng.integers(0, 9, n)}

def reference(given, sizes):
    return {"y": given["factor"] * given["x"], "count": given["count"] + 1}
"""
SOURCE = """\
// Scales.
// /// schedule
// [define]
// BLOCK = 256
// [[launch]]
// kernel = "scale"
// grid = ["ceildiv(N, BLOCK)"]
// block = ["BLOCK"]
// args = ["x", "y", "count", "factor", "N"]
// ///
__global__ void scale(const float* x, float* y, int* count, float factor, long long n) {
    long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) {
        y[i] = factor * x[i];
        count[i] += 1;
    }
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a sound workload."""
    made = tmp_path / "scale"
    made.mkdir()
    for name, text in (("workload.toml", WORKLOAD), ("oracle.py", ORACLE), ("baseline.cu", SOURCE)):
        (made / name).write_text(text)
    return made


@pytest.fixture
def workload(folder: Path) -> Workload:
    return load(folder)


Check = Callable[..., Checked]


@pytest.fixture
def check(workload: Workload) -> Check:
    """Check a source against the workload, by default on an sm_90 without known memory."""

    def _check(
        source: str, arch: str = "sm_90", memory: int | None = None, **defines: DefineValue
    ) -> Checked:
        return check_schedule(source, "mine.cu", workload, device_limits(arch, memory), defines)

    return _check
