"""The answers of `debug` about the planted faults, from an H200's own reports: found at their lines, in few words."""

import gzip
import json
import re
import warnings
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from warpwise.server.reports.debugging import DebugAnswer
from warpwise.server.reports.finding import Finding, Location
from warpwise.server.toolchain import cuda_gdb, sanitizer
from warpwise.server.tools.debugger import DebugArgs, debug
from warpwise.server.workbench import Workbench

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import bpe_openai

Shelf: TypeAlias = Any  # the class stands in conftest.py, which cannot be imported
TOKENS: Any = bpe_openai.get_encoding("o200k_base")
REFUSED = "300,000 bytes of dynamic shared memory and 4,096 static; a block of sm_90 has at most 232,448"
RAW = Path(__file__).parents[1] / "recordings" / "h200_raw"


def tokens(text: str) -> int:
    return len(TOKENS.encode(text))


def compact(answer: DebugAnswer) -> str:
    return json.dumps(answer.structured(), separators=(",", ":"), ensure_ascii=False)


def raw(name: str) -> bytes:
    return gzip.decompress((RAW / f"{name}.gz").read_bytes())


async def ask(bench: Workbench, path: str, **arguments: object) -> DebugAnswer:
    answer = await debug.run(bench, DebugArgs.model_validate({"path": path, **arguments}))
    assert isinstance(answer, DebugAnswer)
    return answer


def only(answer: DebugAnswer) -> Finding:
    (finding,) = answer.findings
    return finding


async def test_24_records_of_one_overrun_are_one_finding(debug_bench: Workbench, shelf: Shelf) -> None:
    shelf.reports = {"memcheck": "oob_memcheck"}
    shelf.launches = (("_Z5scalePKfPfi", (4, 1, 1), (256, 1, 1)),)
    answer = await ask(debug_bench, "oob.cu")
    finding = only(answer)
    assert (answer.verdict, answer.summary) == ("faults", "1 fault: out-of-bounds at oob.cu:7.")
    assert finding.rule == "memcheck.out-of-bounds"
    assert finding.location == Location(file="oob.cu", line=7)
    assert finding.kernel == "scale"
    assert finding.message == (
        "4-byte read of global memory 1 to 93 bytes past the end of a 4,000-byte allocation; "
        "24 records (block 3, threads 232-255)"
    )
    assert finding.excerpt == "store(y, i, 2.0f * x[i]);           // no bounds check"
    assert finding.evidence["signature"] == "scale(const float *, float *, int)"
    assert "1,000" in (finding.suggestion or "")
    assert [str(count) for count in answer.records] == [
        "memcheck 25",
        "racecheck 0",
        "initcheck 0",
        "synccheck 0",
    ]
    assert answer.checks_run == ("plain run", "memcheck", "racecheck", "initcheck", "synccheck", "leakcheck")
    assert [skipped.check for skipped in answer.checks_skipped] == ["global-memory races"]


async def test_a_race_of_seven_records_is_one_finding(debug_bench: Workbench, shelf: Shelf) -> None:
    shelf.reports = {"racecheck": "race_racecheck_analysis"}
    finding = only(await ask(debug_bench, "race.cu"))
    assert (finding.rule, finding.severity) == ("racecheck.race", "error")
    assert finding.location == Location(file="race.cu", line=7)
    assert "read and write at line 7 are not ordered" in finding.message
    assert "10,624 hazards in 7 records" in finding.message
    assert "__syncthreads()" in (finding.suggestion or "")


async def test_single_hazards_are_the_evidence_of_a_race(debug_bench: Workbench, shelf: Shelf) -> None:
    shelf.reports = {"racecheck": "race_racecheck"}
    answer = await ask(debug_bench, "race.cu", detail="evidence")
    finding = only(answer)
    asked = next(command for command in shelf.asked if "racecheck" in command.arguments)
    assert asked.arguments[asked.arguments.index("--racecheck-report") + 1] == "all"
    assert "(RAW, WAR)" in finding.message
    assert finding.evidence["samples"][0] == "read by thread 32, write by thread 96, block 13, at 0x580"
    assert str(answer.records[1]) == "racecheck 100 of 11,015 (truncated)"
    assert answer.structured("evidence")["records"]["racecheck"] == {
        "shown": 100,
        "total": 11_015,
        "truncated": True,
    }


async def test_a_divergent_barrier_is_found_at_its_line(debug_bench: Workbench, shelf: Shelf) -> None:
    shelf.reports = {"synccheck": "sync_synccheck"}
    finding = only(await ask(debug_bench, "sync.cu"))
    assert (finding.rule, finding.location) == (
        "synccheck.divergent-barrier",
        Location(file="sync.cu", line=5),
    )
    assert "8 records (block 0, threads 32-39)" in finding.message


async def test_an_unwritten_buffer_and_three_leaks_are_four_findings(
    debug_bench: Workbench, shelf: Shelf
) -> None:
    shelf.reports = {"memcheck": "uninit_leakcheck", "initcheck": "uninit_initcheck"}
    answer = await ask(debug_bench, "uninit.cu")
    assert [finding.rule for finding in answer.findings] == [
        "initcheck.uninitialized",
        *["leakcheck.leak"] * 3,
    ]
    assert answer.findings[0].location == Location(file="uninit.cu", line=3)
    assert answer.summary == "1 fault: uninitialized at uninit.cu:3; 3 leaks."
    assert all("256 bytes" in finding.message for finding in answer.findings[1:])


async def test_leaks_alone_leave_a_program_clean_but_for_them(debug_bench: Workbench, shelf: Shelf) -> None:
    shelf.reports = {"memcheck": "uninit_leakcheck"}
    answer = await ask(debug_bench, "gemm.cu")
    assert answer.summary == "Clean but for 3 leaks."
    assert {finding.severity for finding in answer.findings} == {"warning"}


async def test_a_crash_and_its_memcheck_fault_are_one_finding(debug_bench: Workbench, shelf: Shelf) -> None:
    shelf.reports = {"memcheck": "misaligned_memcheck"}
    shelf.files = {
        "program": {cuda_gdb.CORE_NAME: b"a core dump"},
        "cuda-gdb": {"stdout": raw("misaligned_cuda_gdb.txt")},
    }
    finding = only(await ask(debug_bench, "misaligned.cu"))
    assert (finding.rule, finding.location) == ("memcheck.misaligned", Location(file="misaligned.cu", line=3))
    assert "the plain run dies of it (Warp Misaligned Address)" in finding.message
    assert finding.evidence["crash_at"] == "block 0, thread 0, offset 0x70"


async def test_a_crash_that_no_check_found_is_its_own_finding(debug_bench: Workbench, shelf: Shelf) -> None:
    shelf.files = {
        "program": {cuda_gdb.CORE_NAME: b"a core dump"},
        "cuda-gdb": {"stdout": raw("misaligned_cuda_gdb.txt")},
    }
    finding = only(await ask(debug_bench, "misaligned.cu", checks=["synccheck"]))
    assert (finding.rule, finding.kernel) == ("crash.warp-misaligned-address", "k")
    assert finding.location == Location(file="misaligned.cu", line=3)


async def test_refused_launches_and_a_failed_copy_are_explained_at_their_line(
    debug_bench: Workbench, shelf: Shelf
) -> None:
    shelf.reports = {"memcheck": "badapi_memcheck"}
    shelf.launch_error = 1
    answer = await ask(debug_bench, "badapi.cu", arch="sm_90")
    assert answer.verdict == "not run"
    assert [(finding.rule, finding.message) for finding in answer.findings] == [
        (
            "launch.failed",
            "k<<<1, 2048>>> did not run: 2,048 threads per block, and at most 1,024 are possible",
        ),
        (
            "launch.failed",
            f"k<<<1, 32, 300000>>> did not run: {REFUSED}",
        ),
        ("memcheck.api-error", "cudaMemcpy fails with cudaErrorInvalidValue (invalid argument)"),
    ]
    assert [finding.location for finding in answer.findings[:2]] == [Location(file="badapi.cu", line=4)] * 2
    assert [finding.excerpt is None for finding in answer.findings[:2]] == [False, True]


async def test_a_clean_program_is_called_clean_and_its_kernels_are_named(debug_bench: Workbench) -> None:
    answer = await ask(debug_bench, "gemm.cu")
    assert (answer.verdict, answer.findings) == ("clean", ())
    assert answer.summary == "Clean: 3 kernels ran, and no check found a fault."
    assert [(run.name, run.launches, run.launched_at) for run in answer.kernels] == [
        ("gemm_naive", 1, "gemm.cu:30"),
        ("gemm_tiled", 1, "gemm.cu:31"),
        ("transpose_conflict", 1, "gemm.cu:32"),
    ]


async def test_two_faults_are_both_shown_however_many_records_the_first_has(
    debug_bench: Workbench, shelf: Shelf
) -> None:
    xml, log = raw("oob_memcheck.xml"), raw("oob_memcheck.txt")
    head, mark, rest = xml.partition(b"  <record>")
    records = (mark + rest).rpartition(b"</ComputeSanitizerOutput>")[0]
    second = records.replace(b"<line>7</line>", b"<line>13</line>").replace(b">scale<", b">other<")
    shelf.files = {
        "memcheck": {
            sanitizer.XML_NAME: head + records * 9 + second + b"</ComputeSanitizerOutput>",
            sanitizer.LOG_NAME: log.replace(b"ERROR SUMMARY: 25", b"ERROR SUMMARY: 250"),
        }
    }
    shelf.launches = (("_Z5scalePKfPfi", (4, 1, 1), (256, 1, 1)),)
    answer = await ask(debug_bench, "oob.cu", checks=["memcheck"])
    assert [str(finding.location) for finding in answer.findings] == ["oob.cu:7", "oob.cu:13"]
    assert "216 records" in answer.findings[0].message
    assert str(answer.records[0]) == "memcheck 250"


@pytest.mark.parametrize(
    ("path", "report", "launches", "most"),
    [
        ("oob.cu", "oob_memcheck", (("_Z5scalePKfPfi", (4, 1, 1), (256, 1, 1)),), 400),
        ("race.cu", "race_racecheck_analysis", (), 400),
        ("gemm.cu", "clean_memcheck", (), 300),
    ],
)
async def test_default_answers_are_short_as_text_and_as_data(
    debug_bench: Workbench, shelf: Shelf, path: str, report: str, launches: object, most: int
) -> None:
    shelf.reports = {report.split("_")[1]: report}
    shelf.launches = launches
    answer = await ask(debug_bench, path)
    assert tokens(answer.text()) < most
    assert tokens(compact(answer)) < most
    printed = tokens(raw(f"{report}.txt").decode())
    if printed > 3000:
        assert printed >= 8 * max(tokens(answer.text()), tokens(compact(answer)))


async def test_text_and_data_carry_the_same_facts(debug_bench: Workbench, shelf: Shelf) -> None:
    shelf.reports = {"memcheck": "uninit_leakcheck", "initcheck": "uninit_initcheck"}
    answer = await ask(debug_bench, "uninit.cu")
    text, data = answer.text(), compact(answer)
    for finding in answer.findings:
        assert finding.message in text
        assert finding.message in data
    for fact in ("add<<<1, 64>>> 1x", "global-memory races", answer.candidate or "", "NVIDIA H200"):
        assert fact in text
        assert fact in data


async def test_raw_pages_and_artifacts_hold_what_the_tools_wrote(
    debug_bench: Workbench, shelf: Shelf
) -> None:
    shelf.reports = {"memcheck": "oob_memcheck"}
    answer = await ask(debug_bench, "oob.cu", detail="raw", checks=["memcheck"])
    assert answer.raw["memcheck-report.txt"].startswith("========= COMPUTE-SANITIZER")
    assert [artifact.name for artifact in answer.artifacts] == ["memcheck-report.txt", "memcheck-report.xml"]
    kept, digest, component = debug_bench.services.store.artifact(
        "test", answer.artifacts[1].uri.rpartition("/")[2]
    )
    assert (kept.size_bytes, component) == (len(raw("oob_memcheck.xml")), "debugger")
    assert debug_bench.blobs.read(digest) == raw("oob_memcheck.xml")


async def test_checks_that_were_not_asked_are_named(debug_bench: Workbench, shelf: Shelf) -> None:
    answer = await ask(debug_bench, "race.cu", checks=["leakcheck"])
    assert answer.checks_run == ("plain run", "memcheck", "leakcheck")
    assert [(skipped.check, skipped.reason) for skipped in answer.checks_skipped] == [
        ("racecheck, initcheck, synccheck", "not asked"),
        ("global-memory races", "no tool finds them"),
    ]
    assert [command.program for command in shelf.asked if command.gpu != "none"] == [
        "./program",
        "compute-sanitizer",
    ]


async def test_a_repeated_question_reads_nothing_again(debug_bench: Workbench, shelf: Shelf) -> None:
    shelf.reports = {"memcheck": "oob_memcheck"}
    first = await ask(debug_bench, "oob.cu", checks=["memcheck"])
    second = await ask(debug_bench, "oob.cu", checks=["memcheck"])
    assert first.findings == second.findings
    assert re.fullmatch(r"c-[0-9a-f]{16}", first.candidate or "")
