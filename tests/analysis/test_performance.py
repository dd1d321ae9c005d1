"""Profiles made of real reports of an H200, held against what ncu itself says of the same launches."""

import json
import re
import sys
from pathlib import Path

import anyio
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from warpwise.server.analysis import accesses, bottleneck, roofline, rule_ranking
from warpwise.server.analysis.counters import Counters, total
from warpwise.server.analysis.launch_choice import Place, places
from warpwise.server.analysis.performance import METRICS, profiles, timed_kernels
from warpwise.server.process import spawn
from warpwise.server.reports.finding import Finding, Location
from warpwise.server.reports.performance import KernelPerformance
from warpwise.server.reports.performance_data import unknown
from warpwise.server.toolchain import ncu_report
from warpwise.server.toolchain.ncu_report import ListedLaunch, Reading

RAW = Path(__file__).parents[1] / "recordings" / "h200_raw"
WORKER = Path(ncu_report.__file__).with_name("ncu_report_worker.py")
ELEMENTS = 1024
Readings = dict[str, Reading]


async def run_worker(folder: Path, request: bytes) -> None:
    argv = [sys.executable, "-I", str(WORKER)]
    ended = await spawn(argv, cwd=folder, environment={}, stdin=request)
    assert ended.exit_code == 0, ended.stderr


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> Readings:
    """The four real launches by kernel, read by the real reader."""
    found: Readings = {}
    for name in ("gemm", "spill"):
        folder = tmp_path_factory.mktemp(name)
        packed = (RAW / f"{name}_full.ncu-rep.zst").read_bytes()
        (folder / "r.ncu-rep").write_bytes(zstandard.ZstdDecompressor().decompress(packed, 1 << 23))
        request = {"mode": "read", "report": "r.ncu-rep", "launches": None, "metrics": METRICS}

        anyio.run(run_worker, folder, json.dumps(request).encode())
        answer = json.loads((folder / "profile.json").read_bytes())
        adapter = TypeAdapter(tuple[Reading, ...])
        found |= {one.name: one for one in adapter.validate_json(json.dumps(answer["readings"]), strict=True)}
    return found


def counters(readings: Readings, name: str) -> Counters:
    return Counters(readings[name], 1)


def listed(reading: Reading) -> ListedLaunch:
    head = {field: getattr(reading, field) for field in ncu_report.Head.model_fields}
    return ListedLaunch(**head, wanted=True)


def profiled(*launches: Reading) -> tuple[tuple[KernelPerformance, ...], tuple[Finding, ...]]:
    heads = [listed(one) for one in launches]
    return profiles(heads, dict(zip(places(heads), launches, strict=True)))


def said(reading: Reading, rule: str, pattern: str) -> float:
    """A number in the words of one of ncu's own rules."""
    texts = [one.message for one in reading.rules if one.rule == rule]
    found = [match for text in texts if (match := re.search(pattern, text))]
    assert len(found) == 1
    return float(found[0][1])


def test_the_arithmetic_rate_is_the_work_over_the_time(readings: Readings) -> None:
    for name in ("gemm_naive", "gemm_tiled"):
        roof = roofline.roofline(counters(readings, name))
        [ceiling] = roof.ceilings
        assert ceiling.precision == "fp32"
        duration_ns = readings[name].duration_ns
        assert duration_ns is not None
        assert ceiling.gflops.value == pytest.approx(2 * ELEMENTS**3 / duration_ns, rel=0.002)


def test_the_share_of_peak_is_what_ncu_says(readings: Readings) -> None:
    roof = roofline.roofline(counters(readings, "gemm_tiled"))
    words = said(readings["gemm_tiled"], "SOLFPRoofline", r"achieved (\d+)% of this device's FP32")
    assert roof.ceilings[0].peak_pct.value == pytest.approx(words, abs=0.5)
    assert roof.floor_pct.value == roof.ceilings[0].peak_pct.value
    assert roof.floor.value == pytest.approx(244.576 * 0.1314, rel=0.01)


def test_dram_traffic_and_its_peak_are_the_devices(readings: Readings) -> None:
    found = counters(readings, "transpose_conflict")
    roof = roofline.roofline(found)
    assert roof.ceilings == ()
    assert roof.dram.value == pytest.approx(449.2, abs=0.1)
    assert roof.dram_pct.value == pytest.approx(9.33, abs=0.01)
    assert roof.dram_pct.value == pytest.approx(found.get(bottleneck.DRAM), rel=0.001)
    assert roof.dram.value is not None
    assert 100 * roof.dram.value / 9.3317 == pytest.approx(4814, rel=0.01)  # GB/s: an H200's memory


def test_stall_shares_are_what_ncu_says(readings: Readings) -> None:
    for name in ("gemm_naive", "gemm_tiled", "spill"):
        words = said(readings[name], "CPIStall", r"represents about ([\d.]+)%")
        worst = bottleneck.stalls(counters(readings, name))[0]
        assert worst.share.value == pytest.approx(words, abs=0.06)
    assert bottleneck.stalls(counters(readings, "gemm_naive"))[0].reason == "lg_throttle"


def test_stalls_from_samples_agree_with_stalls_from_cycles(readings: Readings) -> None:
    exact = {
        one.reason: one.share.value or 0.0 for one in bottleneck.stalls(counters(readings, "gemm_naive"))
    }
    bare = readings["gemm_naive"].model_copy(update={"metrics": {}})
    sampled = bottleneck.stalls(Counters(bare, 1))
    assert sampled[0].share.provenance == "estimated"
    for one in sampled[:3]:
        assert one.share.value == pytest.approx(exact[one.reason], abs=1.0)


@pytest.mark.parametrize(
    ("kernel", "by", "used"),
    [
        ("gemm_naive", "l1", 95.9),
        ("gemm_tiled", "shared", 86.2),
        ("transpose_conflict", "latency", 49.2),
        ("spill", "launch", 0.76),
    ],
)
def test_each_kernel_is_bound_by_what_it_was_made_to_be(
    readings: Readings, kernel: str, by: str, used: float
) -> None:
    bound = bottleneck.bottleneck(counters(readings, kernel))
    assert bound is not None
    assert bound.by == by
    assert bound.used.value == pytest.approx(used, abs=0.05)


def test_occupancy_names_its_limit_only_where_there_is_one(readings: Readings) -> None:
    spill = bottleneck.occupancy(counters(readings, "spill"))
    assert spill is not None
    assert (spill.theoretical.value, spill.limited_by) == (50.0, ("registers",))
    naive = bottleneck.occupancy(counters(readings, "gemm_naive"))
    assert naive is not None
    assert (naive.theoretical.value, naive.limited_by) == (100.0, ())
    assert naive.achieved.value == pytest.approx(92.864, abs=0.001)


def test_excess_sectors_are_what_ncu_says(readings: Readings) -> None:
    naive = readings["gemm_naive"]
    excess = sum(row.excess for line in naive.lines for row in line.accesses if row.space == "global")
    assert excess == said(naive, "UncoalescedGlobalAccess", r"total of (\d+) excessive sectors")
    share = 100 * excess / accesses.sectors(counters(readings, "gemm_naive"))
    assert share == pytest.approx(said(naive, "UncoalescedGlobalAccess", r"\((\d+)% of the total"), abs=0.5)


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
    ways = said(readings["transpose_conflict"], "SharedMemoryConflicts", r"a ([\d.]+) - way bank conflict")
    assert (first.rule, first.location) == (
        "profile/bank-conflict",
        Location(file="kernels/gemm.cu", line=24),
    )
    assert first.evidence["ways"] == ways == 32.0
    assert first.message.startswith("transpose_conflict: 32-way bank conflict on a shared load")


def test_spills_are_named_with_their_lines(readings: Readings) -> None:
    _, found = profiled(readings["spill"])
    [spill] = [one for one in found if one.rule == "profile/register-spill"]
    assert spill.location == Location(file="kernels/spill.cu", line=9)
    assert [place.line for place in spill.related] == [10, 5, 12]
    assert (spill.evidence["spill_instructions"], spill.evidence["local_instructions"]) == (16640, 17440)
    assert sum(spill.evidence["sectors_by_line"].values()) == spill.evidence["local_sectors"] == 86400
    assert [one.rule for one in found] == ["profile/launch-bound", "profile/register-spill"]


def test_a_clean_kernel_gets_no_memory_finding(readings: Readings) -> None:
    _, found = profiled(readings["gemm_tiled"])
    assert [(one.rule, one.severity) for one in found] == [("profile/shared-bound", "note")]
    assert found[0].location == Location(file="kernels/gemm.cu", line=18)


RANKED_DOWN = [
    ("gemm_naive", "L1TEX Global Store Access Pattern", 83.95, 0.083, "stores are 0.095 % of the L1 traffic"),
    ("gemm_naive", "Tail Effect", 25.0, 3.03, "last wave"),
    ("gemm_naive", "Low Compression Rate", 0.035, None, "compressible"),
    ("gemm_naive", "Low Utilization", 97.7, None, "local estimate"),
    ("gemm_tiled", "Shared Store Bank Conflicts", 10.1, 0.0, "no bank conflict"),
    ("transpose_conflict", "Shared Load Bank Conflicts", 63.8, 43.6, "fill the pipe for 44 % of the time"),
    ("spill", "TheoreticalOccupancy", 50.0, 0.0, "does not fill the SMs"),
    ("spill", "L2 Slices Workload Imbalance", 12.2, 2.82, "L2 is used for 2.8 %"),
]


@pytest.mark.parametrize(("kernel", "title", "own", "bounded", "why"), RANKED_DOWN)
def test_an_estimate_out_of_proportion_is_ranked_down_and_says_why(
    readings: Readings, kernel: str, title: str, own: float, bounded: float | None, why: str
) -> None:
    [rule] = [one for one in rule_ranking.ranked_rules(counters(readings, kernel)) if one.title == title]
    assert rule.estimate.value == pytest.approx(own, rel=0.02)
    assert rule.bounded.value == (None if bounded is None else pytest.approx(bounded, rel=0.02, abs=0.01))
    assert why in (rule.why or "")


def test_what_is_real_is_left_as_it_is_and_comes_first(readings: Readings) -> None:
    first = {name: rule_ranking.ranked_rules(counters(readings, name))[0] for name in readings}
    assert {name: (rule.title, rule.why) for name, rule in first.items() if rule.why is None} == {
        "gemm_naive": ("L1TEX Global Load Access Pattern", None),
        "gemm_tiled": ("Mio Throttle Stalls", None),
        "spill": ("Small Grid", None),
    }
    for name in readings:
        for rule in rule_ranking.ranked_rules(counters(readings, name)):
            assert rule.bounded.value is None or rule.bounded.value <= (rule.estimate.value or 0.0)


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
    assert (found.l1_pct.value is None) == (bottleneck.L1 not in kept)
    for finding in findings:
        assert "None" not in finding.message
        assert "nan" not in finding.message
