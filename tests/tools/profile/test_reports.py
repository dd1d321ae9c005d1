"""`profile` of an existing report: the planted faults, the length of its answers, and what is no report."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from pydantic import ValidationError

from warpwise.server.errors import InvalidRequest, NotFound
from warpwise.server.profile_files import kept_report
from warpwise.server.profiling import Plan, profile_report, relocated
from warpwise.server.reports.answer import Detail
from warpwise.server.tools.profiler import ProfileArgs

Card: TypeAlias = Any  # the class stands in conftest.py, which cannot be imported
KERNELS = Path(__file__).parents[2] / "kernels"


async def test_a_report_is_read_without_a_gpu_and_names_the_planted_faults(card: Card) -> None:
    gemm = await card.profiled(path="gemm.ncu-rep")
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
    spill = await card.profiled(path="spill.ncu-rep")
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
    card: Card, count_tokens: Callable[[str], int], arguments: dict[str, str], most: int
) -> None:
    answer = await card.profiled(**arguments)
    data = json.dumps(answer.structured(), separators=(",", ":"), ensure_ascii=False)
    assert count_tokens(answer.text()) < most
    assert count_tokens(data) < most


@pytest.mark.parametrize("detail", ["summary", "evidence", "raw"])
async def test_text_and_data_carry_the_same_facts(card: Card, detail: Detail) -> None:
    answer = await card.profiled(path="gemm.ncu-rep")
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
    card: Card, count_tokens: Callable[[str], int]
) -> None:
    answer = await card.profiled(path="gemm.ncu-rep")
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


async def test_a_kernel_filter_profiles_only_that_kernel_and_counts_the_rest(card: Card) -> None:
    answer = await card.profiled(path="gemm.ncu-rep", kernel="gemm_t.*")
    assert [(one.kernel, len(one.profiled)) for one in answer.kernels] == [
        ("gemm_naive", 0),
        ("gemm_tiled", 1),
        ("transpose_conflict", 0),
    ]
    assert answer.checks_skipped[0].check == "counters of 2 more launches"


async def test_wrong_filters_and_ranges_are_refused(card: Card) -> None:
    unknown = await card.refused(NotFound, path="gemm.ncu-rep", kernel="nope")
    assert "gemm_naive, gemm_tiled, transpose_conflict" in unknown.hint
    await card.refused(InvalidRequest, path="gemm.ncu-rep", kernel="(")
    await card.refused(InvalidRequest, path="gemm.ncu-rep", launch_skip=3)


async def test_a_file_that_is_no_report_is_a_wrong_request(card: Card, root: Path) -> None:
    (root / "empty.ncu-rep").write_bytes(b"")
    (root / "text.ncu-rep").write_text("not a report\n" * 100)
    (root / "cut.ncu-rep").write_bytes(card.report("spill")[:-1])
    (root / "folder.ncu-rep").mkdir()
    (root / "outside.ncu-rep").symlink_to("/etc/passwd")
    with (root / "huge.ncu-rep").open("wb") as stream:
        stream.truncate(600 << 20)
    for name in ("empty", "text", "cut", "folder", "outside", "huge"):
        error = await card.refused(InvalidRequest, path=f"{name}.ncu-rep")
        assert name in error.what or "root" in error.what
    await card.refused(NotFound, path="missing.ncu-rep")
    await card.refused(InvalidRequest, path="../gemm.ncu-rep")


@pytest.mark.parametrize(
    "wrong", [{"set": "full"}, {"args": ["1"]}, {"flags": ["-O1"]}, {"defines": {"N": 4}}, {"source": "x"}]
)
async def test_what_cannot_change_a_report_is_refused_with_it(card: Card, wrong: dict[str, Any]) -> None:
    await card.refused(InvalidRequest, path="gemm.ncu-rep", **wrong)


async def test_defaults_said_aloud_are_no_fault(card: Card) -> None:
    said = await card.profiled(path="gemm.ncu-rep", set="standard", args=[], defines={}, flags=[])
    assert said == await card.profiled(path="gemm.ncu-rep")


@pytest.mark.parametrize("wrong", ["a\0b", "\ud800", "x" * 20_000])
def test_arguments_that_no_program_can_get_are_refused(wrong: str) -> None:
    with pytest.raises(ValidationError):
        ProfileArgs.model_validate({"path": "gemm.cu", "args": [wrong]})


async def test_the_raw_answer_has_every_metric_to_page_through(card: Card) -> None:
    answer = await card.profiled(path="spill.ncu-rep", detail="raw")
    [artifact] = answer.artifacts
    _, digest, component = card.services.store.artifact("test", artifact.uri.rpartition("/")[2])
    table = card.bench.blobs.read(digest).decode()
    assert component == "profiler"
    assert "gpu__time_duration.sum\t32736.0\tns" in table
    assert len(table.splitlines()) > 2_000


async def test_lines_are_named_as_the_candidate_names_them_wherever_it_was_built(card: Card) -> None:
    report = await kept_report(card.bench, "gemm.ncu-rep")
    readings = (await profile_report(card.bench, report, Plan())).readings or {}
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


async def test_a_line_of_a_foreign_header_keeps_its_place(card: Card) -> None:
    report = await kept_report(card.bench, "spill.ncu-rep")
    readings = (await profile_report(card.bench, report, Plan())).readings or {}
    assert relocated(readings, ("kernel.cu",), lambda file, number: "wrong") == readings
