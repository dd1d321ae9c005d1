"""NVRTC in its child process: what it leaves, what it says where it cannot work, and what is its limit."""

import os
import subprocess  # noqa: TID251  # the worker itself is under test
import sys
from pathlib import Path

import pytest

import warpwise.server.toolchain.nvrtc_worker as worker
from warpwise.server.command import Environment, Finished, Input
from warpwise.server.errors import InvalidRequest, Unavailable, UnreadableOutput
from warpwise.server.toolchain.flags import checked_flags
from warpwise.server.toolchain.nvcc import Unit
from warpwise.server.toolchain.nvrtc import command, has_host_code, is_limit, is_quicker, log, takes

pytest.importorskip("cuda.bindings.nvrtc", exc_type=ImportError)
SOURCE = Input("0" * 64, "sha256:0")
KERNEL = "#include <cuda_runtime.h>\n#include <cstdio>\n__global__ void scale(float* x) { x[0] = 1; }\n"


def run(
    folder: Path, source: str, *options: str, environment: dict[str, str] | None = None
) -> tuple[int, str]:
    (folder / "kernel.cu").write_text(source)
    argv = [sys.executable, "-I", worker.__file__, "kernel.cu", *options]
    ended = subprocess.run(
        argv,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.defpath, **(environment or {})},
    )
    return ended.returncode, ended.stderr


def finished(exit_code: int, stderr: str) -> Finished:
    return Finished(
        exit_code=exit_code,
        signal=None,
        timed_out=False,
        stdout=b"",
        stderr=stderr.encode(),
        stdout_dropped=0,
        stderr_dropped=0,
        files={},
        wall_s=0.1,
        question="",
        environment=Environment({}),
        sandbox="none",
        measured_at=0.0,
    )


def test_ptx_and_cubin_come_of_one_compile(tmp_path: Path) -> None:
    code, told = run(tmp_path, KERNEL, "-arch=sm_90", "-Xptxas=-v", "-lineinfo")
    assert (code, "Used" in told) == (0, True)
    assert ".visible .entry _Z5scalePf(" in (tmp_path / "kernel.ptx").read_text()
    assert (tmp_path / "kernel.cubin").read_bytes().startswith(b"\x7fELF")


def test_a_source_that_does_not_compile_ends_with_one_and_leaves_nothing(tmp_path: Path) -> None:
    code, told = run(tmp_path, KERNEL + "int x = ;", "-arch=sm_90")
    assert (code, "expected an expression" in told) == (1, True)
    assert not (tmp_path / "kernel.cubin").exists()


def test_the_headers_of_the_toolkit_are_those_that_the_daemon_names(tmp_path: Path) -> None:
    source = '#include "own.h"\n__global__ void scale(float* x) { x[0] = OWN; }\n'
    (tmp_path / "toolkit").mkdir()
    (tmp_path / "toolkit" / "own.h").write_text("#define OWN 1\n")
    named = {"WARPWISE_CUDA_INCLUDE": str(tmp_path / "toolkit")}
    assert run(tmp_path, source, "-arch=sm_90")[0] == 1
    assert run(tmp_path, source, "-arch=sm_90", environment=named)[0] == 0


def test_a_file_of_the_candidate_stands_before_a_stand_in(tmp_path: Path) -> None:
    (tmp_path / "math.h").write_text("#define OWN 1\n")
    source = '#include "math.h"\n__global__ void scale(float* x) { x[0] = OWN; }\n'
    assert run(tmp_path, source, "-arch=sm_90", "-I.")[0] == 0


def test_every_stand_in_compiles_beside_the_others_and_the_toolkits_own_headers(tmp_path: Path) -> None:
    headers = [
        *worker.stand_ins(),
        "cuda_fp16.h",
        "mma.h",
        "cooperative_groups.h",
        "math_constants.h",
        "vector_types.h",
    ]
    source = "".join(f"#include <{header}>\n" for header in headers)
    source += (
        "__global__ void scale(float* x, uint32_t n) { x[0] = n < INT_MAX ? std::sqrt(x[1]) : INFINITY; }\n"
    )
    assert run(tmp_path, source, "-arch=sm_90")[0] == 0


def test_an_architecture_that_nvrtc_does_not_know_is_a_wrong_request(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="arch"):
        log(finished(*run(tmp_path, KERNEL, "-arch=sm_42")))


def test_nvrtc_that_cannot_be_used_is_unavailable(tmp_path: Path) -> None:
    code, told = run(tmp_path, KERNEL, "-no-such-option")
    assert code == 3
    with pytest.raises(Unavailable, match="NVRTC_ERROR_INVALID_OPTION"):
        log(finished(code, told))


def test_a_worker_that_crashed_is_unreadable() -> None:
    with pytest.raises(UnreadableOutput, match="Traceback"):
        log(finished(2, "Traceback (most recent call last):"))


def test_host_code_is_a_limit_and_a_plain_error_is_none(tmp_path: Path) -> None:
    _, host = run(tmp_path, KERNEL + "int host() { return 1; }\n", "-arch=sm_90")
    _, plain = run(tmp_path, KERNEL + "__device__ int f() { return y; }\n", "-arch=sm_90")
    _, header = run(tmp_path, "#include <no_such.h>\n" + KERNEL, "-arch=sm_90")
    assert [(is_limit(told), has_host_code(told)) for told in (host, plain, header)] == [
        (True, True),
        (False, False),
        (True, False),
    ]


def test_headers_decide_which_compiler_is_quicker() -> None:
    assert is_quicker(
        [KERNEL, "#include <cuda/barrier>\n#include <cuda_fp16.h>\n#include <cooperative_groups/reduce.h>\n"]
    )
    assert not is_quicker([KERNEL, "#include <vector>\n"])
    assert not is_quicker(["#include <cub/cub.cuh>\n"])


def test_a_flag_that_only_nvcc_has_is_not_taken() -> None:
    assert takes(Unit("kernel.cu", {"kernel.cu": SOURCE}, flags=checked_flags(("-O3", "-use_fast_math"))))
    assert not takes(Unit("kernel.cu", {"kernel.cu": SOURCE}, flags=checked_flags(("-rdc=true",))))


def test_the_question_names_nothing_of_this_machine() -> None:
    asked = command(Unit("a/kernel.cu", {"a/kernel.cu": SOURCE}), "sm_90", 60.0)
    assert asked.arguments == (
        "a/kernel.cu",
        "-arch=sm_90",
        "-I.",
        "-Xptxas=-v",
        "-Xptxas=-warn-spills",
        "-Xptxas=-warn-lmem-usage",
        "-lineinfo",
        "-std=c++17",
    )
    assert (asked.program, asked.outputs, asked.gpu) == ("nvrtc", ("kernel.ptx", "kernel.cubin"), "none")
