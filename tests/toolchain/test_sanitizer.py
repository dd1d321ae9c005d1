"""compute-sanitizer's outputs, an H200's own and what can become of them: all read right, or refused by name."""

import gzip
import io
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warpwise.server.command import Input
from warpwise.server.errors import UnreadableOutput
from warpwise.server.toolchain import sanitizer
from warpwise.server.toolchain.sanitizer import Report, Tool
from warpwise.server.toolchain.sanitizer_xml import Frame, Record

RAW = Path(__file__).parents[1] / "recordings" / "h200_raw"
PROGRAM = Input("0" * 64, "built:x/program", executable=True)


def raw(name: str) -> bytes:
    return gzip.decompress((RAW / f"{name}.gz").read_bytes())


def ignore(record: Record, log: object) -> None:
    """Take a record and do nothing with it."""


def read(
    xml: bytes | None, log: bytes | None, *, tool: Tool = "memcheck", ended: bool = True
) -> tuple[Report, list[Record]]:
    records: list[Record] = []
    report = sanitizer.parse(
        tool,
        None if xml is None else io.BytesIO(xml),
        None if log is None else io.BytesIO(log),
        lambda record, _: records.append(record),
        ended=ended,
    )
    return report, records


@pytest.mark.parametrize(
    ("name", "shown", "total"),
    [
        ("badapi_memcheck", 6, 6),
        ("clean_memcheck", 0, 0),
        ("misaligned_memcheck", 33, 33),
        ("oob_memcheck", 25, 25),
        ("race_racecheck", 100, 11_015),
        ("race_racecheck_analysis", 7, 7),
        ("sync_synccheck", 8, 8),
        ("uninit_initcheck", 64, 64),
        ("uninit_leakcheck", 3, 3),
    ],
)
def test_every_real_report_is_read_whole(name: str, shown: int, total: int) -> None:
    report, records = read(raw(f"{name}.xml"), raw(f"{name}.txt"))
    assert (report.shown, len(records), report.total) == (shown, shown, total)
    assert report.complete
    assert report.truncated == (total > shown)


def test_a_memcheck_record_holds_thread_place_address_and_host_stack() -> None:
    report, records = read(raw("oob_memcheck.xml"), raw("oob_memcheck.txt"))
    first = records[0]
    assert (first.kind, first.level, first.thread, first.block) == (
        "Precise",
        "Error",
        (232, 0, 0),
        (3, 0, 0),
    )
    assert first.where == Frame("scale", "/w/kernels/oob.cu", 7, 0x90)
    assert first.number("address") == 0x7F9E9C800FA0
    assert [frame.function for frame in first.host_stack][3:5] == ["__device_stub__Z5scalePKfPfi", "main"]
    assert report.log.nearest[0x7F9E9C800FA0].size_bytes == 4000
    assert report.log.signatures == {"scale": "scale(const float *, float *, int)"}


def test_a_leak_summary_is_read() -> None:
    report, _ = read(raw("uninit_leakcheck.xml"), raw("uninit_leakcheck.txt"))
    assert (report.log.leaked_bytes, report.log.leaked_allocations) == (768, 3)


@pytest.mark.parametrize("checks", [("memcheck",), ("leakcheck",), ("memcheck", "leakcheck")])
def test_leaks_and_accesses_share_one_process(checks: tuple[sanitizer.Check, ...]) -> None:
    assert sanitizer.tools_for(checks) == ("memcheck",)


def test_memcheck_always_pads_and_every_tool_has_a_print_limit() -> None:
    for tool in sanitizer.tools_for(sanitizer.CHECKS):
        arguments = sanitizer.command(tool, PROGRAM).arguments
        assert arguments[arguments.index("--print-limit") + 1] == "10000"
        assert ("--padding" in arguments) == (tool == "memcheck")
        assert arguments[arguments.index("--") :] == ("--", "./program")


def test_a_program_that_used_no_cuda_is_a_report_that_says_so() -> None:
    log = b"""========= COMPUTE-SANITIZER
========= Error: Target application terminated before first instrumented API call
"""
    report, records = read(None, log)
    assert (report.log.started, report.complete, records) == (False, False, [])


def test_a_truncated_xml_is_a_typed_error() -> None:
    xml = raw("oob_memcheck.xml")
    for cut in (0, 10, 60, len(xml) // 2, len(xml) - 3):
        with pytest.raises(UnreadableOutput):
            read(xml[:cut], raw("oob_memcheck.txt"))


def test_the_truncated_xml_of_a_killed_program_is_read_as_far_as_it_goes() -> None:
    xml = raw("oob_memcheck.xml")
    report, records = read(xml[: len(xml) // 2], raw("oob_memcheck.txt")[:3000], ended=False)
    assert 0 < len(records) < 25
    assert (report.cut, report.truncated, report.complete) == (True, True, False)


def test_a_killed_tool_that_wrote_nothing_is_a_cut_report() -> None:
    report, records = read(None, None, ended=False)
    assert (report.cut, report.complete, records) == (True, False, [])


BOMB = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<ComputeSanitizerOutput><record><kind>&b;</kind><what><text>&b;</text></what></record></ComputeSanitizerOutput>"""
OUTSIDE = b"""<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>
<ComputeSanitizerOutput><record><kind>&a;</kind><what/></record></ComputeSanitizerOutput>"""
OPEN, CLOSE = b"<ComputeSanitizerOutput>", b"</ComputeSanitizerOutput>"


@pytest.mark.parametrize(
    "xml",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x00\x01\x02", id="garbage"),
        pytest.param(b"Segmentation fault\n", id="text"),
        pytest.param(b"<html></html>", id="another root"),
        pytest.param(OPEN + b"<note/>" + CLOSE, id="not a record"),
        pytest.param(OPEN + b"<record/>" + CLOSE, id="an empty record"),
        pytest.param(OPEN + b"<record><kind>\xff\xfe</kind><what/></record>" + CLOSE, id="not UTF-8"),
        pytest.param(BOMB, id="entity bomb"),
        pytest.param(OUTSIDE, id="external entity"),
        pytest.param(OPEN + b"<record>" + b"<a>" * 100_000, id="nested without end"),
        pytest.param(
            OPEN + b"<record>" + b"<a/>" * 100_000 + b"</record>" + CLOSE, id="branched without end"
        ),
        pytest.param(OPEN + b"<record><kind>" + b"x" * 1_000_000, id="a text without end"),
        pytest.param(OPEN + b"<record " + b"x" * 3_000_000, id="a tag without end"),
        pytest.param(
            raw("oob_memcheck.xml").replace(b"<x>232</x>", b"<x>many</x>"), id="a thread that is no number"
        ),
        pytest.param(raw("oob_memcheck.xml").replace(b"<x>232</x>", b""), id="a thread without x"),
    ],
)
def test_hostile_and_damaged_xml_is_a_typed_error(xml: bytes) -> None:
    with pytest.raises(UnreadableOutput):
        read(xml, raw("oob_memcheck.txt"))


@pytest.mark.parametrize("log", [b"", b"oh no\n", b"========= COMPUTE-SANITIZER\n", b"\xff" * 100_000])
def test_a_log_without_header_or_summary_is_a_typed_error(log: bytes) -> None:
    with pytest.raises(UnreadableOutput):
        read(raw("clean_memcheck.xml"), log)


def test_faults_that_are_counted_and_not_listed_are_never_taken_for_clean() -> None:
    with pytest.raises(UnreadableOutput, match="counts 25 faults"):
        read(raw("clean_memcheck.xml"), raw("oob_memcheck.txt"))


def test_what_the_program_prints_between_does_not_disturb_the_log() -> None:
    noise = b"x" * 200_000 + b"\nERROR SUMMARY: 7 errors\n"
    report, _ = read(
        raw("oob_memcheck.xml"), noise + raw("oob_memcheck.txt").replace(b"\n", b"\n" + noise, 3)
    )
    assert report.total == 25


NAMES = ("oob_memcheck", "race_racecheck_analysis", "race_racecheck", "sync_synccheck", "uninit_leakcheck")
edits = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 40),
        st.binary(max_size=12) | st.sampled_from([b"<", b"&", b"</", b"]]>"]),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    name=st.sampled_from(NAMES), changes=edits, cut=st.floats(0, 1), ended=st.booleans(), in_log=st.booleans()
)
def test_mutated_output_is_read_or_refused_and_never_crashes_the_reader(
    name: str, changes: list[tuple[float, int, bytes]], cut: float, ended: bool, in_log: bool
) -> None:
    xml, log = raw(f"{name}.xml"), raw(f"{name}.txt")
    content = log if in_log else xml[: 20_000 + len(xml) % 7]
    for position, length, replacement in changes:
        start = int(position * len(content))
        content = content[:start] + replacement + content[start + length :]
    if cut < 0.3:
        content = content[: int(cut * 3 * len(content))]
    try:
        report, records = read(xml if in_log else content, content if in_log else log, ended=ended)
    except UnreadableOutput:
        return
    assert report.shown == len(records)
    assert ended is False or report.total is not None or not report.log.started


class Repeated(io.RawIOBase):
    """A report of a wanted size made of real records, never in memory as a whole."""

    def __init__(self, size_bytes: int) -> None:
        head, mark, rest = raw("oob_memcheck.xml").partition(b"  <record>")
        records, closing, _ = (mark + rest).rpartition(b"</ComputeSanitizerOutput>")
        self._parts: Iterator[bytes] = iter([head, *[records] * (size_bytes // len(records)), closing])
        self._held = b""

    def read(self, size: int = -1) -> bytes:
        while len(self._held) < size and (part := next(self._parts, None)) is not None:
            self._held += part
        taken, self._held = self._held[:size], self._held[size:]
        return taken


def grown_mib(size_mib: int) -> float:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = [0]

    def take(record: Record, _: object) -> None:
        count[0] += 1

    stream = Repeated(size_mib << 20)
    sanitizer.parse("memcheck", stream, io.BytesIO(raw("oob_memcheck.txt")), take, ended=True)  # type: ignore[arg-type]
    assert count[0] > size_mib * 500
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def test_a_tag_without_end_is_refused_before_it_fills_the_memory() -> None:
    stream = io.BytesIO(OPEN + b"<record " + b"x" * 60_000_000)
    with pytest.raises(UnreadableOutput, match="tag without end"):
        sanitizer.parse("memcheck", stream, io.BytesIO(raw("oob_memcheck.txt")), ignore, ended=False)
    assert stream.tell() < 3_000_000


def test_white_space_between_records_is_no_tag_without_end() -> None:
    xml = raw("oob_memcheck.xml").replace(b"</record>", b"</record>" + b" \n" * 2_000_000, 1)
    assert read(xml, raw("oob_memcheck.txt"))[0].shown == 25


def test_memory_does_not_grow_with_the_report() -> None:
    assert grown_mib(8) < 16


@pytest.mark.torture
def test_a_100_mb_report_is_read_in_less_than_200_mb() -> None:
    assert grown_mib(100) < 100
