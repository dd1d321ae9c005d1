"""Which times are not believed, and what is told of the GPU's state around a timing."""

import pytest

from warpwise.server.evaluation.conditions import Conditions, doubts, floor_us
from warpwise.server.evaluation.launched import Sample, TimingResult, WarmCall
from warpwise.server.evaluation.shipped import shipped_workload
from warpwise.server.evaluation.verdict import Verdict, verdict
from warpwise.server.gpu_state import GpuState, gpu_state

H200 = GpuState(1980, 3201, 120.0, 35, (), 0, 0, 4.9e12)
COPY = shipped_workload("transpose")
LARGE = COPY.presets["large"]


def timed(cold_us: float, event_us: float = 10.0, wall_us: float = 30.0) -> TimingResult:
    samples = tuple(Sample("candidate", 0, 0, cold_us) for _ in range(30))
    return TimingResult(samples, {"candidate": (WarmCall(event_us, wall_us),)})


def test_the_floor_is_the_time_that_reading_the_inputs_takes() -> None:
    assert floor_us(COPY, LARGE, 4.9e12) == pytest.approx(4096 * 4096 * 4 / 4.9e12 * 1e6)


@pytest.mark.parametrize(
    ("cold_us", "status"), [(5.0, "below_roofline"), (12.0, "below_roofline"), (13.0, None), (30.0, None)]
)
def test_a_time_below_the_floor_is_doubted(cold_us: float, status: str | None) -> None:
    found = doubts(timed(cold_us), ["candidate"], COPY, LARGE, H200)
    assert (found["candidate"][0] if found else None) == status


def test_without_a_known_bandwidth_no_time_is_below_it() -> None:
    assert doubts(timed(0.1), ["candidate"], COPY, LARGE, GpuState()) == {}


@pytest.mark.parametrize(
    ("wall_us", "doubted"), [(40.0, False), (500.0, False), (600.0, True), (5000.0, True)]
)
def test_a_host_clock_that_tells_another_time_is_doubted(wall_us: float, doubted: bool) -> None:
    found = doubts(timed(30.0, 10.0, wall_us), ["candidate"], COPY, LARGE, H200)
    assert bool(found) is doubted


def test_a_doubted_time_is_never_fast() -> None:
    assert verdict("below_roofline", "FASTER") == Verdict.PASS
    assert verdict("suspect_timing", "FASTER") == Verdict.PASS
    assert verdict("correct", "FASTER") == Verdict.FAST


def test_clocks_held_back_and_other_processes_are_told() -> None:
    after = GpuState(1200, 3201, 690.0, 80, ("power cap",), 2, 0, 4.9e12)
    conditions = Conditions(H200, after)
    assert conditions.told() == {
        "sm_mhz": [1980, 1200],
        "memory_mhz": [3201, 3201],
        "power_w": [120.0, 690.0],
        "temperature_c": [35, 80],
        "held_back": ["power cap"],
        "foreign_processes": 2,
        "peak_gb_s": 4900,
    }
    assert [note.rule for note in conditions.notes()] == ["evaluation/foreign-process", "evaluation/clocks"]
    assert Conditions(GpuState(), GpuState()).told() == {}
    assert Conditions(H200, H200).notes() == []


def test_a_gpu_that_is_not_there_has_no_state() -> None:
    assert gpu_state("GPU-00000000-0000-0000-0000-000000000000") == GpuState()
