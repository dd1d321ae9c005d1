"""A speed-up is called only where it is certain, and identical kernels are never told apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpwise.server.evaluation.speedup import Speedup, speedup
from warpwise.server.evaluation.verdict import PRECEDENCE, Verdict, primary, verdict

times = st.lists(st.floats(1.0, 1e5), min_size=5, max_size=60)


def noisy(seed: int, factor: float, spread: float = 0.003, pairs: int = 60) -> Speedup:
    rng = np.random.default_rng(seed)
    first = 100 * np.exp(rng.normal(0, spread, pairs))
    second = 100 * factor * np.exp(rng.normal(0, spread, pairs))
    return speedup(list(first), list(second))


def test_of_200_comparisons_of_a_kernel_with_itself_none_is_called_faster_or_slower() -> None:
    assert {noisy(seed, 1.0).comparison for seed in range(200)} <= {"SAME", "INCONCLUSIVE"}


def test_a_planted_3_percent_slowdown_is_found_every_time() -> None:
    assert [noisy(seed, 1 / 1.03).comparison for seed in range(40)] == ["SLOWER"] * 40


def test_a_real_but_tiny_effect_is_not_called_faster() -> None:
    assert noisy(1, 1.004, spread=0.0005).comparison == "SAME"


def test_a_noisy_measurement_is_inconclusive() -> None:
    assert noisy(1, 1.02, spread=0.3).comparison == "INCONCLUSIVE"


def test_quantised_times_never_give_an_interval_of_no_width() -> None:
    found = speedup([3.84] * 50, [3.84] * 50)
    assert found.low < found.ratio == 1.0 < found.high


@given(times)
@settings(max_examples=50)
def test_swapping_the_programs_inverts_the_ratio(values: list[float]) -> None:
    other = list(reversed(values))
    assert speedup(values, other).ratio == pytest.approx(1 / speedup(other, values).ratio)


@given(times, st.floats(0.1, 10))
@settings(max_examples=50)
def test_the_unit_of_time_does_not_matter_to_the_ratio(values: list[float], unit: float) -> None:
    other = list(reversed(values))
    scaled = speedup([value * unit for value in values], [value * unit for value in other])
    assert scaled.ratio == pytest.approx(speedup(values, other).ratio)


@pytest.mark.parametrize("times_us", [[1.0] * 4, [1.0, 1.0, 1.0, 1.0, 0.0], [1.0, -1.0, 1.0, 1.0, 1.0]])
def test_too_few_or_impossible_times_are_refused(times_us: list[float]) -> None:
    with pytest.raises(ValueError, match="at least 5 pairs of positive times"):
        speedup(times_us, times_us)


def test_the_verdict_is_ordered_and_each_status_has_one() -> None:
    assert Verdict.FAIL < Verdict.COMPILE < Verdict.PASS < Verdict.FAST
    given = {status: verdict(status, "FASTER").name for status in PRECEDENCE}
    assert {status for status, name in given.items() if name == "FAIL"} == {"compile_error", "schedule_error"}
    assert {status for status, name in given.items() if name == "FAST"} == {"correct"}
    assert [
        verdict("correct", comparison).name for comparison in ("SLOWER", "SAME", "INCONCLUSIVE", None)
    ] == ["PASS"] * 4


def test_of_several_statuses_the_one_that_explains_the_most_is_primary() -> None:
    assert primary(["wrong_values", "crashed", "overrun"]) == "crashed"
    assert primary([]) == "correct"
