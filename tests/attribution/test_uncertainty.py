"""Intervals and tests: against closed forms, recorded quantiles, and what they must never do."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from warpwise.attribution.game import Floats
from warpwise.attribution.student import incomplete_beta, t_quantile, two_sided_p
from warpwise.attribution.uncertainty import (
    Intervals,
    bonferroni,
    bootstrap,
    cluster_df,
    cluster_moments,
    cluster_t,
    holm,
    jeffreys_variance,
    permutation_p,
    rare_floor,
    student_intervals,
    wilson,
    wilson_cluster,
)
from warpwise.server.errors import InvalidRequest

PEERS = json.loads((Path(__file__).parent / "data" / "peers.json").read_text())
EFFECTS = st.integers(3, 12).flatmap(lambda c: arrays(np.float64, (c, 2), elements=st.floats(-1, 1)))


@pytest.mark.parametrize("recorded", PEERS["t_quantiles"])
def test_t_quantiles_are_those_recorded_from_scipy(recorded: dict[str, float]) -> None:
    assert t_quantile(recorded["level"], recorded["df"]) == pytest.approx(recorded["t"], rel=1e-10)


@pytest.mark.parametrize("recorded", PEERS["t_p"])
def test_t_tails_are_those_recorded_from_scipy(recorded: dict[str, float]) -> None:
    assert two_sided_p(recorded["t"], recorded["df"]) == pytest.approx(recorded["p"], rel=1e-10, abs=1e-300)


def test_infinite_degrees_of_freedom_are_the_normal_distribution() -> None:
    assert t_quantile(0.95, np.inf) == pytest.approx(1.959963984540054, rel=1e-12)
    assert two_sided_p(1.959963984540054, np.inf) == pytest.approx(0.05, rel=1e-12)
    assert two_sided_p(np.inf, 3) == 0.0


@given(st.floats(0.1, 50), st.floats(0.1, 50), st.integers(0, 1024))
def test_the_incomplete_beta_function_reflects(a: float, b: float, step: int) -> None:
    x = step / 1024
    assert incomplete_beta(a, b, x) == pytest.approx(1 - incomplete_beta(b, a, 1 - x), abs=1e-10)


def test_the_cluster_interval_of_single_checkpoints_is_the_t_interval() -> None:
    effects = np.array([[0.1], [0.3], [0.2], [0.5], [0.4]])
    found = cluster_t(effects, np.arange(5))
    half = 2.7764451051977987 * np.std(effects, ddof=1) / np.sqrt(5)
    assert [float(x[0]) for x in found[:3]] == pytest.approx([0.3, 0.3 - half, 0.3 + half], abs=1e-12)
    assert (found.se[0], found.df[0]) == pytest.approx((np.std(effects, ddof=1) / np.sqrt(5), 4.0))


@given(EFFECTS, st.integers(2, 4))
def test_equal_clusters_give_the_t_interval_of_the_cluster_means(effects: Floats, size: int) -> None:
    nested = np.repeat(effects, size, axis=0) + np.tile(np.linspace(-1, 1, size), len(effects))[:, None]
    found = cluster_t(nested, np.repeat(np.arange(len(effects)), size))
    of_means = cluster_t(effects, np.arange(len(effects)))
    for ours, expected in zip(found[:3], of_means[:3], strict=True):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.df, of_means.df)


@given(st.lists(st.integers(1, 40), min_size=2, max_size=12))
def test_unequal_clusters_never_have_more_degrees_of_freedom_than_equal_ones(members: list[int]) -> None:
    assert 0 < cluster_df(members) <= len(members) - 1 + 1e-9
    assert cluster_df([members[0]] * len(members)) == len(members) - 1


def test_one_cluster_has_no_variance_and_no_interval() -> None:
    found = cluster_t(np.array([[0.1], [0.2]]), np.zeros(2, dtype=np.int64))
    assert found.value[0] == pytest.approx(0.15)
    assert np.isnan([found.low[0], found.high[0], found.se[0], found.df[0], found.p[0]]).all()


def test_a_checkpoint_where_an_effect_does_not_apply_counts_for_nothing() -> None:
    effects = np.array([[0.1, 0.1], [0.3, 0.3], [0.2, 0.2], [np.nan, 9.0]])
    labels = np.arange(4)
    found = cluster_moments(effects, labels)
    without = cluster_moments(effects[:3], labels[:3])
    assert (found.mean[0], found.variance[0], found.df[0], found.clusters[0]) == pytest.approx(
        (without.mean[0], without.variance[0], 2.0, 3)
    )


def test_the_floor_widens_and_never_narrows() -> None:
    effects = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 0.5], [0.0, 0.2]])
    plain, floored = (cluster_t(effects, np.arange(5), floor=f) for f in (None, np.array([0.1, 0.1])))
    assert floored.se.tolist() == pytest.approx([0.1, plain.se[1]])


@given(st.floats(0, 1), st.integers(1, 500), st.floats(0.5, 5))
def test_wilson_bounds_hold_the_rate_stay_within_zero_and_one_and_never_meet(
    rate: float, trials: int, quantile: float
) -> None:
    low, high = wilson(rate, trials, quantile)
    assert 0 <= low <= rate + 1e-12
    assert rate - 1e-12 <= high <= 1
    assert high - low > 0


def test_wilson_is_the_textbook_interval() -> None:
    low, high = wilson(0.3, 10, 1.959963984540054)
    assert (float(low), float(high)) == pytest.approx((0.10779126740630076, 0.6032218525388543), abs=1e-9)


def test_the_design_effect_widens_a_worth_whose_checkpoints_differ() -> None:
    alike = np.full((10, 1), 0.5)
    apart = np.array([[0.0]] * 5 + [[1.0]] * 5)
    trials = np.array([100])
    narrow = wilson_cluster(alike, np.arange(10), trials)
    wide = wilson_cluster(apart, np.arange(10), trials)
    low, high = wilson(0.5, 9.0, t_quantile(0.95, 9.0))
    assert (wide.low[0], wide.high[0]) == pytest.approx((low, high))
    capped = wilson(0.5, 100.0, t_quantile(0.95, 18.0))
    assert (narrow.low[0], narrow.high[0]) == pytest.approx(capped)


def test_jeffreys_variance_and_floor_have_their_closed_forms() -> None:
    assert jeffreys_variance(0, 2) == pytest.approx(0.5 * 2.5 / (9 * 4))
    assert rare_floor(0, 19) == pytest.approx(0.025 * 0.975)


@given(arrays(np.float64, 5, elements=st.floats(0, 1)))
def test_holm_never_lowers_a_p_value_and_keeps_their_order(p: Floats) -> None:
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()


def test_holm_is_the_textbook_procedure_and_passes_over_the_unknown() -> None:
    adjusted = holm([0.01, np.nan, 0.04, 0.03])
    assert adjusted[[0, 2, 3]].tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert np.isnan(adjusted[1])


def test_bonferroni_takes_the_quantile_of_the_family() -> None:
    one = student_intervals(np.array([0.2]), np.array([0.1]), np.array([9.0]))
    wide = bonferroni(one, 15)
    assert wide.high[0] - 0.2 == pytest.approx(0.1 * t_quantile(1 - 0.05 / 15, 9.0))
    assert wide.p[0] == pytest.approx(min(1.0, 15 * one.p[0]))
    with pytest.raises(InvalidRequest, match="at least one effect"):
        bonferroni(one, 0)


def test_a_p_value_is_zero_or_one_when_nothing_varies() -> None:
    found = student_intervals(np.array([0.0, 0.3]), np.zeros(2), np.array([4.0, 4.0]))
    assert found.p.tolist() == [1.0, 0.0]


def test_the_exact_permutation_test_counts_all_sign_flips() -> None:
    effects = np.array([[0.3], [0.1], [-0.05], [0.2]])
    totals = [
        abs(sum(s * e for s, e in zip(signs, effects[:, 0], strict=True)))
        for signs in product((1, -1), repeat=4)
    ]
    expected = sum(t >= 0.55 - 1e-12 for t in totals) / 16
    assert permutation_p(effects, np.arange(4)).tolist() == [expected]


def test_the_sampled_permutation_test_is_near_the_normal_tail_and_reproducible() -> None:
    effects = np.random.default_rng(5).normal(0.2, 1.0, (60, 1))
    found = permutation_p(effects, np.arange(60), seed=3)
    assert found.tolist() == permutation_p(effects, np.arange(60), seed=3).tolist()
    assert found[0] == pytest.approx(cluster_t(effects, np.arange(60)).p[0], abs=0.02)


def test_the_bootstrap_centres_on_the_mean_with_the_spread_of_the_standard_error() -> None:
    effects = np.random.default_rng(1).normal(0.3, 0.2, (40, 2))
    draws = bootstrap(effects, np.arange(40), 20_000, seed=2)
    assert draws.shape == (20_000, 2)
    np.testing.assert_allclose(draws.mean(axis=0), effects.mean(axis=0), atol=1e-3)
    expected = effects.std(axis=0) / np.sqrt(40)
    np.testing.assert_allclose(draws.std(axis=0), expected, rtol=0.03)


def test_intervals_keep_the_unknown_unknown() -> None:
    found = student_intervals(np.array([0.1]), np.array([np.nan]), np.array([np.nan]))
    assert isinstance(found, Intervals)
    assert np.isnan([found.low[0], found.high[0], found.p[0]]).all()
