"""What is asked of nvcc, and that every architecture it is asked for can be built."""

import pytest

from warpwise.server.command import Command, Input
from warpwise.server.errors import InvalidRequest
from warpwise.server.toolchain.flags import checked_flags
from warpwise.server.toolchain.nvcc import MACROS_NAME, Unit, command, kept_names

SOURCE = Input("0" * 64, "sha256:0")


def asked(main: str = "gemm.cu", flags: tuple[str, ...] = (), **inputs: Input) -> Command:
    unit = Unit(main, {main: SOURCE, **inputs}, flags=checked_flags(flags))
    return command(unit, "sm_90a", "program", 60.0)


def test_a_program_is_built_for_exactly_one_architecture_with_lines_for_device_and_host() -> None:
    assert asked().arguments == (
        "-gencode=arch=compute_90a,code=[sm_90a,compute_90a]",
        "-keep",
        "-I.",
        "-Xptxas=-v,-warn-spills,-warn-lmem-usage",
        "-lineinfo",
        "-O3",
        "-std=c++17",
        "-Xcompiler=-g",
        "-o",
        "program",
        "gemm.cu",
    )
    assert asked().outputs == ("gemm.ptx", "gemm.sm_90a.cubin", "program")


def test_what_the_caller_says_replaces_the_default() -> None:
    arguments = asked(flags=("-O1", "-std=c++20", "-G")).arguments
    assert [flag for flag in arguments if flag.startswith(("-O", "-std", "-line", "-G"))] == [
        "-O1",
        "-std=c++20",
        "-G",
    ]


def test_the_question_does_not_depend_on_the_deadline() -> None:
    unit = Unit("gemm.cu", {"gemm.cu": SOURCE})
    assert command(unit, "sm_90", "library", 1.0).question == command(unit, "sm_90", "library", 99.0).question
    assert command(unit, "sm_90", "library", 1.0).question != command(unit, "sm_90", "program", 1.0).question


def test_a_header_is_compiled_as_cuda_and_macros_come_by_file() -> None:
    unit = Unit("kernels/gemm.cuh", {"kernels/gemm.cuh": SOURCE, MACROS_NAME: SOURCE})
    arguments = command(unit, "sm_90", "library", 60.0).arguments
    assert arguments[-3:] == ("-x", "cu", "kernels/gemm.cuh")
    assert arguments[arguments.index("-include") + 1] == MACROS_NAME


def test_kept_files_carry_the_name_of_the_source_alone() -> None:
    assert kept_names("deep/er/my.kernel.cu", "sm_90") == ("my.kernel.ptx", "my.kernel.sm_90.cubin")


@pytest.mark.parametrize(
    "name", ["a;b.cu", "$(x).cu", "`x`.cu", 'a"b.cu', "-o.cu", "a\nb.cu", "a|b.cu", "a'b.cu", "ä.cu"]
)
def test_a_file_name_that_a_shell_would_read_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="file name"):
        asked(name)
