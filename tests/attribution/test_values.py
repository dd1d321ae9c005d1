"""Worths of cells: levels, pass@k, speed-up, cost, and the noise of each."""

from itertools import combinations
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpwise.attribution.gathering import table_from_rows
from warpwise.attribution.table import RolloutTable
from warpwise.attribution.values import Level, sample
from warpwise.server.errors import InvalidRequest


def cell(
    *verdicts: str, speedups: tuple[float | None, ...] = (), costs: tuple[float | None, ...] = ()
) -> RolloutTable:
    """One checkpoint, one coalition, these rollouts."""
    rows: list[dict[str, object]] = [
        {
            "checkpoint": "k-1",
            "coalition": "a",
            "repetition": r,
            "verdict": verdict,
            "speedup": speedups[r] if speedups else None,
            "cost": costs[r] if costs else None,
        }
        for r, verdict in enumerate(verdicts)
    ]
    return table_from_rows(rows)


@pytest.mark.parametrize(
    ("level", "exclusive", "rate"),
    [
        ("compile", False, 0.75),
        ("pass", False, 0.5),
        ("fast", False, 0.25),
        ("compile", True, 0.25),
        ("pass", True, 0.25),
        ("fast", True, 0.25),
    ],
)
def test_levels_are_cumulative_unless_asked_to_be_exclusive(
    level: Level, exclusive: bool, rate: float
) -> None:
    table = cell("FAIL", "COMPILE", "PASS", "FAST")
    assert sample(table, level, exclusive=exclusive).y.tolist() == [rate]


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_pass_at_k_is_the_share_of_draws_of_k_that_hold_a_success(
    passed: list[bool], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(passed)))
    table = cell(*("PASS" if p else "FAIL" for p in passed))
    draws = [any(draw) for draw in combinations(passed, k)]
    assert sample(table, "pass", k=k).y[0] == pytest.approx(sum(draws) / len(draws))


def test_pass_at_k_beyond_the_repetitions_names_the_cell() -> None:
    with pytest.raises(InvalidRequest, match=r"pass@3 needs 3 rollouts.* checkpoint k-1, coalition a has 2"):
        sample(cell("PASS", "FAIL"), "pass", k=3)


def test_a_cell_that_varies_has_the_unbiased_variance_and_one_that_does_not_jeffreys() -> None:
    assert sample(cell("PASS", "FAIL", "PASS", "FAIL"), "pass").variance.tolist() == [0.25 / 3]
    assert sample(cell("PASS", "PASS"), "pass").variance.tolist() == pytest.approx([2.5 * 0.5 / (9 * 4)])
    assert np.isnan(sample(cell("PASS"), "pass").variance).tolist() == [True]
    assert sample(cell("PASS"), "pass", assumed_variance=0.25).variance.tolist() == [0.25]


@given(st.integers(0, 5))
def test_pass_at_k_never_has_zero_variance(successes: int) -> None:
    table = cell(*(["PASS"] * successes + ["FAIL"] * (5 - successes)))
    assert sample(table, "pass", k=2).variance[0] > 0


def test_log_speedup_is_zero_for_what_does_not_pass_and_unknown_ones_are_left_out() -> None:
    table = cell("FAIL", "FAST", "PASS", "PASS", speedups=(9.0, 2.0, 0.5, None))
    found = sample(table, "log_speedup")
    assert found.y.tolist() == pytest.approx([(0 + log(2) + log(0.5)) / 3], abs=1e-15)
    assert (found.m.tolist(), found.missing) == ([3], 1)
    assert found.variance.tolist() == pytest.approx([np.var([0, log(2), log(0.5)], ddof=1) / 3])


def test_cost_is_the_mean_of_the_known_costs() -> None:
    found = sample(cell("FAIL", "PASS", "PASS", costs=(1.0, 3.0, None)), "cost")
    assert (found.y.tolist(), found.m.tolist(), found.missing) == ([2.0], [2], 1)
    assert found.variance.tolist() == [1.0]


def test_a_mean_that_agrees_by_chance_takes_the_pooled_variance() -> None:
    rows: list[dict[str, object]] = [
        {"checkpoint": "k", "coalition": name, "repetition": r, "verdict": "PASS", "cost": cost}
        for name, costs in (("a", (1.0, 3.0)), ("", (2.0, 2.0)))
        for r, cost in enumerate(costs)
    ]
    assert sample(table_from_rows(rows), "cost").variance.tolist() == [0.5, 1.0]


@pytest.mark.parametrize("variance", [0.0, -1.0, float("nan"), float("inf")])
def test_a_stated_variance_must_be_a_positive_number(variance: float) -> None:
    with pytest.raises(InvalidRequest, match="is not positive and finite"):
        sample(cell("PASS"), "pass", assumed_variance=variance)


def test_pass_at_less_than_one_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="pass@0"):
        sample(cell("PASS"), "pass", k=0)
