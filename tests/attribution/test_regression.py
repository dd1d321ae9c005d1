"""Regression Banzhaf: exact on full tables, honest on partial ones. And the designs that make them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpwise.attribution.banzhaf import banzhaf_effects
from warpwise.attribution.game import Floats, Ints, pair_indices
from warpwise.attribution.regression import regression_banzhaf
from warpwise.attribution.sampling import KINDS, Kind, design, fraction
from warpwise.attribution.uncertainty import cluster_t
from warpwise.server.errors import InvalidRequest


def coded(masks: Ints, n: int, pairs: bool) -> Floats:
    """Columns ±1 of a design: the mean, the players and, if asked, their pairs."""
    signs = 2.0 * (masks[:, None] >> np.arange(n) & 1) - 1
    columns = [np.ones(len(masks)), *signs.T]
    if pairs:
        columns += [signs[:, i] * signs[:, j] for i, j in pair_indices(n)]
    return np.array(columns).T


@settings(max_examples=30)
@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_on_full_tables_it_is_the_mean_of_the_exact_effects(n: int, checkpoints: int, seed: int) -> None:
    v = np.random.default_rng(seed).uniform(-1, 1, (checkpoints, 1 << n))
    masks = np.tile(np.arange(1 << n), checkpoints)
    units = np.repeat(np.arange(checkpoints), 1 << n)
    exact = banzhaf_effects(v)
    fit = regression_banzhaf(masks, v.ravel(), n, units=units, order=2)
    expected = np.concatenate([exact.phi.mean(axis=0), exact.pairs.mean(axis=0)])
    assert fit.identified.all()
    np.testing.assert_allclose(fit.coefficients, expected, rtol=0, atol=1e-12)


def test_its_interval_is_the_cluster_t_one_on_full_tables_but_for_the_count_of_columns() -> None:
    v = np.random.default_rng(3).uniform(0, 1, (8, 16))
    fit = regression_banzhaf(
        np.tile(np.arange(16), 8), v.ravel(), 4, units=np.repeat(np.arange(8), 16), order=2
    )
    exact = banzhaf_effects(v)
    expected = cluster_t(np.concatenate([exact.phi, exact.pairs], axis=1), np.arange(8))
    np.testing.assert_allclose(np.sqrt(fit.variance), expected.se * np.sqrt(127 / 118), rtol=1e-12)
    assert fit.clusters.tolist() == [8] * 10


def test_where_a_player_does_not_apply_it_is_averaged_over_the_others() -> None:
    rng = np.random.default_rng(1)
    wide, narrow = rng.uniform(0, 1, (2, 8)), rng.uniform(0, 1, (3, 4))
    masks = np.concatenate([np.tile(np.arange(8), 2), np.tile(np.arange(4), 3)])
    units = np.concatenate([np.repeat([0, 1], 8), np.repeat([2, 3, 4], 4)])
    applies = np.array([[True] * 3] * 2 + [[True, True, False]] * 3)
    worths = np.concatenate([wide.ravel(), narrow.ravel()])
    fit = regression_banzhaf(masks, worths, 3, units=units, applies=applies, order=2)
    with_third, without = banzhaf_effects(wide), banzhaf_effects(narrow)
    phi = [
        np.concatenate([with_third.phi[:, 0], without.phi[:, 0]]).mean(),
        np.concatenate([with_third.phi[:, 1], without.phi[:, 1]]).mean(),
        with_third.phi[:, 2].mean(),
    ]
    np.testing.assert_allclose(fit.coefficients[:3], phi, rtol=0, atol=1e-12)
    assert fit.clusters.tolist() == [5, 5, 2, 5, 2, 2]


def test_a_game_of_mains_and_pairs_is_recovered_from_a_resolution_five_fraction() -> None:
    n = 8
    masks = fraction(n, 5)
    rng = np.random.default_rng(2)
    effects = rng.uniform(-1, 1, n + n * (n - 1) // 2)
    columns = coded(masks, n, pairs=True)
    scale = np.array([0.5] * n + [0.25] * (n * (n - 1) // 2))
    fit = regression_banzhaf(masks, 0.3 + columns[:, 1:] @ (effects * scale), n, order=2)
    np.testing.assert_allclose(fit.coefficients, effects, rtol=0, atol=1e-12)


def test_a_fixed_resolution_four_fraction_gives_mains_and_admits_that_pairs_are_aliased() -> None:
    masks = fraction(8, 4)
    worths = np.random.default_rng(2).uniform(0, 1, len(masks))
    fit = regression_banzhaf(masks, worths, 8, order=2)
    assert fit.identified[:8].all()
    assert not fit.identified[8:].any()
    assert np.isnan(fit.coefficients[8:]).all()
    contrast = [2 * (worths * np.sign((masks >> i & 1) - 0.5)).mean() for i in range(8)]
    np.testing.assert_allclose(fit.coefficients[:8], contrast, rtol=0, atol=1e-12)


def test_a_player_that_never_varies_is_not_identified() -> None:
    fit = regression_banzhaf([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8], 2, units=[0, 0, 1, 1], order=1)
    assert fit.identified.tolist() == [True, False]
    assert fit.coefficients[0] == pytest.approx(0.7)


def test_pairs_are_left_out_where_the_cells_do_not_suffice() -> None:
    masks = design("random", 40, 3, runs=20, seed=1)
    units = np.repeat(np.arange(3), 20)
    fit = regression_banzhaf(np.concatenate(masks), np.linspace(0, 1, 60), 40, units=units)
    assert (fit.order, len(fit.coefficients)) == (1, 40)


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="one entry for each cell"):
        regression_banzhaf([0, 1], [0.5], 1)


@pytest.mark.parametrize("n", range(1, 21))
def test_fractions_have_their_resolution_and_the_sizes_of_the_table(n: int) -> None:
    four, five = fraction(n, 4), fraction(n, 5)
    sizes = {4: [2, 4, 8, 8] + [16] * 4 + [32] * 8 + [64] * 4, 5: [2, 4, 8, 16, 16, 32, 64, 64]}
    assert len(four) == sizes[4][n - 1]
    assert len(five) == (sizes[5] + [128] * 3 + [256] * 6 + [512] * 3)[n - 1]
    mains, pairs = coded(four, n, pairs=False), coded(four, n, pairs=True)[:, 1 + n :]
    np.testing.assert_array_equal(mains.T @ mains, len(four) * np.eye(1 + n))
    assert not (mains[:, 1:].T @ pairs).any()
    everything = coded(five, n, pairs=True)
    np.testing.assert_array_equal(everything.T @ everything, len(five) * np.eye(everything.shape[1]))


@pytest.mark.parametrize("kind", KINDS)
def test_designs_are_drawn_over_the_players_that_apply_and_are_reproducible(kind: Kind) -> None:
    applies = np.array([[True] * 6, [True, False, True, True, False, True]])
    drawn = design(kind, 6, 2, runs=5, seed=4, applies=applies)
    again = design(kind, 6, 2, runs=5, seed=4, applies=applies)
    assert [masks.tolist() for masks in drawn] == [masks.tolist() for masks in again]
    assert all(len(set(masks.tolist())) == len(masks) for masks in drawn)
    assert np.bitwise_or.reduce(drawn[1]) & 0b010010 == 0
    assert drawn[1].max() < 64


def test_shifted_fractions_average_out_what_fixed_ones_alias() -> None:
    n, checkpoints = 8, 1500
    signs = 2.0 * (np.arange(256)[:, None] >> np.arange(n) & 1) - 1
    game = 0.5 + 0.1 * signs[:, 0] + 0.15 * signs[:, 0] * signs[:, 1] * signs[:, 2]
    game += 0.1 * signs[:, 3] * signs[:, 4] * signs[:, 5]
    truth = banzhaf_effects(game).phi
    bias: dict[Kind, float] = {}
    for kind in ("shifted-4", "resolution-4"):
        found = [
            [2 * (game[masks] * signs[masks, i]).mean() for i in range(n)]
            for masks in design(kind, n, checkpoints, seed=5)
        ]
        bias[kind] = float(np.abs(np.mean(found, axis=0) - truth).max())
    assert bias["shifted-4"] < 0.03
    assert bias["resolution-4"] > 0.1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("full", 17, 1), "131,072 coalitions"),
        (("random", 3, 1), "16 runs, but 3 players form 8"),
        (("full", 63, 1), "63 players"),
        (("full", 3, 0), "0 checkpoints"),
    ],
)
def test_designs_that_cannot_be_are_refused(arguments: tuple[Kind, int, int], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        design(*arguments)
