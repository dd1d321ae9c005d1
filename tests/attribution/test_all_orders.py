"""Every order of interaction, up to ten players, against the definition: a sum over subsets written out."""

from functools import cache
from math import factorial

import numpy as np
import pytest
from numpy.typing import NDArray

from warpwise.attribution.interactions import banzhaf_interactions, shapley_interactions

Values = NDArray[np.float64]


def game(n: int) -> Values:
    return np.random.default_rng(n).normal(size=1 << n)


def difference(values: Values, coalition: int, others: NDArray[np.int64]) -> Values:
    """The discrete derivative of the game with respect to a coalition, at each set of others."""
    inside = [subset for subset in range(len(values)) if subset & coalition == subset]
    size = coalition.bit_count()
    return np.sum(
        [(-1) ** (size - subset.bit_count()) * values[others | subset] for subset in inside], axis=0
    )


def outside(n: int, coalition: int) -> NDArray[np.int64]:
    every = np.arange(1 << n)
    return every[every & coalition == 0]


@pytest.mark.parametrize("n", [1, 4, 7, 8, 9, 10])
def test_banzhaf_interactions_of_every_order_are_the_definition(n: int) -> None:
    values = game(n)
    want = [difference(values, coalition, outside(n, coalition)).mean() for coalition in range(1 << n)]
    assert np.abs(banzhaf_interactions(values) - want).max() < 1e-12


@pytest.mark.parametrize("n", [1, 4, 8, 10])
def test_shapley_interactions_of_every_order_are_the_definition(n: int) -> None:
    values = game(n)
    for coalition in range(1, 1 << n):
        order, others = coalition.bit_count(), outside(n, coalition)
        sizes = [int(one).bit_count() for one in others]
        weights = [factorial(k) * factorial(n - k - order) / factorial(n - order + 1) for k in sizes]
        want = float(np.dot(weights, difference(values, coalition, others)))
        assert abs(indices(n, order)[coalition] - want) < 1e-12


@cache
def indices(n: int, order: int) -> Values:
    return shapley_interactions(game(n), order)
