"""What is asked of ncu, and what its log says: real logs of an H200, and the vendor's documented refusal."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpwise.server.command import Command, Environment, File, Finished, Input
from warpwise.server.errors import Busy, ProgramTimedOut, ToolchainError, UnreadableOutput
from warpwise.server.toolchain import ncu
from warpwise.server.toolchain.ncu import Log, ProfileSet

RAW = Path(__file__).parents[1] / "recordings" / "h200_raw"
PROGRAM = Input("0" * 64, "built:question/program", executable=True)
REPORT = {ncu.REPORT_NAME: File("1" * 64, 1000)}
# As documented at developer.nvidia.com/ERR_NVGPUCTRPERM; the H200's driver denied nothing, so there is no recording.
DENIED = (
    b"==PROF== Connected to process 7 (/w/program)\n"
    b"==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on "
    b"the target device 0. For instructions on enabling permissions and to get more information see "
    b"https://developer.nvidia.com/ERR_NVGPUCTRPERM\n"
    b"==WARNING== No kernels were profiled.\n"
)
ENDED = Finished(
    exit_code=0,
    signal=None,
    timed_out=False,
    stdout=b"",
    stderr=b"",
    stdout_dropped=0,
    stderr_dropped=0,
    files={},
    wall_s=12.0,
    question="q",
    environment=Environment({}),
    sandbox="none",
    measured_at=0.0,
)


def log_of(name: str) -> bytes:
    return gzip.decompress((RAW / f"ncu_{name}.txt.gz").read_bytes())


def parsed(content: bytes, ended: Finished = ENDED) -> Log:
    return ncu.parse_log(ended, content)


SETS: tuple[ProfileSet, ...] = ("quick", "standard", "full", "source")


@pytest.mark.parametrize("chosen", SETS)
@pytest.mark.parametrize("selected", [None, (["_Z1kPf"], [1, 5, 9])])
def test_every_profile_leaves_the_clocks_alone_and_has_the_gpu_to_itself(
    chosen: ProfileSet, selected: tuple[list[str], list[int]] | None
) -> None:
    command = ncu.profile_command(PROGRAM, ["--size", "4"], chosen, selected, 60.0)
    words = command.arguments
    assert words[words.index("--clock-control") + 1] == "none"
    assert words[words.index("--import-source") + 1] == "yes"
    assert words[words.index("--target-processes") + 1] == "all"
    assert words[-3:] == ("./program", "--size", "4")
    assert (command.gpu, command.kind, command.timeout_s) == ("exclusive", "profile", 60.0)
    assert ("--set" in words) == (chosen == "full")
    assert ("--kernel-id" in words) == (selected is not None)


def test_a_selection_names_kernels_and_invocations_exactly() -> None:
    command = ncu.profile_command(PROGRAM, [], "quick", (["_Z1kPf", "_Z1k$x.y"], [1, 5]), 60.0)
    words = command.arguments
    assert words[words.index("--kernel-name-base") + 1] == "mangled"
    assert words[words.index("--kernel-id") + 1] == r"::regex:^(_Z1kPf|_Z1k\$x\.y)$:^(1|5)$"


def test_the_timing_pass_counts_nothing_but_time() -> None:
    command = ncu.timing_command(PROGRAM, ["7"], 30.0)
    assert command.arguments == (
        *("--clock-control", "none", "--target-processes", "all", "--force-overwrite"),
        *("--metrics", "gpu__time_duration.sum", "--section", "LaunchStats", "--apply-rules", "no"),
        *("--import-sass", "no", "--cache-control", "none", "--launch-count", "1000"),
        *("--log-file", "ncu.log", "--export", "report.ncu-rep", "./program", "7"),
    )
    assert (command.gpu, command.kind) == ("exclusive", "profile")


def test_the_vendors_text_needs_no_gpu() -> None:
    assert ncu.details_command(PROGRAM).gpu == "none"


def test_a_good_log_names_the_kernels_in_order() -> None:
    log = parsed(log_of("gemm"))
    assert log.began == ("gemm_naive", "gemm_tiled", "transpose_conflict")
    assert (log.denied, log.nothing, log.errors, log.exit_code) == (False, False, (), None)
    assert log.warnings[0].startswith("Note: Running with unmodified GPU clocks.")
    assert parsed(log_of("spill")).began == ("spill(float *, int)",)


@pytest.mark.parametrize("name", ["badapi", "nokernel"])
def test_a_log_of_nothing_says_so_and_is_no_error(name: str) -> None:
    log = parsed(log_of(name))
    assert (log.nothing, log.denied, log.began, log.errors) == (True, False, (), ())
    ncu.require_report(ENDED, log)


def test_a_denied_permission_is_told_from_an_empty_run() -> None:
    log = parsed(DENIED)
    assert (log.denied, log.nothing) == (True, True)
    ncu.require_report(ENDED, log)


def test_the_programs_own_exit_code_is_data() -> None:
    log = parsed(log_of("gemm") + b"==ERROR== The application returned an error code (11).\n")
    assert (log.exit_code, log.errors) == (11, ())


def test_a_hung_kernel_is_named() -> None:
    hung = replace(ENDED, exit_code=None, timed_out=True)
    said = r"still running at the deadline \(12 s\) while profiling k\(volatile int \*\) and were killed"
    with pytest.raises(ProgramTimedOut, match=said):
        ncu.require_report(hung, parsed(log_of("hang"), hung))
    with pytest.raises(ProgramTimedOut, match=r"\(12 s\) and were killed"):
        ncu.require_report(hung, ncu.parse_log(hung, None))


def test_another_profiler_on_the_gpu_is_worth_a_retry() -> None:
    said = b"==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool ...\n"
    with pytest.raises(Busy) as caught:
        ncu.require_report(ENDED, parsed(said))
    assert caught.value.retryable


def test_any_other_failure_has_ncus_own_words() -> None:
    said = b"==ERROR== Section identifier 'Nonsense' was not found.\n"
    with pytest.raises(ToolchainError, match="Section identifier 'Nonsense' was not found"):
        ncu.require_report(replace(ENDED, exit_code=1), parsed(said))
    with pytest.raises(ToolchainError, match="exit code 3 and no report"):
        ncu.require_report(replace(ENDED, exit_code=3), parsed(b"==PROF== Connected\n"))
    ncu.require_report(replace(ENDED, files=REPORT), parsed(said))


def test_without_a_log_file_stdout_is_read() -> None:
    assert ncu.parse_log(replace(ENDED, stdout=log_of("gemm")), None).began[0] == "gemm_naive"


def test_silence_is_a_typed_error_with_what_was_printed() -> None:
    with pytest.raises(UnreadableOutput, match="cannot open shared object file"):
        ncu.parse_log(replace(ENDED, exit_code=127, stderr=b"ncu: cannot open shared object file"), b"")


@given(
    name=st.sampled_from(["gemm", "spill", "badapi", "nokernel", "hang"]),
    start=st.integers(0, 800),
    length=st.integers(0, 800),
    put=st.binary(max_size=40),
)
def test_a_damaged_log_is_read_or_refused(name: str, start: int, length: int, put: bytes) -> None:
    whole = log_of(name)
    try:
        log = parsed(whole[:start] + put + whole[start + length :])
    except UnreadableOutput:
        return
    assert len(log.began) <= 3 + put.count(b"Profiling")


def test_a_command_is_the_same_question_whatever_its_deadline() -> None:
    def asked(timeout_s: float) -> Command:
        return ncu.profile_command(PROGRAM, [], "standard", None, timeout_s)

    assert asked(10.0).question == asked(99.0).question
