"""Records become faults: one for each thing that is wrong, with the extent of it. The records are an H200's, edited."""

import gzip
import io
from pathlib import Path

import pytest

from warpwise.server.analysis.fault_clusters import Fault, FaultCollector
from warpwise.server.analysis.fault_findings import fault_findings, without_consequences
from warpwise.server.analysis.host_sites import source_finder
from warpwise.server.analysis.spread import Addresses, Indices
from warpwise.server.reports.finding import Location
from warpwise.server.toolchain import sanitizer
from warpwise.server.toolchain.sanitizer import Tool
from warpwise.server.toolchain.sanitizer_log import Allocation

RAW = Path(__file__).parents[1] / "recordings" / "h200_raw"
NAMES = ("oob.cu", "race.cu", "uninit.cu", "sync.cu", "misaligned.cu", "badapi.cu")


def raw(name: str) -> str:
    return gzip.decompress((RAW / f"{name}.gz").read_bytes()).decode()


def collect(xml: str, log: str, tool: Tool = "memcheck") -> list[Fault]:
    collector = FaultCollector(tool, source_finder(NAMES), None)
    sanitizer.parse(tool, io.BytesIO(xml.encode()), io.BytesIO(log.encode()), collector.take, ended=True)
    return collector.faults


def records(name: str) -> list[str]:
    parts = raw(f"{name}.xml").split("<record>")[1:]
    return ["<record>" + part.partition("</record>")[0] + "</record>" for part in parts]


def report(*held: str) -> str:
    return "<ComputeSanitizerOutput>" + "".join(held) + "</ComputeSanitizerOutput>"


def told(faults: list[Fault]) -> list[str]:
    def excerpt(location: Location | None) -> str | None:
        return None

    return [finding.message for finding in fault_findings(faults, excerpt)]


OOB, LOG = records("oob_memcheck"), raw("oob_memcheck.txt")


def test_one_line_is_one_fault_however_often_the_compiler_unrolled_it() -> None:
    unrolled = [
        record.replace("<pc>0x90</pc>", f"<pc>{0x90 + 16 * index:#x}</pc>")
        for index, record in enumerate(OOB[:24])
    ]
    (fault,) = collect(report(*unrolled), LOG)
    assert (fault.records, len(fault.pcs)) == (24, 24)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<line>7</line>", "<line>8</line>"),
        ("<direction>read</direction>", "<direction>write</direction>"),
        ("<error>out of bounds</error>", "<error>misaligned</error>"),
        ("<space>__global__</space>", "<space>__shared__</space>"),
        ("__device_stub__Z5scalePKfPfi", "__device_stub__Z5otherPKfPfi"),
    ],
)
def test_what_differs_in_kind_line_or_kernel_is_another_fault(old: str, new: str) -> None:
    assert len(collect(report(*OOB[:12], *(record.replace(old, new) for record in OOB[12:24])), LOG)) == 2


def test_code_without_lines_is_told_apart_by_instruction() -> None:
    bare = [
        record.replace("<path>/w/kernels/oob.cu</path>", "").replace("<line>7</line>", "")
        for record in OOB[:24]
    ]
    moved = [record.replace("<pc>0x90</pc>", "<pc>0xa0</pc>") for record in bare[:4]]
    faults = collect(report(*bare, *moved), LOG)
    assert [fault.records for fault in faults] == [24, 4]
    assert [fault.place and fault.place.line for fault in faults] == [None, None]


def test_an_inlined_device_function_is_told_by_its_kernel() -> None:
    inner = (
        OOB[0].replace("<func>scale</func>", "<func>store</func>").replace("<line>7</line>", "<line>4</line>")
    )
    (fault,) = collect(report(inner), LOG)
    assert (fault.kernel, fault.place and fault.place.line) == ("scale", 4)


def test_a_fault_inside_a_library_header_is_placed_at_the_users_line() -> None:
    frame = "<frame><func>scale</func><path>/w/kernels/oob.cu</path><line>7</line><pc>0x40</pc></frame>"
    stack = f"<deviceStack>{frame}</deviceStack>"
    header = (
        OOB[0]
        .replace("/w/kernels/oob.cu", "/usr/include/sm_30_intrinsics.hpp")
        .replace("</where>", f"</where>{stack}")
    )
    (fault,) = collect(report(header), LOG)
    assert (fault.place and fault.place.file, fault.place and fault.place.line) == ("oob.cu", 7)


def test_the_sticky_error_of_a_faulting_kernel_is_no_second_fault() -> None:
    faults = collect(report(*OOB), LOG)
    assert [fault.kind for fault in faults] == ["Precise", "Api"]
    kept, dropped = without_consequences(faults)
    assert ([fault.kind for fault in kept], dropped) == (["Precise"], 1)
    assert without_consequences(faults[1:]) == (faults[1:], 0)


def test_a_repeated_report_of_the_last_error_is_an_echo() -> None:
    faults = collect(raw("badapi_memcheck.xml"), raw("badapi_memcheck.txt"))
    assert [fault.fields["api"] for fault in faults] == ["cudaLaunchKernel", "cudaLaunchKernel", "cudaMemcpy"]


def test_a_race_between_two_lines_is_one_fault_in_either_order() -> None:
    found = records("race_racecheck_analysis")[6]
    other = found.replace("<line>7</line>", "<line>9</line>", 1)
    (fault,) = collect(
        report(other, other.replace("Read", "X").replace("Write", "Read").replace("X", "Write")),
        raw("race_racecheck_analysis.txt"),
        "racecheck",
    )
    assert fault.records == 2
    (message,) = told([fault])
    assert (
        "read and write at line 7, read and write at line 9 are not ordered; 128 hazards in 2 records"
        in message
    )


def test_an_unknown_kind_of_record_is_told_in_the_tools_own_words() -> None:
    strange = OOB[0].replace("<kind>Precise</kind>", "<kind>Cosmic ray</kind>")
    (fault,) = collect(report(strange), LOG)
    assert fault.rule == "memcheck.cosmic-ray"
    assert told([fault])[0].startswith("Invalid __global__ read of size 4 bytes is out of bounds; 1 record")


def test_faults_are_bounded() -> None:
    many = [OOB[0].replace("<line>7</line>", f"<line>{line}</line>") for line in range(1, 2100)]
    collector = FaultCollector("memcheck", source_finder(NAMES), None)
    sanitizer.parse(
        "memcheck", io.BytesIO(report(*many).encode()), io.BytesIO(LOG.encode()), collector.take, ended=True
    )
    assert (len(collector.faults), collector.left_out) == (2000, 99)


@pytest.mark.parametrize(
    ("held", "words"),
    [
        ([(3, 0, 0)], "3"),
        ([(x, 0, 0) for x in range(232, 256)], "232-255"),
        ([(0, 0, 0), (9, 0, 0)], "2 of 0-9"),
        ([(x, y, 0) for x in range(4) for y in range(2)], "(0,0)-(3,1)"),
        ([(0, 0, 0), (3, 1, 0)], "2 of (0,0)-(3,1)"),
        ([(0, 0, 5)], "(0,0,5)"),
    ],
)
def test_indices_are_told_in_few_words(held: list[tuple[int, int, int]], words: str) -> None:
    indices = Indices()
    for index in held:
        indices.add(index)
    assert str(indices) == words


def addresses(*held: tuple[int, Allocation | None]) -> list[str]:
    found = Addresses()
    for address, nearest in held:
        found.add(address, nearest)
    return [str(reach) for reach in found.reaches()]


ONE, TWO = Allocation(0x1000, 4000), Allocation(0x3000, 4000)


def test_distances_are_counted_from_the_allocation_that_is_overrun() -> None:
    assert addresses((0x1FA0, ONE), (0x1FFC, ONE)) == [
        "1 to 93 bytes past the end of a 4,000-byte allocation"
    ]
    assert addresses((0x1FA0, ONE), (0x2FFC, TWO)) == [
        "1 to 4,189 bytes past the end of a 4,000-byte allocation"
    ]
    assert addresses((0x0FF8, ONE)) == ["8 bytes before a 4,000-byte allocation"]
    assert addresses((0x1004, ONE)) == ["inside a 4,000-byte allocation"]
    assert addresses((0x1FA0, ONE), (0x3FA0, TWO)) == ["1 byte past the end of a 4,000-byte allocation"] * 2
    assert addresses((0x1FA0, None)) == []
