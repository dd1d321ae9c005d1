"""`profile` of a program: what is asked of ncu, and every way in which that can end."""

from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from warpwise.server.command import Command, Environment, Finished
from warpwise.server.errors import InvalidRequest, ProgramTimedOut, Unavailable
from warpwise.server.profile_findings import admin_only, denied
from warpwise.server.reports.finding import Location
from warpwise.server.toolchain import launch_probe
from warpwise.server.tools.profiler import ProfileArgs, profile

Card: TypeAlias = Any  # the class stands in conftest.py, which cannot be imported
H200 = Environment({"GPU": "NVIDIA H200"})
# As documented at developer.nvidia.com/ERR_NVGPUCTRPERM; the H200's driver denied nothing, so there is no recording.
DENIED = b"==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters\n"


async def test_a_program_is_built_timed_and_profiled_alone_on_the_gpu(card: Card) -> None:
    card.reports = ["gemm", "gemm"]
    answer = await card.profiled(path="gemm.cu", args=["7"])
    timing, deep = card.ncu_runs()
    assert {command.gpu for command in card.ncu_runs()} == {"exclusive"}
    assert timing.arguments[-2:] == deep.arguments[-2:] == ("./program", "7")
    assert "--kernel-id" not in deep.arguments
    assert timing.inputs["program"].origin.startswith("built:")
    assert set(timing.inputs) == {"program"}
    assert set(deep.inputs) == {"program", "gemm.cu"}
    assert answer.candidate is not None
    assert answer.candidate.startswith("c-")
    assert answer.findings[0].location == Location(file="gemm.cu", line=12)
    assert answer.provenance is not None
    assert "GPU NVIDIA H200" in answer.provenance.environment
    assert answer.checks_run == ("time of 3 launches", "counters of 3")


async def test_a_filtered_program_is_asked_only_for_that_kernel(card: Card) -> None:
    card.reports = ["gemm", "gemm"]
    await card.profiled(path="gemm.cu", kernel="gemm_tiled", set="quick")
    words = card.ncu_runs()[1].arguments
    assert words[words.index("--kernel-id") + 1] == "::regex:^(_Z10gemm_tiledPKfS0_Pfi)$:^(1)$"
    assert "SpeedOfLight" in words


async def test_launches_that_the_second_run_did_not_meet_are_counted(card: Card) -> None:
    card.reports = ["gemm", "spill"]
    answer = await card.profiled(path="gemm.cu")
    assert answer.timing.profiled == 0
    assert "3 chosen launches" in {one.check for one in answer.checks_skipped}
    assert answer.kernels[0].total.value == pytest.approx(4421.6)
    assert answer.findings == ()


@pytest.mark.parametrize("log", ["badapi", "nokernel"])
async def test_a_program_that_runs_no_kernel_is_never_a_clean_profile(card: Card, log: str) -> None:
    card.log = card.log_of(log)
    card.ended = {"stdout": b"invalid argument\n"}
    answer = await card.profiled(path="gemm.cu")
    [finding] = answer.findings
    assert (finding.rule, finding.severity, finding.excerpt) == (
        "profile/nothing-ran",
        "error",
        "invalid argument",
    )
    assert answer.summary.startswith("Not profiled: no kernel ran")
    assert answer.kernels == ()
    assert answer.checks_run == ()
    assert len(card.ncu_runs()) == 1


async def test_launches_that_all_failed_are_told_with_their_errors(card: Card) -> None:
    card.log = card.log_of("badapi")
    await card.profiled(path="gemm.cu")
    program = card.ncu_runs()[0].inputs["program"]
    alone = Command("./program", inputs={"program": program}, outputs=(launch_probe.TABLE_NAME,))
    left = (await card.inner.run(alone)).files[launch_probe.TABLE_NAME]
    card.table = card.bench.blobs.read(left.digest)
    [finding] = (await card.profiled(path="gemm.cu")).findings
    [(error, count)] = finding.evidence["failed_launches"].items()
    assert error in ("cudaErrorInsufficientDriver", "cudaErrorNoDevice")
    assert count == 3
    assert finding.message == f"no kernel ran: every launch failed (3 with {error})"


async def test_a_table_that_the_program_spoilt_is_not_believed(card: Card) -> None:
    card.log, card.table = card.log_of("badapi"), b"WWLAUNCH but not really"
    [finding] = (await card.profiled(path="gemm.cu")).findings
    assert finding.message == "no kernel ran: ncu saw no launch, or every launch failed"


async def test_denied_counters_give_a_timing_only_answer_with_the_remedy(card: Card) -> None:
    card.log = DENIED
    answer = await card.profiled(path="gemm.cu")
    assert answer.summary.startswith("Timing only, no counters: the whole program took 0.41 s")
    assert [one.rule for one in answer.findings] == ["profile/counters-denied"]
    assert answer.timing.program is not None
    assert (answer.timing.program.value, answer.timing.program.provenance) == (0.41, "measured")
    assert answer.timing.total.value is None
    assert card.asked[-1].program == "./program"
    assert card.asked[-1].gpu == "exclusive"
    assert "program: 0.41 s" in answer.text()


@pytest.mark.parametrize(
    ("sandbox", "restricted", "is_root", "cause", "remedy"),
    [
        ("bubblewrap", True, True, "sandbox's user namespace", "WARPWISE_SANDBOX=off"),
        ("bubblewrap", True, False, "administrators only", "NVreg_RestrictProfilingToAdminUsers=0"),
        ("none", True, False, "administrators only", "--cap-add=SYS_ADMIN"),
        ("none", False, True, "a container or virtual GPU", "--cap-add=SYS_ADMIN"),
        ("none", None, False, "administrators only", "NVreg_RestrictProfilingToAdminUsers=0"),
    ],
)
def test_a_denial_names_its_true_cause(
    sandbox: str, restricted: bool | None, is_root: bool, cause: str, remedy: str
) -> None:
    run = Finished(1, None, False, b"", b"", 0, 0, {}, 1.0, "q", H200, sandbox, 0.0)
    finding = denied(run, restricted, is_root=is_root)
    assert cause in finding.message
    assert remedy in (finding.suggestion or "")
    assert finding.confidence == ("likely" if restricted is None else "certain")


def test_the_drivers_own_word_on_profiling_is_read(tmp_path: Path) -> None:
    params = tmp_path / "params"
    assert admin_only(params) is None
    params.write_text("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n")
    assert admin_only(params) is True
    params.write_text("RmProfilingAdminOnly: 0\n")
    assert admin_only(params) is False
    params.write_text("something else\n")
    assert admin_only(params) is None


async def test_a_hung_kernel_is_a_timeout_that_names_it(card: Card) -> None:
    card.log = card.log_of("hang")
    card.ended = {"timed_out": True, "exit_code": None, "wall_s": 5.0}
    error = await card.refused(ProgramTimedOut, path="hang.cu", timeout_s=5)
    assert "while profiling k(volatile int *)" in error.what
    assert card.ncu_runs()[0].timeout_s == 5


async def test_a_program_that_fails_beside_its_kernels_is_said(card: Card) -> None:
    card.log = card.log_of("gemm") + b"==ERROR== The application returned an error code (3).\n"
    card.reports = ["gemm", "gemm"]
    answer = await card.profiled(path="gemm.cu")
    assert answer.findings[0].rule == "profile/program-failed"
    assert "exit code 3" in answer.findings[0].message


async def test_a_source_without_main_or_with_errors_is_not_profiled(card: Card) -> None:
    error = await card.refused(InvalidRequest, path="solve.cu")
    assert "main" in error.what
    broken = await card.profiled(source="int main() { undeclared(); }")
    assert broken.summary == "Does not build for sm_90: nothing to profile."
    assert broken.findings[0].severity == "error"
    assert card.ncu_runs() == []


async def test_without_a_gpu_the_error_says_what_works(card: Card) -> None:
    here = replace(card.bench, services=replace(card.services, runner=card.inner))
    with pytest.raises(Unavailable, match="no NVIDIA GPU"):
        await profile.run(here, ProfileArgs.model_validate({"path": "gemm.cu"}))


async def test_a_measured_launch_alone_makes_a_profile(card: Card) -> None:
    card.reports = ["spill", "spill"]
    answer = await card.profiled(path="spill.cu")
    [kernel] = answer.kernels
    assert kernel.bottleneck is not None
    assert (kernel.bottleneck.by, kernel.passes) == ("launch", 38)
    assert [one.invocation for one in kernel.profiled] == [1]
