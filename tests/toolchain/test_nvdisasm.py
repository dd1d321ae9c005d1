"""Reading machine code: what nvdisasm printed on an H200, what today's prints, and what no nvdisasm would."""

import gzip
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpwise.server.analysis.instruction_mix import access_widths, class_of, mix
from warpwise.server.building import build
from warpwise.server.command import Environment, Finished
from warpwise.server.errors import ProgramKilled, ProgramTimedOut, UnreadableOutput
from warpwise.server.toolchain import nvdisasm
from warpwise.server.toolchain.nvdisasm import SassFunction, code, parse, parse_text
from warpwise.server.workbench import Workbench

RECORDED = Path(__file__).parents[1] / "recordings" / "h200_raw" / "gemm_nvdisasm_gi.txt.gz"
KERNELS = Path(__file__).parents[1] / "kernels" / "analysis"
TEXT = gzip.decompress(RECORDED.read_bytes()).decode()


def finished(**changes: object) -> Finished:
    plain: dict[str, object] = {
        "exit_code": 0, "signal": None, "timed_out": False, "stdout": b"", "stderr": b"", "stdout_dropped": 0,
        "stderr_dropped": 0, "files": {}, "wall_s": 1.0, "question": "", "environment": Environment({}),
        "sandbox": "none", "measured_at": time.time(),
    }  # fmt: skip
    return Finished(**(plain | changes))  # type: ignore[arg-type]  # each field by its name


def by_name(functions: list[SassFunction]) -> dict[str, SassFunction]:
    return {function.name: function for function in functions}


def test_the_recorded_disassembly_is_read_in_full() -> None:
    functions = by_name(parse_text(TEXT))
    assert {name: (each.is_kernel, len(each.instructions)) for name, each in functions.items()} == {
        "_Z18transpose_conflictPKfPfi": (True, 40),
        "_Z10gemm_tiledPKfS0_Pfi": (True, 136),
        "_Z10gemm_naivePKfS0_Pfi": (True, 216),
    }
    transpose = list(code(functions["_Z18transpose_conflictPKfPfi"]))
    assert len(transpose) == 30  # without the jump to itself and the padding
    load = transpose[12]
    assert (load.address, load.opcode, load.operands) == (0xC0, "LDG.E", "R0, desc[UR6][R2.64]")
    assert load.place is not None
    assert (load.place.file, load.place.line, load.place.callers) == ("/w/kernels/gemm.cu", 23, ())
    branch = next(each for each in functions["_Z10gemm_tiledPKfS0_Pfi"].instructions if each.predicate)
    assert (branch.predicate, branch.opcode) == ("!P0", "BRA")


def test_every_instruction_line_is_kept() -> None:
    lines = sum(1 for line in TEXT.splitlines() if line.strip().startswith("/*0"))
    assert sum(len(each.instructions) for each in parse_text(TEXT)) == lines


def test_the_mix_counts_each_instruction_once() -> None:
    tiled = list(code(by_name(parse_text(TEXT))["_Z10gemm_tiledPKfS0_Pfi"]))
    counted = mix(tiled)
    assert sum(counted.values()) == len(tiled)
    assert counted["shared"] == sum(each.opcode.startswith(("LDS", "STS")) for each in tiled)
    assert counted["fp32"] == 32
    assert access_widths(tiled) == Counter({32: 3})


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [
        ("HMMA.16816.F32", "tensor"), ("HGMMA.64x128x16.F32", "tensor"), ("IMMA.16832.S8.S8", "tensor"),
        ("DMMA.8x8x4", "tensor"), ("UTCHMMA", "tensor"), ("HFMA2.MMA", "other"), ("HFMA2", "fp16"),
        ("DFMA", "fp64"), ("F2F.F64.F32", "fp64"), ("MUFU.RCP64H", "fp64"), ("MUFU.EX2", "special"),
        ("FFMA", "fp32"), ("FSETP.GT.AND", "fp32"), ("IMAD.WIDE", "integer"), ("UIADD3", "integer"),
        ("LDG.E.128", "global"), ("RED.E.ADD", "global"), ("ATOMS.ADD", "shared"), ("LDS.128", "shared"),
        ("STL", "local"), ("BAR.SYNC.DEFER_BLOCKING", "control"), ("S2R", "other"),
    ],
)  # fmt: skip
def test_an_opcode_has_its_kind(opcode: str, kind: str) -> None:
    assert class_of(opcode) == kind


async def disassembled(bench: Workbench, source: str) -> list[SassFunction]:
    candidate = await bench.candidate(path=None, source=source, id=None)
    made = await build(bench, candidate, "sm_90")
    assert made.cubin is not None
    return parse(await bench.run(nvdisasm.command(made.cubin)))


async def test_todays_nvdisasm_shows_the_lines_that_code_was_inlined_from(bench: Workbench) -> None:
    [kernel] = await disassembled(
        bench,
        "__device__ __forceinline__ float other(float v) {\n  return __shfl_xor_sync(~0u, v, 1);\n}\n"
        "__global__ void k(float* x) {\n  float v = x[threadIdx.x];\n  x[threadIdx.x] = other(v);\n}\n",
    )
    [place] = [each.place for each in kernel.instructions if each.opcode.startswith("SHFL")]
    assert place is not None
    chain = [(place.file, place.line), *place.callers]
    assert [line for file, line in chain if file.endswith("kernel.cu")] == [2, 6]


async def test_todays_nvdisasm_marks_spills(bench: Workbench) -> None:
    functions = by_name(await disassembled(bench, (KERNELS / "machine.cu").read_text()))
    spilling = next(each for name, each in functions.items() if "spills" in name)
    spills = [each for each in spilling.instructions if each.is_spill]
    assert len(spills) > 40
    assert {each.opcode.split(".")[0] for each in spills} == {"LDL", "STL"}
    indexed = next(each for name, each in functions.items() if "indexed_at_run_time" in name)
    assert not any(each.is_spill for each in indexed.instructions)
    assert any(each.opcode.startswith("STL") for each in indexed.instructions)


def test_a_run_that_failed_is_a_typed_error() -> None:
    with pytest.raises(UnreadableOutput, match="could not read the cubin"):
        parse(finished(exit_code=1, stderr=b"nvdisasm fatal : Memory allocation failure"))
    with pytest.raises(UnreadableOutput, match="longer than"):
        parse(finished(stdout=TEXT.encode(), stdout_dropped=5))
    with pytest.raises(ProgramTimedOut):
        parse(finished(timed_out=True, exit_code=None))
    with pytest.raises(ProgramKilled):
        parse(finished(signal=9, exit_code=None))


@pytest.mark.parametrize("text", ["", "hello", "\0" * 100, "\t.target sm_90\n", "/*0000*/ MOV R1, R2 ;"])
def test_text_that_is_no_disassembly_is_refused_or_empty(text: str) -> None:
    try:
        assert parse_text(text) == []
    except UnreadableOutput:
        assert ".target" not in text


def test_an_unknown_line_is_an_error_with_the_line() -> None:
    with pytest.raises(UnreadableOutput, match="what is this"):
        parse_text(TEXT.replace("\t.align\t128", "what is this?", 1))


@given(st.integers(0, len(TEXT)), st.integers(0, 400), st.text(max_size=8))
@settings(max_examples=60, deadline=None)
def test_damaged_output_is_read_or_refused(start: int, length: int, put: str) -> None:
    try:
        functions = parse_text(TEXT[:start] + put + TEXT[start + length :])
    except UnreadableOutput:
        return
    assert all(each.opcode and each.address >= 0 for function in functions for each in function.instructions)
