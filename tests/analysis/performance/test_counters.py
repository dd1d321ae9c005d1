"""What is made of an H200's counters, held against what ncu itself says of the same launches."""

import re

import pytest

from warpwise.server.analysis import accesses, bottleneck, roofline, rule_ranking
from warpwise.server.analysis.counters import Counters
from warpwise.server.toolchain.ncu_report import Reading

ELEMENTS = 1024
Readings = dict[str, Reading]


def counters(readings: Readings, name: str) -> Counters:
    return Counters(readings[name], 1)


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


def test_the_ways_of_a_bank_conflict_are_what_ncu_says(readings: Readings) -> None:
    transpose = readings["transpose_conflict"]
    [worst, *others] = accesses.line_accesses(counters(readings, "transpose_conflict"))
    assert (worst.line, worst.space, worst.per_request.value) == (24, "shared", 32.0)
    assert worst.per_request.value == said(
        transpose, "SharedMemoryConflicts", r"a ([\d.]+) - way bank conflict"
    )
    assert all(not row.excess_pct.value for row in others)


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


def test_the_busiest_part_of_l1_stands_for_it_where_ncu_did_not_say(readings: Readings) -> None:
    for name, reading in readings.items():
        own = bottleneck.l1(counters(readings, name))
        metrics = {key: value for key, value in reading.metrics.items() if key != bottleneck.L1}
        parts = bottleneck.l1(Counters(reading.model_copy(update={"metrics": metrics}), 1))
        assert (own.provenance, parts.provenance) == ("measured", "derived")
        assert parts.value == pytest.approx(own.value, rel=0.02)


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
