"""The planner: closed forms, what it promises against what is achieved, and when to stop."""

from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpwise.attribution.budget import (
    Effect,
    Variances,
    best_rollouts_per_checkpoint,
    expected_half_width,
    may_stop,
    pilot_variances,
    plan,
    plan_these,
)
from warpwise.attribution.findings import analyse
from warpwise.attribution.gathering import table_from_rows
from warpwise.attribution.quantities import Options, Quantity
from warpwise.attribution.simulation import simulated_rows
from warpwise.attribution.uncertainty import LIKE_THESE, THESE, cluster_t
from warpwise.attribution.values import sample
from warpwise.server.errors import InvalidRequest


@pytest.mark.parametrize(
    ("effect", "half_width", "rollouts"),
    [("phi", 0.05, 1537), ("phi", 0.03, 4269), ("interaction", 0.05, 6147), ("interaction", 0.03, 17074)],
)
def test_rollouts_for_these_checkpoints_are_the_closed_form(
    effect: Effect, half_width: float, rollouts: int
) -> None:
    found = plan_these(half_width, 0.25, checkpoints=1, coalitions=32, effect=effect)
    assert found.estimand == THESE
    assert found.rollouts == 32 * -(-rollouts // 32)
    assert found.half_width <= half_width


@settings(max_examples=50)
@given(
    st.sampled_from(["phi", "interaction", "sigma", "worth"]),
    st.floats(0.02, 0.5),
    st.floats(0.01, 0.25),
    st.floats(0, 0.1),
    st.sampled_from([4, 16, 64]),
    st.integers(1, 5),
)
def test_a_plan_is_the_smallest_that_reaches_the_width(
    effect: Effect, half_width: float, within: float, between: float, coalitions: int, repetitions: int
) -> None:
    variances = Variances(within, between)
    found = plan(
        half_width, variances, coalitions=coalitions, repetitions=repetitions, effect=effect, rollout_cost=2.0
    )
    assert found.half_width <= half_width
    assert found.rollouts == found.checkpoints * coalitions * repetitions
    assert found.cost == 2.0 * found.rollouts
    one_less = found.checkpoints - 1
    assert found.checkpoints == 5 or (
        expected_half_width(variances, effect, one_less, coalitions, repetitions) > half_width
    )


def test_the_promised_width_is_the_mean_of_the_achieved_ones() -> None:
    rng = np.random.default_rng(7)
    effects = 0.2 + sqrt(0.02 + 4 * 0.25 / 16) * rng.standard_normal((3000, 6))
    widths = [cluster_t(row[:, None], np.arange(6)) for row in effects]
    achieved = np.mean([(w.high[0] - w.low[0]) / 2 for w in widths])
    assert expected_half_width(Variances(0.25, 0.02), "phi", 6, 16, 1) == pytest.approx(achieved, rel=0.02)


def test_a_pilot_shows_both_variances() -> None:
    rng = np.random.default_rng(2)
    effect = np.clip(0.4 + 0.15 * rng.standard_normal((400, 1)), -0.45, 0.9)
    rates = np.clip(0.45 + effect * np.array([[-0.5, 0.5]]), 0, 1)
    rows = simulated_rows(np.stack([rates, rates, rates], axis=2), ("a",), 3, 4)
    pilot = analyse(sample(table_from_rows(rows), "pass"), Options())
    found = pilot_variances(pilot)
    assert found.within == pytest.approx(float((rates * (1 - rates)).mean()), abs=0.01)
    assert found.between == pytest.approx(float(effect.var()), abs=0.01)


def test_a_pilot_that_says_nothing_is_refused() -> None:
    rows = list(simulated_rows(np.full((3, 2, 3), 0.5), ("a",), 2, 4))
    small = analyse(sample(table_from_rows(rows), "pass"), Options())
    with pytest.raises(InvalidRequest, match="at least 5 checkpoints, not 3"):
        pilot_variances(small)
    partial = analyse(sample(table_from_rows(rows[2:]), "pass"), Options())
    with pytest.raises(InvalidRequest, match="needs every coalition"):
        pilot_variances(partial)
    enough = analyse(
        sample(table_from_rows(simulated_rows(np.full((6, 2, 3), 0.5), ("a",), 2, 4)), "pass"), Options()
    )
    with pytest.raises(InvalidRequest, match="no phi is called 'b'; there are a"):
        pilot_variances(enough, "phi", "b")
    assert pilot_variances(enough, "phi", "a") == pilot_variances(enough)


def test_the_cheapest_split_weighs_the_price_of_a_checkpoint() -> None:
    assert best_rollouts_per_checkpoint(Variances(0.25, 0.01), 40.0, 1.0) == pytest.approx(sqrt(100 * 40))
    assert best_rollouts_per_checkpoint(Variances(0.25, 0.0), 40.0, 1.0) == inf
    with pytest.raises(InvalidRequest, match="must cost something"):
        best_rollouts_per_checkpoint(Variances(0.25, 0.0), 40.0, 0.0)


@pytest.mark.parametrize(("within", "between"), [(-0.1, 0.1), (0.1, -0.1), (0.0, 0.0), (inf, 0.1)])
def test_variances_that_cannot_be_are_refused(within: float, between: float) -> None:
    with pytest.raises(InvalidRequest, match="variances"):
        Variances(within, between)


def test_widths_that_cannot_be_had_are_refused() -> None:
    for half_width in (0.0, -1.0, float("nan")):
        with pytest.raises(InvalidRequest, match="is not positive"):
            plan(half_width, Variances(0.25, 0.1), coalitions=8)
    with pytest.raises(InvalidRequest, match="over 1,000,000 checkpoints"):
        plan(1e-6, Variances(0.25, 0.1), coalitions=8)
    with pytest.raises(InvalidRequest, match="at least two"):
        expected_half_width(Variances(0.25, 0.1), "phi", 1, 8, 1)
    with pytest.raises(InvalidRequest, match="must be positive"):
        plan_these(0.1, 0.0, checkpoints=1, coalitions=8)


def quantity(low: float | None, high: float | None) -> Quantity:
    return Quantity("a", 0.5, low, high, 10, 10, LIKE_THESE, None)


@pytest.mark.parametrize(
    ("bounds", "checkpoints", "stop"),
    [
        ([(0.45, 0.55), (-0.05, 0.05)], 10, True),
        ([(0.45, 0.55), (-0.05, 0.05)], 9, False),
        ([(0.45, 0.55), (0.3, 0.7)], 50, False),
        ([(0.45, 0.55), (None, None)], 50, False),
        ([], 50, False),
    ],
)
def test_an_experiment_stops_on_width_whatever_the_effects_are(
    bounds: list[tuple[float | None, float | None]], checkpoints: int, stop: bool
) -> None:
    effects = [quantity(low, high) for low, high in bounds]
    assert may_stop(effects, 0.08, checkpoints) is stop
