"""One build for all tools: what it holds for each kind of source, and how it ends where no compiler can work."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from warpwise.server import building
from warpwise.server.building import Build
from warpwise.server.candidate import Candidate
from warpwise.server.command import Command, Environment, Finished
from warpwise.server.errors import (
    InvalidRequest,
    ProgramKilled,
    ProgramMissing,
    ProgramTimedOut,
    StorageFailure,
    Unavailable,
    UnreadableOutput,
    WarpwiseError,
)
from warpwise.server.toolchain.flags import ARCHES
from warpwise.server.workbench import Workbench

pytestmark = pytest.mark.xdist_group("compile")
KERNELS = Path(__file__).parent / "kernels"
KERNEL = """\
__global__ void __launch_bounds__(256, 2) scale(float* x) {
  __shared__ float s[64];
  s[threadIdx.x % 64] = x[0];
  __syncthreads();
  x[threadIdx.x] = s[0] * s[1];
}
"""
LAUNCHED = KERNEL + "void run(float* x) { scale<<<1, 64>>>(x); }\n"


async def built(
    bench: Workbench, source: str, arch: str = "sm_90", timeout_s: float = 120.0, **given: object
) -> Build:
    found: Candidate = await bench.candidate(path=None, source=source, id=None, **given)  # type: ignore[arg-type]
    return await building.build(bench, found, arch, timeout_s)


async def test_a_program_leaves_an_executable_with_its_ptx_and_cubin(bench: Workbench) -> None:
    made = await built(bench, (KERNELS / "oob.cu").read_text())
    assert (made.ok, made.kind, made.compiler, made.errors) == (True, "program", "nvcc", ())
    assert made.executable is not None
    assert made.executable.executable
    assert made.executable.origin == f"built:{made.finished.question}/program"
    assert made.ptx is not None
    assert made.cubin is not None
    assert b".entry _Z5scalePKfPfi(" in bench.blobs.read(made.ptx.digest)
    assert bench.blobs.read(made.cubin.digest).startswith(b"\x7fELF")
    assert b"cudaLaunchKernel" in bench.blobs.read(made.executable.digest)


async def test_a_kernel_alone_leaves_ptx_and_cubin_with_its_lines(bench: Workbench) -> None:
    made = await built(bench, KERNEL)
    assert (made.ok, made.kind, made.compiler, made.executable) == (True, "kernel", "nvrtc", None)
    assert made.ptx is not None
    ptx = bench.blobs.read(made.ptx.digest).decode()
    assert '"/w/kernel.cu"' in ptx
    assert ".loc" in ptx


async def test_both_compilers_build_the_same_kernel(bench: Workbench) -> None:
    quick = await built(bench, KERNEL)
    full = await built(bench, KERNEL + "int host() { return 1; }\n")
    assert (quick.compiler, full.compiler, full.kind) == ("nvrtc", "nvcc", "library")
    assert quick.kernels == full.kernels
    (kernel,) = quick.kernels
    assert (kernel.name, kernel.max_threads, kernel.min_blocks, kernel.static_shared_bytes) == (
        "scale(float*)",
        256,
        2,
        256,
    )


async def test_every_architecture_of_the_list_can_be_built(bench: Workbench) -> None:
    for arch in ARCHES:
        made = await built(bench, KERNEL, arch)
        assert (made.ok, made.kernels[0].registers is not None) == (True, True), arch


async def test_a_build_that_fails_holds_its_errors_and_nothing_built(bench: Workbench) -> None:
    made = await built(bench, KERNEL.replace("s[0]", "t[0]"))
    assert (made.ok, made.cubin, made.kernels) == (False, None, ())
    assert [finding.rule for finding in made.errors] == ["nvcc-undefined-identifier"]


async def test_an_include_of_the_candidate_is_found_from_its_folder_and_from_the_root(
    bench: Workbench, write: Callable[[str, str], Path]
) -> None:
    write("kernels/near.h", "#define NEAR 1\n")
    write("common/far.h", "#define FAR 2\n")
    write(
        "kernels/k.cu",
        '#include "near.h"\n#include "common/far.h"\n__global__ void k(int* x) { x[0] = NEAR + FAR; }\n',
    )
    found = await bench.candidate(path="kernels/k.cu", source=None, id=None)
    assert (await building.build(bench, found, "sm_90")).ok
    write("kernels/near.h", "#define NEAR nothing\n")
    broken = await building.build(
        bench, await bench.candidate(path="kernels/k.cu", source=None, id=None), "sm_90"
    )
    assert [str(finding.location) for finding in broken.errors] == ["kernels/k.cu:3:36"]


async def test_a_compile_that_takes_too_long_is_ended(bench: Workbench) -> None:
    source = "#include <thrust/sort.h>\n#include <thrust/device_vector.h>\nint main() { thrust::device_vector<int> v(9); "
    with pytest.raises(ProgramTimedOut, match="nvcc"):
        await built(bench, source + "thrust::sort(v.begin(), v.end()); }\n", timeout_s=0.4)


@pytest.mark.parametrize("path", ["/etc/passwd", "/dev/zero"])
async def test_an_absolute_include_is_refused(bench: Workbench, path: str) -> None:
    for written in (f'"{path}"', f"<{path}>"):
        with pytest.raises(InvalidRequest, match=path):
            await built(bench, f"  #  include {written}\n{KERNEL}")


@pytest.mark.parametrize("source", ["int main() { return 0; }\n", "#define EMPTY\n"])
async def test_a_source_without_a_kernel_builds_and_holds_none(bench: Workbench, source: str) -> None:
    made = await built(bench, source)
    assert (made.ok, made.kernels) == (True, ())


async def test_a_flag_refused_later_is_refused_in_a_kept_candidate_too(bench: Workbench) -> None:
    with pytest.raises(InvalidRequest, match="-ccbin"):
        await built(bench, KERNEL, flags=("-ccbin=/tmp",))


@dataclass(frozen=True)
class Ending:
    """A runner whose compiler ends as nvcc 13.5 was seen to end when something took a stage of it away."""

    log: str
    exit_code: int

    async def run(self, command: Command) -> Finished:
        return Finished(
            exit_code=self.exit_code,
            signal=None,
            timed_out=False,
            stdout=b"",
            stderr=self.log.encode(),
            stdout_dropped=0,
            stderr_dropped=0,
            files={},
            wall_s=0.1,
            question=command.question,
            environment=Environment({}),
            sandbox="none",
            measured_at=0.0,
        )


NO_SPACE = "<built-in>: fatal error: when writing output to /w/gemm.cpp4.ii: No space left on device\n"


@pytest.mark.parametrize(
    ("log", "exit_code", "error"),
    [
        ("Killed\n", 137, ProgramKilled),
        (
            "gcc: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n",
            1,
            ProgramKilled,
        ),
        (NO_SPACE, 1, StorageFailure),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_55'\n", 1, InvalidRequest),
        (
            "gcc: No such file or directory\nnvcc fatal   : Failed to preprocess host compiler properties.\n",
            1,
            ProgramMissing,
        ),
        ("nvcc fatal   : Could not set up the environment\n", 1, Unavailable),
        ("\nCompilation terminated.\n", 4, UnreadableOutput),
        ("", 1, UnreadableOutput),
    ],
)
async def test_a_compiler_that_could_not_work_is_a_typed_error(
    bench: Workbench, log: str, exit_code: int, error: type[WarpwiseError]
) -> None:
    ending = replace(bench, services=replace(bench.services, runner=Ending(log, exit_code)))
    with pytest.raises(error):
        await built(ending, LAUNCHED)


async def test_a_crash_of_the_compiler_is_a_finding(bench: Workbench) -> None:
    ending = Ending("Segmentation fault\n", 139)
    made = await built(replace(bench, services=replace(bench.services, runner=ending)), LAUNCHED)
    assert [(finding.rule, finding.message) for finding in made.errors] == [
        ("nvcc-crash", "Segmentation fault")
    ]
