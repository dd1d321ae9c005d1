"""The resource lines of ptxas: as nvcc and as NVRTC print them, whole, cut and mixed."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpwise.server.errors import UnreadableOutput
from warpwise.server.toolchain.ptxas import FunctionResources, parse

RECORDED = Path(__file__).parents[1] / "recordings" / "compilers.json.gz"
LOGS: dict[str, str] = json.loads(gzip.decompress(RECORDED.read_bytes()))


def test_each_kernel_has_its_registers_shared_memory_and_barriers() -> None:
    tiled = {found.mangled: found for found in parse(LOGS["nvcc/gemm.cu"])}["_Z10gemm_tiledPKfS0_Pfi"]
    assert tiled == FunctionResources(
        "_Z10gemm_tiledPKfS0_Pfi",
        is_entry=True,
        registers=tiled.registers,
        stack_bytes=0,
        spill_store_bytes=0,
        spill_load_bytes=0,
        barriers=1,
        shared_bytes=8192,
    )
    assert tiled.registers is not None
    assert 16 <= tiled.registers <= 64


def test_spills_and_stack_are_read() -> None:
    (spill,) = parse(LOGS["nvcc/spill.cu"])
    assert (spill.registers, spill.spills, spill.stack_bytes, spill.cumulative_stack_bytes) == (
        64,
        True,
        1008,
        1008,
    )


def test_a_device_function_that_is_called_is_no_kernel() -> None:
    for compiler in ("nvcc", "nvrtc"):
        found = {held.mangled: held for held in parse(LOGS[f"{compiler}/broken/recursion.cu"])}
        assert found["_Z5scalePi"].is_entry
        assert not found["_Z3fibi"].is_entry
        assert found["_Z3fibi"].stack_bytes == 24
        assert found["_Z3fibi"].registers is None


@pytest.mark.parametrize(
    "name", sorted(name for name in LOGS if name.startswith("nvrtc/") and "Used" in LOGS[name])
)
def test_nvrtc_and_nvcc_tell_the_same(name: str) -> None:
    assert parse(LOGS[name]) == parse(LOGS[name.replace("nvrtc/", "nvcc/")])


def test_a_resource_line_of_unknown_form_is_a_typed_error() -> None:
    log = "ptxas info    : Compiling entry function 'k' for 'sm_90'\nptxas info    : Used 40 registers, 3 new things\n"
    with pytest.raises(UnreadableOutput, match="3 new things"):
        parse(log)


@given(st.sampled_from(sorted(LOGS)), st.integers(0, 3000), st.integers(0, 300), st.text(max_size=20))
def test_a_damaged_log_is_read_or_a_typed_error(name: str, start: int, length: int, put: str) -> None:
    try:
        found = parse(LOGS[name][:start] + put + LOGS[name][start + length :])
    except UnreadableOutput:
        return
    assert len({held.mangled for held in found}) == len(found)
