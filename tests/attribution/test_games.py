"""Exact indices: against their definitions, their axioms, the peers' recorded values and the published figures."""

import json
from itertools import combinations
from math import factorial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from warpwise.attribution.banzhaf import banzhaf_effects, banzhaf_values, transform
from warpwise.attribution.game import (
    Floats,
    coalition_mask,
    coalition_name,
    members,
    pair_indices,
    pair_names,
    sizes,
    tabulate,
)
from warpwise.attribution.interactions import (
    banzhaf_interactions,
    mobius,
    reference_effects,
    shapley,
    shapley_interactions,
    sigma,
)
from warpwise.server.errors import InvalidRequest

PEERS = json.loads((Path(__file__).parent / "data" / "peers.json").read_text())
PLAYERS = tuple(PEERS["game"]["players"])
GAME = np.array(PEERS["game"]["values"])
WORTHS = st.floats(-1, 1, allow_subnormal=False)


@st.composite
def games(draw: st.DrawFn, fewest: int = 1, most: int = 6) -> tuple[int, Floats]:
    n = draw(st.integers(fewest, most))
    return n, draw(arrays(np.float64, 1 << n, elements=WORTHS))


def subsets(mask: int) -> list[int]:
    return [s for s in range(mask + 1) if s & mask == s]


def difference(v: Floats, of: int, at: int) -> float:
    """The `of`-th difference of v at a coalition disjoint from it: the definition, without any transform."""
    return float(sum((-1) ** (of.bit_count() - s.bit_count()) * v[at | s] for s in subsets(of)))


def banzhaf_by_definition(v: Floats, n: int, of: int) -> float:
    rest = subsets((1 << n) - 1 & ~of)
    return sum(difference(v, of, s) for s in rest) / len(rest)


def shapley_by_definition(v: Floats, n: int, of: int) -> float:
    t = of.bit_count()
    rest = subsets((1 << n) - 1 & ~of)
    weights = {
        s: factorial(n - s.bit_count() - t) * factorial(s.bit_count()) / factorial(n - t + 1) for s in rest
    }
    return sum(weight * difference(v, of, s) for s, weight in weights.items())


@pytest.mark.parametrize("n", range(1, 11))
def test_every_order_of_banzhaf_interaction_equals_its_definition(n: int) -> None:
    v = np.random.default_rng(n).uniform(-1, 1, 1 << n)
    chosen = range(1 << n) if n <= 7 else [t for t in range(1 << n) if t.bit_count() <= 2 or t % 37 == 0]
    found = banzhaf_interactions(v)
    assert max(abs(found[t] - banzhaf_by_definition(v, n, t)) for t in chosen) < 1e-12


@pytest.mark.parametrize("n", range(1, 11))
def test_effects_up_to_pairs_equal_their_definition(n: int) -> None:
    v = np.random.default_rng(n).uniform(-1, 1, 1 << n)
    phi = [banzhaf_by_definition(v, n, 1 << i) for i in range(n)]
    pairs = [banzhaf_by_definition(v, n, 1 << i | 1 << j) for i, j in pair_indices(n)]
    found = banzhaf_effects(v)
    np.testing.assert_allclose(found.phi, phi, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.pairs, pairs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", range(11, 18))
def test_the_blocked_reading_of_large_games_equals_the_full_transform(n: int) -> None:
    v = np.random.default_rng(n).uniform(-1, 1, (2, 1 << n))
    indices = transform(v)
    found = banzhaf_effects(v)
    np.testing.assert_allclose(found.phi, indices[:, [1 << i for i in range(n)]], rtol=0, atol=1e-12)
    masks = [1 << i | 1 << j for i, j in pair_indices(n)]
    np.testing.assert_allclose(found.pairs, indices[:, masks], rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", range(1, 8))
def test_shapley_and_its_interactions_equal_their_definition(n: int) -> None:
    v = np.random.default_rng(n).uniform(-1, 1, 1 << n)
    for order in range(1, n + 1):
        found = shapley_interactions(v, order)
        for t in np.flatnonzero(sizes(n) == order):
            assert abs(found[t] - shapley_by_definition(v, n, int(t))) < 1e-12
        assert np.isnan(found[sizes(n) != order]).all()


@given(games())
def test_mobius_coefficients_sum_back_to_the_game(game: tuple[int, Floats]) -> None:
    _, v = game
    np.testing.assert_allclose(transform(mobius(v), "subset"), v, rtol=0, atol=1e-12)


@given(games(fewest=2), st.data())
def test_sigma_is_equation_two(game: tuple[int, Floats], data: st.DataObject) -> None:
    n, v = game
    i, j = data.draw(st.sampled_from(pair_indices(n)))
    found = sigma(v)[pair_indices(n).index((i, j))]
    assert found == pytest.approx(v[1 << i | 1 << j] - v[1 << i] - v[1 << j] + v[0], abs=1e-15)


@given(games(), st.data())
def test_a_dummy_gets_what_it_adds_and_interacts_with_nobody(
    game: tuple[int, Floats], data: st.DataObject
) -> None:
    n, v = game
    added = data.draw(WORTHS)
    with_dummy = np.concatenate([v, v + added])
    found = banzhaf_effects(with_dummy)
    assert found.phi[n] == pytest.approx(added, abs=1e-12)
    np.testing.assert_allclose(found.phi[:n], banzhaf_values(v), rtol=0, atol=1e-12)
    for (_, j), value in zip(pair_indices(n + 1), found.pairs, strict=True):
        assert j != n or abs(value) < 1e-12


@given(games(fewest=2), st.data())
def test_exchanging_two_players_exchanges_their_values(game: tuple[int, Floats], data: st.DataObject) -> None:
    n, v = game
    i, j = data.draw(st.sampled_from(pair_indices(n)))
    swapped = [(m & ~(1 << i | 1 << j)) | ((m >> i & 1) << j) | ((m >> j & 1) << i) for m in range(1 << n)]
    phi, exchanged = banzhaf_values(v), banzhaf_values(v[swapped])
    order = list(range(n))
    order[i], order[j] = j, i
    np.testing.assert_allclose(exchanged, phi[order], rtol=0, atol=1e-12)


@given(games(), st.floats(-2, 2), st.data())
def test_effects_are_linear_in_the_game(game: tuple[int, Floats], scale: float, data: st.DataObject) -> None:
    n, v = game
    w = data.draw(arrays(np.float64, 1 << n, elements=WORTHS))
    for index in (banzhaf_values, shapley, mobius, banzhaf_interactions):
        np.testing.assert_allclose(index(v + scale * w), index(v) + scale * index(w), rtol=0, atol=1e-11)


@given(games())
def test_banzhaf_values_sum_to_the_total_power(game: tuple[int, Floats]) -> None:
    n, v = game
    power = ((2 * sizes(n) - n) * v).sum() / 2 ** (n - 1)
    assert banzhaf_values(v).sum() == pytest.approx(power, abs=1e-12)


@given(games())
def test_shapley_values_share_out_exactly_the_grand_worth(game: tuple[int, Floats]) -> None:
    _, v = game
    assert shapley(v).sum() == pytest.approx(v[-1] - v[0], abs=1e-11)


@settings(max_examples=20)
@given(st.integers(1, 5), st.integers(1, 4))
def test_a_batch_of_games_equals_the_games_one_by_one(n: int, count: int) -> None:
    v = np.random.default_rng(n * count).uniform(-1, 1, (count, 3, 1 << n))
    for index in (banzhaf_values, sigma, shapley, mobius):
        singly = np.array([[index(game) for game in row] for row in v])
        np.testing.assert_allclose(index(v), singly, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("peer", "index", "found"),
    [
        ("shapiq", "BV", banzhaf_interactions(GAME)),
        ("shapiq", "BII", banzhaf_interactions(GAME)),
        ("shapiq", "Moebius", mobius(GAME)),
        ("nshap", "banzhaf_interaction_index", banzhaf_interactions(GAME)),
        ("nshap", "moebius_transform", mobius(GAME)),
    ],
)
def test_indices_agree_with_the_values_recorded_from_peers(peer: str, index: str, found: Floats) -> None:
    recorded: dict[str, float] = PEERS[peer][index]
    ours = {name: float(found[coalition_mask(name.split("+"), PLAYERS)]) for name in recorded}
    assert ours == pytest.approx(recorded, abs=1e-12)


def test_shapley_agrees_with_the_values_recorded_from_shapiq_and_coopgame() -> None:
    singles = dict(zip(PLAYERS, shapley(GAME), strict=True))
    assert singles == pytest.approx(PEERS["shapiq"]["SV"], abs=1e-12)
    assert singles == pytest.approx(PEERS["coopgame"]["shapley"], abs=1e-12)
    assert dict(zip(PLAYERS, banzhaf_values(GAME), strict=True)) == pytest.approx(
        PEERS["coopgame"]["banzhaf"], abs=1e-12
    )
    pairs = shapley_interactions(GAME, 2)
    ours = {name: pairs[coalition_mask(name.split("+"), PLAYERS)] for name in pair_names(PLAYERS)}
    recorded = {name: PEERS["shapiq"]["SII"][name] for name in pair_names(PLAYERS)}
    assert ours == pytest.approx(recorded, abs=1e-12)


# Poster cells of the published study (research/reference.md, 1.9): eq. (2) values, sigma_dap, printed cells.
PUBLISHED = [
    ((-1.6, -0.6, -1.6), 2.6, (-2.47, -1.47, -2.47)),
    ((4 / 3, 1 / 3, 1 / 3), -4 / 3, (1.78, 0.78, 0.78)),
    ((-2 / 3, -2 / 3, 1 / 3), 5 / 3, (-1.22, -1.22, -0.22)),
    ((0.0, -0.5, -1.0), 5 / 6, (-0.28, -0.78, -1.28)),
    ((1 / 3, 1 / 3, 4 / 3), -4 / 3, (0.78, 0.78, 1.78)),
]


@pytest.mark.parametrize(("pairs", "triple", "printed"), PUBLISHED)
def test_the_reference_variant_prints_the_published_cells(
    pairs: tuple[float, ...], triple: float, printed: tuple[float, ...]
) -> None:
    coefficients = np.array([0.4, 0.0, 0.1, pairs[0], -0.2, pairs[1], pairs[2], triple])
    v = transform(coefficients, "subset")
    np.testing.assert_allclose(sigma(v), pairs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(reference_effects(v).pairs, printed, rtol=0, atol=0.006)


def test_the_reference_variant_is_shapley_as_on_the_poster_not_banzhaf() -> None:
    worths = {"d": 0.0, "a": 0.0, "p": 0.0}
    v = tabulate(lambda s: 0.0 if len(s) < 2 else (1 / 3 if len(s) == 3 or "a" in s else 0.0), tuple(worths))
    assert reference_effects(v).phi == pytest.approx([1 / 18, 2 / 9, 1 / 18], abs=1e-12)
    assert banzhaf_values(v) == pytest.approx([1 / 12, 1 / 4, 1 / 12], abs=1e-12)


def test_coalitions_are_named_in_player_order_and_the_empty_one_none() -> None:
    assert [coalition_name(mask, ("a", "b")) for mask in range(4)] == ["none", "a", "b", "a+b"]
    assert coalition_mask(("c", "a"), ("a", "b", "c")) == 5
    assert members(5, ("a", "b", "c")) == ("a", "c")
    assert pair_names(("a", "b", "c")) == ["+".join(pair) for pair in combinations("abc", 2)]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(3), "2**n worths, not 3"),
        (np.zeros(0), "2**n worths, not 0"),
        (np.array(1.0), "2**n worths, not 0"),
        (np.array([0.0, np.nan]), "NaN or infinite"),
        (np.broadcast_to(np.float64(0), 1 << 25), "25 players"),
    ],
)
def test_a_table_that_is_no_game_is_refused(values: Floats, message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        banzhaf_values(values)
    assert message in refused.value.what


def test_the_reference_variant_is_refused_for_other_than_three_players() -> None:
    with pytest.raises(InvalidRequest, match="exactly 3 players, not 2"):
        reference_effects(np.zeros(4))


@pytest.mark.parametrize(("names", "message"), [(["x"], "unknown player 'x'"), (["a", "a"], "named twice")])
def test_a_coalition_of_strangers_or_twins_is_refused(names: list[str], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        coalition_mask(names, ("a", "b"))


def test_an_order_outside_the_game_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="order 3 is outside"):
        shapley_interactions(np.zeros(4), 3)
