"""Interaction indices of full tables beyond Banzhaf: sigma, Möbius, Shapley, and the published variant."""

import numpy as np
from numpy.typing import ArrayLike

from ..server.errors import InvalidRequest
from .banzhaf import Effects, transform
from .game import Floats, as_game, pair_indices, sizes


def banzhaf_interactions(values: ArrayLike) -> Floats:
    """Return the Banzhaf interaction index of every coalition, of every order; shape (..., 2**n).

    Entry T is the mean over S outside T of the T-th difference of v at S; the unit is that of `values`.
    Entry 0 is the mean worth. Source: Grabisch and Roubens 1999. Raises InvalidRequest as `as_game` does.
    """
    return transform(values, "banzhaf")


def mobius(values: ArrayLike) -> Floats:
    """Return the Möbius coefficients (Harsanyi dividends); shape (..., 2**n).

    m(T) = sum over the subsets S of T of (-1)**|T-S| v(S). The unit is that of `values`. Raises
    InvalidRequest as `as_game` does.
    """
    return transform(values, "mobius")


def sigma(values: ArrayLike) -> Floats:
    """Return sigma_ij = v(ij) - v(i) - v(j) + v(0) for each pair of `pair_indices`; shape (..., n(n-1)/2).

    Equation 2 of arXiv 2605.26720; it reads four coalitions only. The unit is that of `values`. Raises
    InvalidRequest as `as_game` does.
    """
    table, n = as_game(values)
    first = [1 << i for i, _ in pair_indices(n)]
    second = [1 << j for _, j in pair_indices(n)]
    both = [a | b for a, b in zip(first, second, strict=True)]
    return table[..., both] - table[..., first] - table[..., second] + table[..., :1]


def shapley(values: ArrayLike) -> Floats:
    """Return the Shapley value of each player, shape (..., n), in the unit of `values` (Shapley 1953).

    Raises InvalidRequest as `as_game` does.
    """
    _, n = as_game(values)
    return shapley_interactions(values, 1)[..., [1 << i for i in range(n)]]


def shapley_interactions(values: ArrayLike, order: int = 2) -> Floats:
    """Return the Shapley interaction index of the coalitions of `order` players; (..., 2**n), else NaN.

    I(T) = sum over S above T of m(S) / (|S| - |T| + 1), the unit that of `values` (Grabisch and Roubens
    1999). Raises InvalidRequest for an order outside 1..n, or as `as_game` does.
    """
    table, n = as_game(values)
    if not 1 <= order <= n:
        raise InvalidRequest(f"order {order} is outside 1..{n}")
    size = sizes(n)
    weight = np.where(size >= order, 1.0 / np.maximum(size - order + 1, 1), 0.0)
    indices = transform(mobius(table) * weight, "superset")
    return np.where(size == order, indices, np.nan)


def reference_effects(values: ArrayLike) -> Effects:
    """Return what the published code computes: Shapley values, and sigma_ij - sigma_ijk / 3 for pairs.

    Neither is what the paper defines; offered to compare with published figures (cudanalyst b28e6b9,
    helper/stat.py, lines 120 to 153). Shapes: (..., 8) gives (..., 3) and (..., 3). Raises InvalidRequest
    unless there are exactly three players, the only number for which that code is defined.
    """
    table, n = as_game(values)
    if n != 3:
        raise InvalidRequest(f"variant 'reference' is defined for exactly 3 players, not {n}")
    triple = mobius(table)[..., 7:]
    return Effects(shapley(table), sigma(table) - triple / 3)
