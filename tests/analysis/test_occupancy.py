"""The occupancy calculator against the toolkit's own header, over a grid of kernels, and its cliffs by definition."""

import itertools
import json
import shutil
import subprocess  # noqa: TID251  # the oracle is a C++ program
from pathlib import Path

import pytest
from cuda.pathfinder import locate_nvidia_header_directory
from hypothesis import given
from hypothesis import strategies as st

from warpwise.server.analysis.occupancy import (
    MAX_REGISTERS,
    Demand,
    cliffs,
    limits,
    occupancy,
    resident_blocks,
    sm,
)
from warpwise.server.errors import InvalidRequest
from warpwise.server.toolchain.flags import ARCHES

PLAIN = tuple(arch for arch in ARCHES if arch[-1].isdecimal())
REGISTERS = (0, 16, 24, 32, 33, 40, 41, 64, 65, 72, 96, 128, 129, 168, 255)
BLOCKS = (1, 32, 33, 64, 96, 128, 192, 256, 384, 512, 768, 1000, 1024)
SHARED = (0, 1, 128, 1000, 4096, 8192, 8193, 16384, 33000, 49152, 50000, 65536, 101376, 166912, 232448)
BARRIERS = (0, 1, 2, 5, 16)
ORACLE = r"""
#include <climits>
#include <cstdio>
#include <cuda/__device/arch_traits.h>
#include <cuda_occupancy.h>

// The header names it for a failure that does not happen here; the runtime library is not linked.
extern "C" const char* cudaGetErrorString(cudaError_t) { return ""; }

int main() {
  int major, minor, registers, block, shared, barriers;
  while (scanf("%d %d %d %d %d %d", &major, &minor, &registers, &block, &shared, &barriers) == 6) {
    auto traits = cuda::arch_traits_for(cuda::compute_capability{major * 10 + minor});
    cudaOccDeviceProp device;
    device.computeMajor = major;
    device.computeMinor = minor;
    device.maxThreadsPerBlock = traits.max_threads_per_block;
    device.maxThreadsPerMultiprocessor = traits.max_threads_per_multiprocessor;
    device.regsPerBlock = traits.max_registers_per_block;
    device.regsPerMultiprocessor = traits.max_registers_per_multiprocessor;
    device.warpSize = traits.warp_size;
    device.sharedMemPerBlock = 48 * 1024;
    device.sharedMemPerMultiprocessor = traits.max_shared_memory_per_multiprocessor;
    device.sharedMemPerBlockOptin = traits.max_shared_memory_per_block_optin;
    device.reservedSharedMemPerBlock = traits.reserved_shared_memory_per_block;
    device.numSms = 1;
    cudaOccFuncAttributes kernel;
    kernel.maxThreadsPerBlock = INT_MAX;
    kernel.numRegs = registers;
    kernel.sharedSizeBytes = 0;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = shared;
    kernel.numBlockBarriers = barriers;
    cudaOccDeviceState state;
    cudaOccResult result;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, block, shared)) return 1;
    printf("%d %d\n", result.activeBlocksPerMultiprocessor, result.limitingFactors);
  }
}
"""
FACTORS = {"warps": 1, "registers": 2, "shared memory": 4, "blocks": 8, "barriers": 16}


@pytest.fixture(scope="session")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("occupancy")
    (folder / "oracle.cpp").write_text(ORACLE)
    headers = [locate_nvidia_header_directory(name) for name in ("cudart", "cccl")]
    compiler = shutil.which("g++")
    if compiler is None or None in headers:
        pytest.skip("needs g++ and the toolkit's headers")
    includes = [f"-I{header.abs_path}" for header in headers if header]
    subprocess.run(
        [compiler, "-std=c++17", "-O1", *includes, "-o", "oracle", "oracle.cpp"], cwd=folder, check=True
    )
    return folder / "oracle"


def test_every_architecture_agrees_with_the_toolkits_calculator(oracle: Path) -> None:
    grid = list(itertools.product(PLAIN, REGISTERS, BLOCKS, SHARED, BARRIERS))
    asked = "".join(
        f"{int(arch[3:]) // 10} {int(arch[3:]) % 10} {registers} {block} {shared} {barriers}\n"
        for arch, registers, block, shared, barriers in grid
    )
    told = subprocess.run([oracle], input=asked, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    assert len(told) == len(grid) + 1
    wrong: list[object] = []
    for (arch, registers, block, shared, barriers), line in zip(grid, told, strict=False):
        allowed = limits(Demand(registers, shared, barriers), arch, block)
        blocks = min(allowed.values())
        factors = sum(FACTORS[name] for name, number in allowed.items() if number == blocks)
        # Where named barriers are the limit, the header goes on naming what would be it without them.
        told_factors = factors if allowed["barriers"] == blocks else int(line.split()[1])
        if (blocks, factors) != (int(line.split()[0]), told_factors):
            wrong.append((arch, registers, block, shared, barriers, blocks, factors, line))
    assert json.dumps(wrong[:5]) == "[]"


def test_occupancy_is_told_with_its_limit() -> None:
    found = occupancy(Demand(registers=40, shared_bytes=8192, barriers=1), "sm_90a", 256)
    assert str(found) == "256 threads: 75 % (6 blocks/SM, limit registers)"


def test_a_kernel_that_cannot_be_launched_holds_no_block() -> None:
    assert occupancy(Demand(registers=128), "sm_90", 1024).blocks_per_sm == 0
    assert resident_blocks(Demand(registers=32, shared_bytes=300_000), "sm_90", 128) == 0


def test_an_unknown_architecture_is_a_wrong_request() -> None:
    with pytest.raises(InvalidRequest, match="sm_55"):
        sm("sm_55")


@given(
    arch=st.sampled_from(ARCHES),
    registers=st.integers(1, MAX_REGISTERS),
    shared=st.integers(0, 60_000),
    block=st.integers(1, 1024),
)
def test_a_cliff_is_the_first_value_that_changes_the_blocks(
    arch: str, registers: int, shared: int, block: int
) -> None:
    demand = Demand(registers, shared, 1)
    now = resident_blocks(demand, arch, block)
    for cliff, gain in zip(cliffs(demand, arch, block), (False, True), strict=True):
        if cliff is None:
            continue
        step = -1 if gain else 1

        def blocks(value: int, resource: str = cliff.resource) -> int:
            held = Demand(value, shared, 1) if resource == "registers" else Demand(registers, value, 1)
            return resident_blocks(held, arch, block)

        assert (cliff.blocks_now, cliff.blocks_then) == (now, blocks(cliff.value))
        assert (cliff.blocks_then > now) == gain
        assert blocks(cliff.value - step) == now
