"""The report reader on real reports of an H200, whole, damaged and invented: a right answer or a typed error."""

import json
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warpwise.server.command import Command, Environment, Finished, Input, source_input
from warpwise.server.errors import (
    InvalidRequest,
    ProgramKilled,
    ProgramMissing,
    ProgramTimedOut,
    UnreadableOutput,
    WarpwiseError,
)
from warpwise.server.toolchain import ncu_report
from warpwise.server.toolchain.ncu_report import LaunchList, Reading
from warpwise.server.workbench import Services

RAW = Path(__file__).parents[1] / "recordings" / "h200_raw"
THROUGHPUT = "*__throughput.avg.pct_of_peak_sustained_elapsed"


def report_bytes(name: str) -> bytes:
    return zstandard.ZstdDecompressor().decompress((RAW / f"{name}_full.ncu-rep.zst").read_bytes(), 1 << 23)


def kept(services: Services, content: bytes) -> Input:
    return source_input(services.store.blobs.put(content))


async def answered(services: Services, command: Command) -> tuple[Finished, bytes | None]:
    finished = await services.runner.run(command)
    file = finished.files.get(ncu_report.ANSWER_NAME)
    return finished, services.store.blobs.read(file.digest) if file else None


async def listed(services: Services, content: bytes, kernel: str | None = None) -> LaunchList:
    return ncu_report.parse_list(
        *await answered(services, ncu_report.list_command(kept(services, content), kernel))
    )


async def read(services: Services, content: bytes, launches: list[int] | None = None) -> tuple[Reading, ...]:
    command = ncu_report.read_command(
        kept(services, content), launches, [THROUGHPUT, "gpu__time_duration.sum"]
    )
    return ncu_report.parse_readings(*await answered(services, command))


def finished(**changes: object) -> Finished:
    plain: Finished = Finished(
        exit_code=0,
        signal=None,
        timed_out=False,
        stdout=b"",
        stderr=b"",
        stdout_dropped=0,
        stderr_dropped=0,
        files={},
        wall_s=1.0,
        question="q",
        environment=Environment({}),
        sandbox="none",
        measured_at=0.0,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]  # fields by name


async def test_every_launch_of_a_report_is_listed_with_its_time_and_shape(services: Services) -> None:
    found = await listed(services, report_bytes("gemm"))
    assert found.left_out == 0
    assert [(one.name, one.duration_ns, one.grid, one.block, one.wanted) for one in found.launches] == [
        ("gemm_naive", 4421600.0, (32, 32, 1), (32, 32, 1), True),
        ("gemm_tiled", 244576.0, (32, 32, 1), (32, 32, 1), True),
        ("transpose_conflict", 9344.0, (32, 32, 1), (32, 32, 1), True),
    ]
    assert found.launches[0].demangled == "gemm_naive(const float *, const float *, float *, int)"
    assert {one.device for one in found.launches} == {"NVIDIA H200"}


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        ("gemm_tiled", [False, True, False]),
        ("gemm_", [True, True, False]),
        ("regex:^gemm_tiled", [False, True, False]),
        ("_Z10gemm_naivePKfS0_Pfi", [True, False, False]),
        ("no_such_kernel", [False, False, False]),
    ],
)
async def test_a_kernel_filter_is_a_name_or_else_an_expression(
    services: Services, kernel: str, wanted: list[bool]
) -> None:
    found = await listed(services, report_bytes("gemm"), kernel)
    assert [one.wanted for one in found.launches] == wanted


async def test_a_broken_expression_is_a_wrong_request(services: Services) -> None:
    with pytest.raises(InvalidRequest, match="neither a name nor a regular expression"):
        await listed(services, report_bytes("gemm"), "gemm_(")


async def test_an_expression_that_never_ends_is_ended_at_the_deadline(services: Services) -> None:
    command = ncu_report.list_command(kept(services, report_bytes("gemm")), r"^(.|..)*9$")
    with pytest.raises(ProgramTimedOut):
        ncu_report.parse_list(*await answered(services, replace(command, timeout_s=1.5)))


async def test_counters_of_single_instructions_are_added_up_by_line(services: Services) -> None:
    naive, tiled, transpose = await read(services, report_bytes("gemm"))
    hottest = naive.lines[0]
    assert (hottest.file, hottest.line, hottest.samples) == ("kernels/gemm.cu", 12, 546187)
    assert hottest.stalls["lg_throttle"] == 511075
    assert [(row.op, row.units, row.ideal) for row in hottest.accesses] == [
        ("load", 1073741824, 134217728),
        ("store", 1048576, 131072),
        ("load", 33554432, 33554432),
    ]
    conflict = transpose.lines[0].accesses[0]
    assert (conflict.space, conflict.requests, conflict.units, conflict.ideal) == (
        "shared",
        32768,
        1048576,
        32768,
    )
    assert tiled.number("l1tex__throughput.avg.pct_of_peak_sustained_elapsed") == pytest.approx(86.2223516)
    assert (
        tiled.lines[0].text == "for (int k = 0; k < 32; ++k) acc += a[ty][k] * b[k][tx]; __syncthreads(); }"
    )


async def test_only_the_launches_asked_for_are_read(services: Services) -> None:
    assert [one.name for one in await read(services, report_bytes("gemm"), [2, 0])] == [
        "transpose_conflict",
        "gemm_naive",
    ]
    with pytest.raises(UnreadableOutput, match="holds 3 launches"):
        await read(services, report_bytes("gemm"), [3])


def records(content: bytes) -> Iterator[int]:
    """Where each record of a report ends."""
    offset = 4
    while offset < len(content):
        offset += 4 + struct.unpack_from("<I", content, offset)[0]
        yield offset


CUTS = [0, 3, 10, 11, 100_000, 1_371_721]


@pytest.mark.parametrize("cut", CUTS)
async def test_a_report_that_was_cut_off_is_a_typed_error(services: Services, cut: int) -> None:
    with pytest.raises(UnreadableOutput, match="not a readable Nsight Compute report"):
        await read(services, report_bytes("spill")[:cut])


async def test_a_report_cut_between_records_never_changes_a_launch(services: Services) -> None:
    content = report_bytes("gemm")
    whole = await listed(services, content)
    ends = [end for end in records(content) if end > len(content) // 2]
    assert len(ends) > 3
    for end in ends[:4]:
        try:
            found = await listed(services, content[:end])
        except UnreadableOutput:
            continue
        assert found.launches == whole.launches[: len(found.launches)]


@pytest.mark.parametrize(
    "content",
    [
        b"garbage",
        b"NVR\0",
        b"NVR\0" + bytes(1000),
        b"\x7fELF" + bytes(500),
        b"NVR\0\x02\0\0\0\x08\x07\xff\xff\xff\xff",
    ],
)
async def test_garbage_is_a_typed_error(services: Services, content: bytes) -> None:
    with pytest.raises(UnreadableOutput, match="not a readable Nsight Compute report"):
        await listed(services, content)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.tuples(st.integers(0, 1_371_721), st.integers(0, 255)), min_size=1, max_size=30))
async def test_a_report_with_wrong_bytes_is_read_or_refused_in_time(
    services: Services, places: list[tuple[int, int]]
) -> None:
    content = bytearray(report_bytes("spill"))
    for place, byte in places:
        content[place] = byte
    try:
        found = await read(services, bytes(content))
    except UnreadableOutput:
        return
    assert len(found) == 1


ANSWER = json.loads(
    """{"readings":[{"index":0,"name":"k","demangled":"k(int)","mangled":"_Z1ki","device":"NVIDIA H200",
    "grid":[1,1,1],"block":[32,1,1],"duration_ns":2.5,"metrics":{"a.sum":1.5,"b":"text","c":3},"units":{"a.sum":"%"},
    "rules":[{"rule":"R","title":"T","message":"M","estimate_pct":2.0,"scope":"global"}],
    "lines":[{"file":"k.cu","line":3,"text":"x","samples":4,"stalls":{"wait":4},"instructions":7,"sass":"NOP",
    "accesses":[{"space":"global","op":"load","sass":"LDG","instructions":1,"requests":2,"units":8,"ideal":8}]}],
    "lines_left_out":0}]}"""
)


def paths(value: object, prefix: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if prefix:
        yield prefix
    held: Any = value
    items: Any = (
        held.items() if isinstance(value, dict) else enumerate(held) if isinstance(value, list) else ()
    )
    for key, child in items:
        yield from paths(child, (*prefix, key))


WRONG = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@given(path=st.sampled_from(list(paths(ANSWER))), wrong=WRONG, remove=st.booleans())
def test_a_wrong_value_anywhere_is_refused_or_means_what_it_says(
    path: tuple[Any, ...], wrong: object, remove: bool
) -> None:
    changed = json.loads(json.dumps(ANSWER))
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    if remove:
        del holder[path[-1]]
    else:
        holder[path[-1]] = wrong
    content = json.dumps(changed).encode("utf-8", "replace")
    try:
        found = ncu_report.parse_readings(finished(), content)
    except UnreadableOutput:
        return
    assert json.loads(json.dumps([one.model_dump(mode="json") for one in found])) == changed["readings"]


@given(st.binary(max_size=200))
def test_any_bytes_as_an_answer_are_a_typed_error(content: bytes) -> None:
    for parse in (ncu_report.parse_list, ncu_report.parse_readings):
        with pytest.raises(UnreadableOutput):
            parse(finished(), content)


@pytest.mark.parametrize(
    ("ended", "expected"),
    [
        ({"signal": 11, "exit_code": None}, UnreadableOutput),
        ({"signal": 6, "exit_code": None}, UnreadableOutput),
        ({"signal": 9, "exit_code": None}, ProgramKilled),
        ({"timed_out": True, "exit_code": None}, ProgramTimedOut),
        ({"exit_code": 1, "stderr": b"ImportError"}, UnreadableOutput),
    ],
)
def test_how_the_reader_died_decides_the_error(ended: dict[str, Any], expected: type[WarpwiseError]) -> None:
    with pytest.raises(expected):
        ncu_report.parse_list(finished(**ended), None)


def test_a_missing_library_says_what_installs_it() -> None:
    answer = b'{"error":{"kind":"library","what":"ncu_report cannot be imported: no module"}}'
    with pytest.raises(ProgramMissing) as caught:
        ncu_report.parse_list(finished(), answer)
    assert "warpwise[ncu]" in caught.value.hint
