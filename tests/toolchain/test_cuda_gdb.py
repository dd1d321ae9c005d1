"""cuda-gdb's answer about a core dump of an H200, and what can become of it."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpwise.server.errors import UnreadableOutput
from warpwise.server.toolchain import cuda_gdb
from warpwise.server.toolchain.cuda_gdb import Crash

RAW = Path(__file__).parents[1] / "recordings" / "h200_raw" / "misaligned_cuda_gdb.txt.gz"
OUTPUT = gzip.decompress(RAW.read_bytes()).decode()
CRASH = Crash(
    exception="Warp Misaligned Address",
    kernel="k",
    path="/w/kernels/misaligned.cu",
    line=3,
    block=(0, 0, 0),
    thread=(0, 0, 0),
    grid=(1, 1, 1),
    block_size=(32, 1, 1),
    pc=0x70,
    instruction=None,
)


def test_a_real_core_dump_is_located() -> None:
    assert cuda_gdb.parse(OUTPUT) == CRASH


def test_the_faulting_instruction_is_told_where_it_was_disassembled() -> None:
    more = OUTPUT + "   0x7fc66b7a0070 <_Z1kPKfP6float4+112>:\tLDG.E.128.CONSTANT R4,desc[UR4][R4.64+0x4]\n"
    assert cuda_gdb.parse(more).instruction == "LDG.E.128.CONSTANT R4,desc[UR4][R4.64+0x4]"


def test_the_line_that_triggered_wins_over_the_line_that_was_reached() -> None:
    assert cuda_gdb.parse(OUTPUT.replace("(misaligned.cu:3)", "(misaligned.cu:2)")).line == 2


def test_a_trigger_in_another_file_keeps_that_file() -> None:
    found = cuda_gdb.parse(OUTPUT.replace("(misaligned.cu:3)", "(tile.cuh:9)"))
    assert (found.path, found.line) == ("tile.cuh", 9)


def test_code_without_lines_gives_a_crash_without_a_place() -> None:
    bare = OUTPUT.replace("  (misaligned.cu:3)", "").replace(" at /w/kernels/misaligned.cu:3", "")
    found = cuda_gdb.parse(bare)
    assert (found.path, found.line, found.kernel, found.pc) == (None, None, "k", 0x70)


@pytest.mark.parametrize("output", ["", "cuda-gdb: command not found", "Unable to open core", OUTPUT[:60]])
def test_an_answer_without_an_exception_is_a_typed_error(output: str) -> None:
    with pytest.raises(UnreadableOutput):
        cuda_gdb.parse(output)


@settings(max_examples=200, deadline=None)
@given(start=st.floats(0, 1), length=st.integers(0, 80), text=st.text(max_size=10))
def test_a_mutated_answer_is_read_or_refused(start: float, length: int, text: str) -> None:
    position = int(start * len(OUTPUT))
    try:
        found = cuda_gdb.parse(OUTPUT[:position] + text + OUTPUT[position + length :])
    except UnreadableOutput:
        return
    assert found.exception
