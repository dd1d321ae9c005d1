"""Profiles and findings of an H200's real launches: the planted faults, their order, and what a report lacks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpwise.server.analysis import bottleneck
from warpwise.server.analysis.counters import Counters, total
from warpwise.server.analysis.launch_choice import Place, places
from warpwise.server.analysis.performance import profiles, timed_kernels
from warpwise.server.reports.finding import Finding, Location
from warpwise.server.reports.performance import KernelPerformance
from warpwise.server.reports.performance_data import unknown
from warpwise.server.toolchain import ncu_report
from warpwise.server.toolchain.ncu_report import ListedLaunch, Reading

Readings = dict[str, Reading]


def listed(reading: Reading) -> ListedLaunch:
    head = {field: getattr(reading, field) for field in ncu_report.Head.model_fields}
    return ListedLaunch(**head, wanted=True)


def profiled(*launches: Reading) -> tuple[tuple[KernelPerformance, ...], tuple[Finding, ...]]:
    heads = [listed(one) for one in launches]
    return profiles(heads, dict(zip(places(heads), launches, strict=True)))


def test_uncoalesced_access_is_named_at_its_line(readings: Readings) -> None:
    _, [first, *others] = profiled(readings["gemm_naive"])
    assert first.rule == "profile/uncoalesced-access"
    assert (first.severity, first.kernel) == ("warning", "gemm_naive")
    assert first.location == Location(file="kernels/gemm.cu", line=12)
    assert first.evidence["access"] == "load"
    assert (first.evidence["sectors_per_request"], first.evidence["ideal_sectors_per_request"]) == (32.0, 4.0)
    assert first.evidence["gain_pct"] == pytest.approx(83.9, abs=0.1)
    assert first.excerpt is not None
    assert "acc += A[row * n + k]" in first.excerpt
    assert "falls" in (first.confirm or "")
    assert others == []  # neither the stores (0.1 % of the traffic) nor the bound that the loads explain


def test_a_bank_conflict_is_named_at_its_line_with_its_ways(readings: Readings) -> None:
    _, [first, *_] = profiled(readings["transpose_conflict"])

    assert (first.rule, first.location) == (
        "profile/bank-conflict",
        Location(file="kernels/gemm.cu", line=24),
    )
    assert first.evidence["ways"] == 32.0
    assert first.message.startswith("transpose_conflict: 32-way bank conflict on a shared load")


def test_spills_are_named_with_their_lines(readings: Readings) -> None:
    _, found = profiled(readings["spill"])
    [spill] = [one for one in found if one.rule == "profile/register-spill"]
    assert spill.location == Location(file="kernels/spill.cu", line=9)
    assert [place.line for place in spill.related] == [10, 5, 12]
    assert (spill.evidence["spill_instructions"], spill.evidence["local_instructions"]) == (16640, 17440)
    assert sum(spill.evidence["sectors_by_line"].values()) == spill.evidence["local_sectors"] == 86400
    assert [one.rule for one in found] == ["profile/launch-bound", "profile/register-spill"]


@pytest.mark.parametrize(
    ("bytes_spilled", "rule"),
    [(1240, "profile/register-spill"), (0, "profile/local-memory"), (None, "profile/local-memory")],
)
def test_without_ncus_count_of_spills_the_compiler_is_believed(
    readings: Readings, bytes_spilled: int | None, rule: str
) -> None:
    whole = readings["spill"]
    metrics = {name: value for name, value in whole.metrics.items() if "spilling" not in name}
    reading = whole.model_copy(update={"metrics": metrics})
    spilled = {} if bytes_spilled is None else {whole.mangled: bytes_spilled}
    _, found = profiles([listed(reading)], {Place(whole.mangled, 1): reading}, spilled)
    [local] = [one for one in found if one.location and one.location.line == 9]
    assert (local.rule, local.confidence) == (rule, "likely")
    assert "86,400 sectors" in local.message


def test_a_clean_kernel_gets_no_memory_finding(readings: Readings) -> None:
    _, found = profiled(readings["gemm_tiled"])
    assert [(one.rule, one.severity) for one in found] == [("profile/shared-bound", "note")]
    assert found[0].location == Location(file="kernels/gemm.cu", line=18)


def test_every_number_has_its_provenance(readings: Readings) -> None:
    [kernel], _ = profiled(readings["gemm_tiled"])
    assert kernel.total.provenance == kernel.l1_pct.provenance == "measured"
    assert kernel.share.provenance == "derived"
    assert kernel.roofline is not None
    assert kernel.roofline.floor.provenance == "derived"
    assert {line.share.provenance for line in kernel.hot_lines} == {"estimated"}
    assert unknown(kernel) == {}


def test_findings_are_ordered_by_what_they_give_of_the_whole_time(readings: Readings) -> None:
    kernels, found = profiled(
        *(readings[name] for name in ("transpose_conflict", "gemm_tiled", "gemm_naive"))
    )
    assert [one.kernel for one in kernels] == ["gemm_naive", "gemm_tiled", "transpose_conflict"]
    assert [one.share.value for one in kernels] == [
        pytest.approx(share, abs=0.01) for share in (94.57, 5.23, 0.2)
    ]
    assert [(one.kernel, one.severity) for one in found] == [
        ("gemm_naive", "warning"),
        ("transpose_conflict", "warning"),
        ("gemm_tiled", "note"),
    ]


def test_launches_of_one_kernel_are_taken_together(readings: Readings) -> None:
    for one in readings.values():
        single, [double] = Counters(one, 1), [total([one, one])]
        assert double.launches == 2
        for name in one.metrics:
            value, twice = single.get(name), double.get(name)
            if value is not None and not name.startswith(("launch__", "device__", "profiler__", "sm__max")):
                factor = 2 if name.endswith(".sum") or "." not in name else 1
                assert twice == pytest.approx(factor * value), name
        assert [(line.line, line.samples) for line in double.reading.lines] == [
            (line.line, 2 * line.samples) for line in one.lines
        ]
    [kernel], found = profiled(readings["transpose_conflict"], readings["transpose_conflict"])
    assert (kernel.launches, [launch.invocation for launch in kernel.profiled]) == (2, [1, 2])
    assert kernel.l1_pct.provenance == "derived"
    assert found[0].evidence["ways"] == 32.0


def test_a_kernel_that_was_only_timed_says_so(readings: Readings) -> None:
    heads = [listed(readings[name]) for name in ("gemm_naive", "spill")]
    kernels, found = profiles(heads, {Place(heads[0].mangled, 1): readings["gemm_naive"]})
    assert [(one.kernel, len(one.profiled), one.launches) for one in kernels] == [
        ("gemm_naive", 1, 1),
        ("spill", 0, 1),
    ]
    assert kernels[1].l1_pct.reason == "this kernel was not profiled in depth"
    assert {one.kernel for one in found} == {"gemm_naive"}


def test_a_launch_without_time_leaves_no_made_up_share(readings: Readings) -> None:
    untimed = readings["spill"].model_copy(update={"duration_ns": None})
    [one] = timed_kernels([listed(untimed)])
    assert (one.time_ns, one.share) == (None, None)
    [kernel], _ = profiled(untimed)
    assert (kernel.total.value, kernel.share.value) == (None, None)


@given(data=st.data(), kernel=st.sampled_from(["gemm_naive", "gemm_tiled", "transpose_conflict", "spill"]))
def test_whatever_a_report_lacks_is_unavailable_and_never_zero(
    readings: Readings, data: st.DataObject, kernel: str
) -> None:
    whole = readings[kernel]
    kept = data.draw(st.lists(st.sampled_from(sorted(whole.metrics)), max_size=12))
    factor = data.draw(st.sampled_from([0.0, 1.0, -1.0, 1e300]))
    values = {name: whole.metrics[name] for name in kept}
    metrics = {name: value * factor if isinstance(value, float) else value for name, value in values.items()}
    lines = whole.lines if data.draw(st.booleans()) else ()
    rules = whole.rules if data.draw(st.booleans()) else ()
    partial = whole.model_copy(update={"metrics": metrics, "lines": lines, "rules": rules})
    [found], findings = profiled(partial)
    assert unknown(found) or len(kept) > 10
    assert (found.compute_pct.value is None) == (bottleneck.COMPUTE not in kept)
    for finding in findings:
        assert "None" not in finding.message
        assert "nan" not in finding.message
