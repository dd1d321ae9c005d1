"""`debug` where something does not come to its end, is missing, or lies: typed, told, never called clean."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from warpwise.server.command import File, Finished
from warpwise.server.errors import (
    InvalidRequest,
    NotRecorded,
    ProgramMissing,
    Unavailable,
    UnreadableOutput,
    WarpwiseError,
)
from warpwise.server.reports.debugging import DebugAnswer
from warpwise.server.toolchain import launch_probe, sanitizer
from warpwise.server.tools.debugger import DebugArgs, debug
from warpwise.server.workbench import Workbench

Shelf: TypeAlias = Any  # the class stands in conftest.py, which cannot be imported
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
LOG = b"========= COMPUTE-SANITIZER\n"


async def ask(bench: Workbench, path: str, **arguments: object) -> DebugAnswer:
    answer = await debug.run(bench, DebugArgs.model_validate({"path": path, **arguments}))
    assert isinstance(answer, DebugAnswer)
    return answer


def rules(answer: DebugAnswer) -> list[str]:
    return [finding.rule for finding in answer.findings]


def at_deadline(finished: Finished) -> Finished:
    return replace(finished, exit_code=None, timed_out=True, wall_s=10.0)


def without_files(finished: Finished) -> Finished:
    return replace(at_deadline(finished), files={})


def with_values(**values: object) -> Callable[[Finished], Finished]:
    return lambda finished: replace(finished, **values)  # type: ignore[arg-type]


def by_signal(number: int) -> Callable[[Finished], Finished]:
    return lambda finished: replace(finished, exit_code=None, signal=number, stderr=b"going down\n")


async def test_a_hang_ends_at_the_deadline_and_names_the_last_kernel(
    debug_bench: Workbench, shelf: Shelf
) -> None:
    shelf.outcomes = {"program": at_deadline} | dict.fromkeys(TOOLS, without_files)
    answer = await ask(debug_bench, "hang.cu", timeout_s=1)
    finding = answer.findings[0]
    assert (answer.verdict, finding.rule, finding.kernel) == ("unfinished", "run.hang", "k")
    assert str(finding.location) == "hang.cu:3"
    assert [str(location) for location in finding.related] == ["hang.cu:4"]
    assert "within 10 s (plain run, memcheck, racecheck, initcheck, synccheck)" in finding.message
    assert answer.summary.startswith("DID NOT FINISH")
    assert answer.program is not None
    assert answer.program.timed_out


async def test_a_check_that_does_not_finish_leaves_the_others_standing(
    debug_bench: Workbench, shelf: Shelf
) -> None:
    shelf.outcomes = {"racecheck": without_files}
    shelf.reports = {"synccheck": "sync_synccheck"}
    answer = await ask(debug_bench, "sync.cu")
    assert rules(answer) == ["synccheck.divergent-barrier", "run.check-unfinished"]
    assert "racecheck did not finish within 10 s" in answer.findings[1].message
    assert answer.summary == "1 fault: divergent-barrier at sync.cu:5; 1 check unfinished."
    assert [str(count) for count in answer.records if count.truncated] == ["racecheck 0 of ? (truncated)"]


async def test_only_a_check_that_does_not_finish_leaves_it_undecided(
    debug_bench: Workbench, shelf: Shelf
) -> None:
    shelf.outcomes = {"initcheck": without_files}
    answer = await ask(debug_bench, "gemm.cu")
    assert (answer.verdict, rules(answer)) == ("undecided", ["run.check-unfinished"])
    assert answer.summary.startswith("Undecided")


async def test_what_a_killed_check_had_found_is_told_as_truncated(
    debug_bench: Workbench, shelf: Shelf
) -> None:
    def cut(finished: Finished) -> Finished:
        blobs = shelf.services.store.blobs
        xml = blobs.read(finished.files[sanitizer.XML_NAME].digest)
        half = {sanitizer.XML_NAME: xml[: len(xml) // 2], sanitizer.LOG_NAME: LOG}
        files = {
            name: replace(finished.files[name], digest=blobs.put(content)) for name, content in half.items()
        }
        return replace(finished, exit_code=None, signal=9, files=files)

    shelf.reports, shelf.outcomes = {"memcheck": "oob_memcheck"}, {"memcheck": cut}
    shelf.launches = (("_Z5scalePKfPfi", (4, 1, 1), (256, 1, 1)),)
    answer = await ask(debug_bench, "oob.cu")
    assert rules(answer) == ["run.killed", "memcheck.out-of-bounds"]
    assert answer.records[0].truncated
    assert answer.records[0].total is None


@pytest.mark.parametrize(("number", "rule"), [(9, "run.killed"), (11, "run.signal")])
async def test_a_program_ended_by_a_signal_is_an_error_finding(
    debug_bench: Workbench, shelf: Shelf, number: int, rule: str
) -> None:
    shelf.outcomes = {"program": by_signal(number)}
    answer = await ask(debug_bench, "race.cu")
    assert rules(answer) == [rule]
    assert "going down" in answer.findings[0].message
    assert answer.verdict in ("unfinished", "faults")


async def test_a_sandbox_passing_a_signal_on_as_an_exit_code_is_understood(
    debug_bench: Workbench, shelf: Shelf
) -> None:
    shelf.outcomes = {"program": with_values(exit_code=139)}
    answer = await ask(debug_bench, "race.cu")
    assert rules(answer) == ["run.signal"]
    assert "SIGSEGV" in answer.findings[0].message


async def test_a_failing_exit_code_is_a_note_and_judges_nothing(debug_bench: Workbench, shelf: Shelf) -> None:
    shelf.outcomes = {"program": with_values(exit_code=3, stderr=b"x" * 500 + b"\nbad input\n")}
    answer = await ask(debug_bench, "race.cu")
    assert (answer.verdict, rules(answer), answer.findings[0].severity) == (
        "clean",
        ["run.exit-code"],
        "note",
    )
    assert answer.findings[0].message.endswith("bad input")


async def test_a_program_that_launches_nothing_is_never_clean(debug_bench: Workbench) -> None:
    source = "__global__ void k(int* x) { *x = 1; }\nint main() { return 0; }\n"
    answer = await debug.run(debug_bench, DebugArgs.model_validate({"source": source}))
    assert isinstance(answer, DebugAnswer)
    assert (answer.verdict, rules(answer)) == ("not run", ["launch.none"])
    assert answer.summary == "NOT RUN: no kernel was launched, so nothing on the GPU was checked."
    assert [str(kernel) for kernel in answer.kernels] == ["k: never launched"]


async def test_refusals_for_want_of_a_device_are_never_clean(debug_bench: Workbench, shelf: Shelf) -> None:
    shelf.launch_error = 35
    answer = await ask(debug_bench, "gemm.cu")
    assert (answer.verdict, rules(answer)) == ("not run", ["launch.failed"] * 3)
    assert "no usable GPU" in answer.findings[0].message


async def test_kernels_that_are_held_and_never_launched_are_named(debug_bench: Workbench) -> None:
    source = """#include <cuda_runtime.h>
__global__ void used(int* x) { *x = 1; }
__global__ void idle(int* x) { *x = 2; }
int main(int argc, char**) { used<<<1, 1>>>(nullptr); if (argc > 9) idle<<<1, 1>>>(nullptr); return 0; }
"""
    answer = await debug.run(debug_bench, DebugArgs.model_validate({"source": source}))
    assert isinstance(answer, DebugAnswer)
    assert (answer.verdict, rules(answer)) == ("clean", ["launch.never"])
    assert answer.findings[0].message == "never launched, so not checked: idle"
    assert answer.summary == "Clean: 1 kernel ran, and no check found a fault."


async def test_without_a_table_of_launches_nothing_is_called_clean(
    debug_bench: Workbench, shelf: Shelf
) -> None:
    shelf.outcomes = {"program": with_values(files={})}
    answer = await ask(debug_bench, "gemm.cu")
    assert answer.verdict == "undecided"
    assert answer.checks_skipped[0].check == "kernel launches"


async def test_a_damaged_table_of_launches_is_told(debug_bench: Workbench, shelf: Shelf) -> None:
    table = File(shelf.services.store.blobs.put(b"not a table"), 11)
    shelf.outcomes = {"program": with_values(files={launch_probe.TABLE_NAME: table})}
    answer = await ask(debug_bench, "gemm.cu")
    assert (answer.verdict, answer.checks_skipped[0].check) == ("undecided", "kernel launches")


async def test_a_missing_sanitizer_is_told_and_the_run_still_answers(
    debug_bench: Workbench, shelf: Shelf
) -> None:
    missing = ProgramMissing("compute-sanitizer is not on this machine")
    shelf.outcomes = dict.fromkeys(TOOLS, missing)
    answer = await ask(debug_bench, "gemm.cu")
    assert (answer.verdict, answer.checks_run) == ("undecided", ("plain run",))
    assert [skipped.check for skipped in answer.checks_skipped] == [*TOOLS, "global-memory races"]
    assert answer.checks_skipped[0].reason == "compute-sanitizer is not on this machine"


async def test_a_missing_debugger_is_told_and_the_crash_still_counts(
    debug_bench: Workbench, shelf: Shelf
) -> None:
    shelf.files = {"program": {"core.gpu": b"a core dump"}}
    shelf.outcomes = {"cuda-gdb": ProgramMissing("cuda-gdb is not on this machine"), "program": by_signal(6)}
    answer = await ask(debug_bench, "race.cu")
    assert rules(answer) == ["crash.gpu-exception"]
    assert answer.checks_skipped[0].reason == "cuda-gdb is not on this machine"
    assert answer.verdict == "faults"


@pytest.mark.parametrize("error", [Unavailable("no NVIDIA GPU"), NotRecorded("the recording holds no run")])
async def test_where_nothing_can_run_the_reason_is_the_error(
    debug_bench: Workbench, shelf: Shelf, error: WarpwiseError
) -> None:
    shelf.outcomes = dict.fromkeys(("program", *TOOLS), error)
    with pytest.raises(type(error)) as raised:
        await ask(debug_bench, "gemm.cu")
    assert raised.value.hint


async def test_without_a_gpu_the_daemon_itself_says_what_is_missing(
    shelf: Shelf, debug_bench: Workbench
) -> None:
    if shelf.services.gpus.devices:
        pytest.skip("this machine has a GPU")
    bench = replace(debug_bench, services=shelf.services)
    with pytest.raises(Unavailable, match="no NVIDIA GPU"):
        await ask(bench, "gemm.cu")


@pytest.mark.parametrize(
    "held",
    [
        {sanitizer.LOG_NAME: LOG + b"========= ERROR SUMMARY: 0 errors\n"},
        {
            sanitizer.XML_NAME: b"<ComputeSanitizerOutput",
            sanitizer.LOG_NAME: LOG + b"========= ERROR SUMMARY: 0 errors\n",
        },
        {sanitizer.XML_NAME: b"", sanitizer.LOG_NAME: b""},
        {},
    ],
)
async def test_an_unreadable_report_is_a_check_that_did_not_run(
    debug_bench: Workbench, shelf: Shelf, held: dict[str, bytes]
) -> None:
    shelf.files = {"memcheck": held}
    answer = await ask(debug_bench, "gemm.cu")
    assert answer.verdict == "undecided"
    assert "memcheck" not in answer.checks_run
    assert [skipped.check for skipped in answer.checks_skipped] == ["memcheck", "global-memory races"]


async def test_where_every_report_is_unreadable_and_nothing_ran_it_is_an_error(
    debug_bench: Workbench, shelf: Shelf
) -> None:
    shelf.outcomes = {"program": UnreadableOutput("broken")}
    shelf.files = {tool: {} for tool in TOOLS}
    with pytest.raises(UnreadableOutput):
        await ask(debug_bench, "gemm.cu")


async def test_a_gigabyte_of_output_is_bounded_and_told(debug_bench: Workbench, shelf: Shelf) -> None:
    shelf.outcomes = {"program": with_values(stdout=b"x" * 1000, stdout_dropped=(1 << 30) - 1000)}
    answer = await ask(debug_bench, "gemm.cu")
    assert rules(answer) == ["run.output-dropped"]
    assert "1,073,741,824 bytes" in answer.findings[0].message
    assert answer.verdict == "clean"


async def test_what_has_no_main_is_refused_with_what_would_help(debug_bench: Workbench) -> None:
    with pytest.raises(InvalidRequest, match="no main") as raised:
        await ask(debug_bench, "solve.cu")
    assert "main" in (raised.value.hint or "")


async def test_what_does_not_build_is_an_answer_with_its_diagnostics(debug_bench: Workbench) -> None:
    answer = await debug.run(debug_bench, DebugArgs.model_validate({"source": "int main() { return x; }\n"}))
    assert isinstance(answer, DebugAnswer)
    assert answer.verdict == "does not build"
    assert answer.findings
    assert {skipped.reason for skipped in answer.checks_skipped} == {"it does not build"}


async def test_what_an_unusable_sanitizer_printed_is_its_reason(debug_bench: Workbench, shelf: Shelf) -> None:
    shelf.files = {"initcheck": {"stdout": b"Failed to parse options: unrecognised option '--padding'\n"}}
    answer = await ask(debug_bench, "gemm.cu")
    assert "unrecognised option" in answer.checks_skipped[0].reason


@pytest.mark.parametrize("change", [with_values(exit_code=137), by_signal(9)])
async def test_a_sanitizer_killed_by_its_sandbox_or_directly_is_never_clean(
    debug_bench: Workbench, shelf: Shelf, change: Callable[[Finished], Finished]
) -> None:
    shelf.outcomes = {"racecheck": change}
    answer = await ask(debug_bench, "race.cu")
    assert answer.verdict != "clean", answer.text()
    assert "run.killed" in rules(answer) or "racecheck" in {gap.check for gap in answer.checks_skipped}
