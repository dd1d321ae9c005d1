"""`profile` live on a GPU: the planted faults at their lines, every set, the launches that were chosen, and bad ends."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from warpwise.server.errors import ProgramTimedOut
from warpwise.server.reports.finding import Location
from warpwise.server.reports.performance import KernelPerformance, ProfileAnswer
from warpwise.server.reports.performance_data import unknown
from warpwise.server.tools.profiler import ProfileArgs, profile
from warpwise.server.workbench import Workbench

pytestmark = pytest.mark.gpu
KERNELS = Path(__file__).parents[1] / "kernels"
MANY = """
#include <cstdlib>
__global__ void often(float* x) { x[threadIdx.x + blockIdx.x * blockDim.x] += 1.0f; }
__global__ void rarely(float* x) { x[threadIdx.x + blockIdx.x * blockDim.x] *= 2.0f; }
template <int N> __global__ void sized(float* x) { x[threadIdx.x] += N; }
int main(int argc, char** argv) {
  float* x; cudaMalloc(&x, 1 << 20);
  for (int i = 0; i < 10; ++i) { often<<<64, 256>>>(x); if (i < 7) rarely<<<64, 256>>>(x); }
  sized<1><<<1, 32>>>(x); sized<2><<<1, 32>>>(x);
  cudaDeviceSynchronize(); return argc > 1 ? atoi(argv[1]) : 0;
}
"""


async def profiled(bench: Workbench, **arguments: object) -> ProfileAnswer:
    answer = await profile.run(bench, ProfileArgs.model_validate(arguments))
    assert isinstance(answer, ProfileAnswer)
    return answer


def source(name: str) -> str:
    return (KERNELS / f"{name}.cu").read_text()


def by_name(answer: ProfileAnswer) -> dict[str, KernelPerformance]:
    return {kernel.kernel: kernel for kernel in answer.kernels}


async def test_the_planted_faults_are_found_at_their_lines(
    bench: Workbench, count_tokens: Callable[[str], int]
) -> None:
    answer = await profiled(bench, source=source("gemm"))
    found = {(one.rule, one.kernel, one.location) for one in answer.findings if one.severity == "warning"}
    assert ("profile/uncoalesced-access", "gemm_naive", Location(file="kernel.cu", line=12)) in found
    assert ("profile/bank-conflict", "transpose_conflict", Location(file="kernel.cu", line=24)) in found
    [conflict] = [one for one in answer.findings if one.rule == "profile/bank-conflict"]
    assert conflict.evidence["ways"] == 32.0
    assert {name: unknown(kernel) for name, kernel in by_name(answer).items()} == {
        name: {} for name in ("gemm_naive", "gemm_tiled", "transpose_conflict")
    }
    assert by_name(answer)["gemm_naive"].bottleneck is not None
    assert count_tokens(answer.text()) < 2_000
    started = time.perf_counter()
    again = await profiled(bench, source=source("gemm"))
    took_ms = 1e3 * (time.perf_counter() - started)
    assert again.provenance is not None
    assert (again.provenance.how, again.findings) == ("recorded", answer.findings)
    assert took_ms < 100


async def test_spills_are_found_at_their_lines(bench: Workbench) -> None:
    answer = await profiled(bench, source=source("spill"))
    [spill] = [one for one in answer.findings if one.rule == "profile/register-spill"]
    assert spill.location == Location(file="kernel.cu", line=9)
    assert spill.evidence["spill_instructions"] > 0


async def test_larger_sets_count_more(bench: Workbench) -> None:
    passes: dict[str, int] = {}
    for chosen in ("quick", "source", "standard", "full"):
        answer = await profiled(bench, source=source("gemm"), kernel="gemm_tiled", set=chosen)
        kernel = by_name(answer)["gemm_tiled"]
        assert kernel.bottleneck is not None, chosen
        assert kernel.passes is not None, chosen
        passes[chosen] = kernel.passes
        assert bool(kernel.hot_lines) == (chosen != "quick")
    print(f"passes: {passes}")
    assert passes["quick"] < passes["standard"] <= passes["full"]


async def test_first_middle_and_last_launches_are_profiled_and_the_rest_counted(bench: Workbench) -> None:
    answer = await profiled(bench, source=MANY, set="quick")
    invocations = {
        name: [one.invocation for one in kernel.profiled] for name, kernel in by_name(answer).items()
    }
    assert invocations == {"often": [1, 5, 10], "rarely": [1, 4, 7], "sized<1>": [1], "sized<2>": [1]}
    assert {name: kernel.launches for name, kernel in by_name(answer).items()} == {
        "often": 10,
        "rarely": 7,
        "sized<1>": 1,
        "sized<2>": 1,
    }
    assert (answer.timing.launches, answer.timing.timed, answer.timing.profiled) == (19, 19, 8)
    assert "counters of 11 more launches" in {one.check for one in answer.checks_skipped}
    assert sum(kernel.share.value or 0.0 for kernel in answer.kernels) == pytest.approx(100)


async def test_a_range_of_launches_is_profiled_as_asked(bench: Workbench) -> None:
    answer = await profiled(bench, source=MANY, set="quick", kernel="often", launch_skip=2, launch_count=2)
    assert [one.invocation for one in by_name(answer)["often"].profiled] == [3, 4]


async def test_a_program_that_fails_says_so_beside_its_profile(bench: Workbench) -> None:
    answer = await profiled(bench, source=MANY, set="quick", args=["3"])
    assert answer.findings[0].rule == "profile/program-failed"
    assert answer.timing.profiled == 8


async def test_failed_launches_are_never_a_clean_profile(bench: Workbench) -> None:
    answer = await profiled(bench, source=source("badapi"))
    [finding] = answer.findings
    assert (finding.rule, finding.severity) == ("profile/nothing-ran", "error")
    assert "every launch failed" in finding.message


async def test_a_hung_kernel_ends_at_the_deadline_and_leaves_nothing(bench: Workbench) -> None:
    with pytest.raises(ProgramTimedOut):
        await profiled(bench, source=source("hang"), timeout_s=15)
    with anyio.fail_after(5):
        while processes():
            await anyio.sleep(0.1)


def processes() -> list[Any]:
    """What holds memory of the first GPU."""
    import pynvml

    nvml: Any = pynvml
    nvml.nvmlInit()
    try:
        return list(nvml.nvmlDeviceGetComputeRunningProcesses(nvml.nvmlDeviceGetHandleByIndex(0)))
    finally:
        nvml.nvmlShutdown()


async def test_the_raw_answer_has_the_vendors_own_text(bench: Workbench) -> None:
    answer = await profiled(bench, source=source("spill"), detail="raw")
    [artifact] = answer.artifacts
    _, digest, _ = bench.services.store.artifact("test", artifact.uri.rpartition("/")[2])
    assert b"Section: GPU Speed Of Light Throughput" in bench.blobs.read(digest)
