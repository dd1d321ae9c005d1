"""The tool `profile` on a machine without a GPU: real builds, the real reader, and what ncu left on an H200."""

import gzip
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import zstandard
from pydantic import ValidationError

from warpwise.server.analysis.launch_choice import Place
from warpwise.server.analysis.performance import profiles
from warpwise.server.client import Client
from warpwise.server.command import Command, Environment, File, Finished
from warpwise.server.config import Config
from warpwise.server.errors import InvalidRequest, NotFound, ProgramTimedOut, Unavailable, WarpwiseError
from warpwise.server.profile_files import kept_report
from warpwise.server.profile_findings import admin_only, denied
from warpwise.server.profiling import Plan, profile_report, relocated
from warpwise.server.reports.answer import Detail
from warpwise.server.reports.finding import Location
from warpwise.server.reports.performance import ProfileAnswer
from warpwise.server.runner import Runner
from warpwise.server.services import open_services
from warpwise.server.toolchain import launch_probe, ncu
from warpwise.server.tools.profiler import ProfileArgs, profile
from warpwise.server.workbench import Services, Workbench

KERNELS = Path(__file__).parents[1] / "kernels"
RAW = Path(__file__).parents[1] / "recordings" / "h200_raw"
H200 = Environment({"ncu": "2025.3.1.0", "GPU": "NVIDIA H200", "driver": "580.159.03"})
DENIED = b"==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters\n"


def report_bytes(name: str) -> bytes:
    return zstandard.ZstdDecompressor().decompress((RAW / f"{name}_full.ncu-rep.zst").read_bytes(), 1 << 23)


def log_of(name: str) -> bytes:
    return gzip.decompress((RAW / f"ncu_{name}.txt.gz").read_bytes())


@dataclass
class Bench:
    """A runner: what needs the GPU is answered with files from an H200, all else runs here."""

    inner: Runner
    services: Services
    reports: list[bytes | None] = field(default_factory=list[bytes | None])
    log: bytes = b"==PROF== Connected\n"
    ended: dict[str, Any] = field(default_factory=dict[str, Any])
    table: bytes | None = None
    asked: list[Command] = field(default_factory=list[Command])

    async def run(self, command: Command) -> Finished:
        self.asked.append(command)
        if command.gpu == "none":
            return await self.inner.run(command)
        held = {ncu.LOG_NAME: self.log, launch_probe.TABLE_NAME: self.table}
        if command.program == "ncu":
            held[ncu.REPORT_NAME] = self.reports.pop(0) if self.reports else None
        files = {name: self.kept(content) for name, content in held.items() if content is not None}
        return replace(
            Finished(
                0, None, False, b"", b"", 0, 0, files, 0.41, command.question, H200, "bubblewrap", 1.7e9
            ),
            **self.ended,
        )

    def kept(self, content: bytes) -> File:
        return File(self.services.store.blobs.put(content), len(content))

    def ncu_runs(self) -> list[Command]:
        return [command for command in self.asked if command.program == "ncu" and command.gpu != "none"]


@pytest.fixture(scope="session")
def profile_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One state folder for all, so that each program is built once."""
    return tmp_path_factory.mktemp("profile-state")


@pytest.fixture
async def shelf(profile_state: Path) -> AsyncIterator[Bench]:
    """The runner of a daemon whose root is tests/kernels."""
    async with open_services(Config(profile_state, (KERNELS,))) as services:
        yield Bench(services.runner, services)


@pytest.fixture
def bench(shelf: Bench, root: Path) -> Workbench:
    """The workbench of a client that may name tests/kernels and a folder with the two reports."""
    for name in ("gemm", "spill"):
        (root / f"{name}.ncu-rep").write_bytes(report_bytes(name))
    return Workbench(replace(shelf.services, runner=shelf), Client("test", (KERNELS, root)))


async def profiled(bench: Workbench, **arguments: object) -> ProfileAnswer:
    answer = await profile.run(bench, ProfileArgs.model_validate(arguments))
    assert isinstance(answer, ProfileAnswer)
    return answer


async def refused(bench: Workbench, expected: type[WarpwiseError], **arguments: object) -> WarpwiseError:
    with pytest.raises(expected) as caught:
        await profiled(bench, **arguments)
    assert caught.value.what
    assert caught.value.hint
    return caught.value


async def test_a_report_is_read_without_a_gpu_and_names_the_planted_faults(bench: Workbench) -> None:
    gemm = await profiled(bench, path="gemm.ncu-rep")
    assert gemm.candidate is None
    assert [(one.rule, one.kernel, str(one.location)) for one in gemm.findings] == [
        ("profile/uncoalesced-access", "gemm_naive", "kernels/gemm.cu:12"),
        ("profile/bank-conflict", "transpose_conflict", "kernels/gemm.cu:24"),
        ("profile/shared-bound", "gemm_tiled", "kernels/gemm.cu:18"),
    ]
    assert "32-way" in gemm.findings[1].message
    assert (gemm.timing.launches, gemm.timing.profiled, gemm.device) == (3, 3, "NVIDIA H200")
    assert gemm.provenance is not None
    assert gemm.provenance.how == "recorded"
    spill = await profiled(bench, path="spill.ncu-rep")
    assert {one.rule for one in spill.findings} == {"profile/launch-bound", "profile/register-spill"}


@pytest.mark.parametrize(
    ("arguments", "most"),
    [
        ({"path": "gemm.ncu-rep"}, 2_000),
        ({"path": "gemm.ncu-rep", "kernel": "gemm_naive"}, 1_200),
        ({"path": "gemm.ncu-rep", "kernel": "gemm_tiled"}, 1_200),
        ({"path": "gemm.ncu-rep", "kernel": "transpose_conflict"}, 1_200),
        ({"path": "spill.ncu-rep"}, 1_200),
    ],
)
async def test_the_default_answer_is_short_as_text_and_as_data(
    bench: Workbench, count_tokens: Callable[[str], int], arguments: dict[str, str], most: int
) -> None:
    answer = await profiled(bench, **arguments)
    data = json.dumps(answer.structured(), separators=(",", ":"), ensure_ascii=False)
    assert count_tokens(answer.text()) < most
    assert count_tokens(data) < most


@pytest.mark.parametrize("detail", ["summary", "evidence", "raw"])
async def test_text_and_data_carry_the_same_facts(bench: Workbench, detail: Detail) -> None:
    answer = await profiled(bench, path="gemm.ncu-rep")
    text, data = answer.text(detail), answer.structured(detail)
    for finding in data["findings"]:
        assert finding["message"] in text
        assert finding["rule"] in text
        assert f"{finding['location']['file']}:{finding['location']['line']}" in text
        assert finding["suggestion"] in text
    for kernel in data["kernels"]:
        for number in (kernel["time_us"], kernel["time_pct"], *kernel["used_pct"].values()):
            assert f"{number:,} " in text
        for number in (*kernel["roofline"].values(), *kernel["occupancy_pct"].values()):
            assert f"{number:,} " in text
        assert f"bound by {kernel['bound_by']}" in text
        for reason, share in kernel["stalls_pct"].items():
            assert f"{reason} {share:g} %" in text
        for line in kernel["hot_lines"]:
            assert line["at"] in text
            assert line["sass"] in text
        for rule in kernel["ncu_rules"]:
            assert rule["rule"] in text
            assert rule.get("why", "") in text


async def test_an_answer_of_many_kernels_stays_short_and_counts_what_it_leaves_out(
    bench: Workbench, count_tokens: Callable[[str], int]
) -> None:
    answer = await profiled(bench, path="gemm.ncu-rep")
    name = "a_kernel_with_quite_a_long_name<float, 128, 64, 32, true>"
    kernels = tuple(
        kernel.model_copy(update={"kernel": f"{name}_{number}"})
        for number in range(8)
        for kernel in answer.kernels[:2]
    )
    findings = tuple(one.model_copy(update={"excerpt": "x = y; " * 17}) for one in answer.findings * 16)
    many = answer.model_copy(update={"kernels": kernels, "findings": findings})
    data = many.structured()
    assert count_tokens(many.text()) < 2_000
    assert count_tokens(json.dumps(data, separators=(",", ":"))) < 2_000
    assert (len(data["kernels"]), data["kernels_left_out"], data["findings_left_out"]) == (6, 10, 42)
    assert "left out: 10 kernels" in many.text()


async def test_a_kernel_filter_profiles_only_that_kernel_and_counts_the_rest(bench: Workbench) -> None:
    answer = await profiled(bench, path="gemm.ncu-rep", kernel="gemm_t.*")
    assert [(one.kernel, len(one.profiled)) for one in answer.kernels] == [
        ("gemm_naive", 0),
        ("gemm_tiled", 1),
        ("transpose_conflict", 0),
    ]
    assert answer.checks_skipped[0].check == "counters of 2 more launches"


async def test_wrong_filters_and_ranges_are_refused(bench: Workbench) -> None:
    unknown = await refused(bench, NotFound, path="gemm.ncu-rep", kernel="nope")
    assert "gemm_naive, gemm_tiled, transpose_conflict" in unknown.hint
    await refused(bench, InvalidRequest, path="gemm.ncu-rep", kernel="(")
    await refused(bench, InvalidRequest, path="gemm.ncu-rep", launch_skip=3)


async def test_a_file_that_is_no_report_is_a_wrong_request(bench: Workbench, root: Path) -> None:
    (root / "empty.ncu-rep").write_bytes(b"")
    (root / "text.ncu-rep").write_text("not a report\n" * 100)
    (root / "cut.ncu-rep").write_bytes(report_bytes("spill")[:-1])
    (root / "folder.ncu-rep").mkdir()
    (root / "outside.ncu-rep").symlink_to("/etc/passwd")
    with (root / "huge.ncu-rep").open("wb") as stream:
        stream.truncate(600 << 20)
    for name in ("empty", "text", "cut", "folder", "outside", "huge"):
        error = await refused(bench, InvalidRequest, path=f"{name}.ncu-rep")
        assert name in error.what or "root" in error.what
    await refused(bench, NotFound, path="missing.ncu-rep")
    await refused(bench, InvalidRequest, path="../gemm.ncu-rep")


@pytest.mark.parametrize(
    "wrong", [{"set": "full"}, {"args": ["1"]}, {"flags": ["-O1"]}, {"defines": {"N": 4}}, {"source": "x"}]
)
async def test_what_cannot_change_a_report_is_refused_with_it(
    bench: Workbench, wrong: dict[str, Any]
) -> None:
    await refused(bench, InvalidRequest, path="gemm.ncu-rep", **wrong)


async def test_defaults_said_aloud_are_no_fault(bench: Workbench) -> None:
    said = await profiled(bench, path="gemm.ncu-rep", set="standard", args=[], defines={}, flags=[])
    assert said == await profiled(bench, path="gemm.ncu-rep")


@pytest.mark.parametrize("wrong", ["a\0b", "\ud800", "x" * 20_000])
def test_arguments_that_no_program_can_get_are_refused(wrong: str) -> None:
    with pytest.raises(ValidationError):
        ProfileArgs(path="gemm.cu", args=(wrong,))


async def test_the_raw_answer_has_every_metric_to_page_through(bench: Workbench) -> None:
    answer = await profiled(bench, path="spill.ncu-rep", detail="raw")
    [artifact] = answer.artifacts
    _, digest, component = bench.services.store.artifact("test", artifact.uri.rpartition("/")[2])
    table = bench.blobs.read(digest).decode()
    assert component == "profiler"
    assert "gpu__time_duration.sum\t32736.0\tns" in table
    assert len(table.splitlines()) > 2_000


async def test_a_program_is_built_timed_and_profiled_alone_on_the_gpu(bench: Workbench, shelf: Bench) -> None:
    shelf.reports = [report_bytes("gemm"), report_bytes("gemm")]
    answer = await profiled(bench, path="gemm.cu", args=["7"])
    timing, deep = shelf.ncu_runs()
    assert {command.gpu for command in shelf.ncu_runs()} == {"exclusive"}
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


async def test_a_filtered_program_is_asked_only_for_that_kernel(bench: Workbench, shelf: Bench) -> None:
    shelf.reports = [report_bytes("gemm"), report_bytes("gemm")]
    await profiled(bench, path="gemm.cu", kernel="gemm_tiled", set="quick")
    words = shelf.ncu_runs()[1].arguments
    assert words[words.index("--kernel-id") + 1] == "::regex:^(_Z10gemm_tiledPKfS0_Pfi)$:^(1)$"
    assert "SpeedOfLight" in words


async def test_launches_that_the_second_run_did_not_meet_are_counted(bench: Workbench, shelf: Bench) -> None:
    shelf.reports = [report_bytes("gemm"), report_bytes("spill")]
    answer = await profiled(bench, path="gemm.cu")
    assert answer.timing.profiled == 0
    assert "3 chosen launches" in {one.check for one in answer.checks_skipped}
    assert answer.kernels[0].total.value == pytest.approx(4421.6)
    assert answer.findings == ()


@pytest.mark.parametrize("log", ["badapi", "nokernel"])
async def test_a_program_that_runs_no_kernel_is_never_a_clean_profile(
    bench: Workbench, shelf: Bench, log: str
) -> None:
    shelf.log = log_of(log)
    shelf.ended = {"stdout": b"invalid argument\n"}
    answer = await profiled(bench, path="gemm.cu")
    [finding] = answer.findings
    assert (finding.rule, finding.severity, finding.excerpt) == (
        "profile/nothing-ran",
        "error",
        "invalid argument",
    )
    assert answer.summary.startswith("Not profiled: no kernel ran")
    assert answer.kernels == ()
    assert answer.checks_run == ()
    assert len(shelf.ncu_runs()) == 1


async def test_denied_counters_give_a_timing_only_answer_with_the_remedy(
    bench: Workbench, shelf: Bench
) -> None:
    shelf.log = DENIED
    answer = await profiled(bench, path="gemm.cu")
    assert answer.summary.startswith("Timing only, no counters: the whole program took 0.41 s")
    assert [one.rule for one in answer.findings] == ["profile/counters-denied"]
    assert answer.timing.program is not None
    assert (answer.timing.program.value, answer.timing.program.provenance) == (0.41, "measured")
    assert answer.timing.total.value is None
    assert shelf.asked[-1].program == "./program"
    assert shelf.asked[-1].gpu == "exclusive"
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


async def test_a_hung_kernel_is_a_timeout_that_names_it(bench: Workbench, shelf: Bench) -> None:
    whole = log_of("gemm")
    shelf.log = whole[: whole.index(b"0%....50%")]
    shelf.ended = {"timed_out": True, "exit_code": None, "wall_s": 5.0}
    error = await refused(bench, ProgramTimedOut, path="gemm.cu", timeout_s=5)
    assert "gemm_naive" in error.what
    assert shelf.ncu_runs()[0].timeout_s == 5


async def test_a_program_that_fails_beside_its_kernels_is_said(bench: Workbench, shelf: Bench) -> None:
    shelf.log = log_of("gemm") + b"==ERROR== The application returned an error code (3).\n"
    shelf.reports = [report_bytes("gemm"), report_bytes("gemm")]
    answer = await profiled(bench, path="gemm.cu")
    assert answer.findings[0].rule == "profile/program-failed"
    assert "exit code 3" in answer.findings[0].message


async def test_a_source_without_main_or_with_errors_is_not_profiled(bench: Workbench, shelf: Bench) -> None:
    error = await refused(bench, InvalidRequest, path="solve.cu")
    assert "main" in error.what
    broken = await profiled(bench, source="int main() { undeclared(); }")
    assert broken.summary == "Does not build for sm_90: nothing to profile."
    assert broken.findings[0].severity == "error"
    assert shelf.ncu_runs() == []


async def test_without_a_gpu_the_error_says_what_works(bench: Workbench, shelf: Bench) -> None:
    here = replace(bench, services=replace(bench.services, runner=shelf.inner))
    error = await refused(here, Unavailable, path="gemm.cu")
    assert "no NVIDIA GPU" in error.what


async def test_lines_are_named_as_the_candidate_names_them_wherever_it_was_built(bench: Workbench) -> None:
    report = await kept_report(bench, "gemm.ncu-rep")
    readings = (await profile_report(bench, report, Plan())).readings or {}
    moved = {
        place: reading.model_copy(
            update={
                "lines": tuple(
                    line.model_copy(update={"file": f"/state/work/{'ab' * 16}/{line.file}", "text": None})
                    for line in reading.lines
                )
            }
        )
        for place, reading in readings.items()
    }
    source = (KERNELS / "gemm.cu").read_text().splitlines()
    names = ("gemm.cu", "kernels/gemm.cu", "other/gemm.cu")
    assert relocated(moved, names, lambda file, number: source[number - 1].strip()) == readings


async def test_a_line_of_a_foreign_header_keeps_its_place(bench: Workbench) -> None:
    report = await kept_report(bench, "spill.ncu-rep")
    readings = (await profile_report(bench, report, Plan())).readings or {}
    assert relocated(readings, ("kernel.cu",), lambda file, number: "wrong") == readings


async def test_a_measured_launch_alone_makes_a_profile(bench: Workbench, shelf: Bench) -> None:
    shelf.reports = [report_bytes("spill"), report_bytes("spill")]
    answer = await profiled(bench, path="spill.cu")
    [kernel] = answer.kernels
    assert kernel.bottleneck is not None
    assert (kernel.bottleneck.by, kernel.passes) == ("launch", 38)
    assert [one.invocation for one in kernel.profiled] == [1]
    assert profiles([], {Place("x", 1): None}) == ((), ())  # type: ignore[dict-item]  # nothing timed, nothing told
