"""Exact Banzhaf values of full tables, by one blocked tensor transform. Holds no statistics."""

from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .game import Floats, as_game, pair_indices

Kind: TypeAlias = Literal["banzhaf", "mobius", "superset", "subset"]

# Row 0 tells what becomes of a game without the player, row 1 of one with it.
_KERNELS: dict[Kind, list[list[float]]] = {
    "banzhaf": [[0.5, 0.5], [-1.0, 1.0]],
    "mobius": [[1.0, 0.0], [-1.0, 1.0]],
    "superset": [[1.0, 1.0], [0.0, 1.0]],
    "subset": [[1.0, 0.0], [1.0, 1.0]],
}
_RADIX_BITS = 4
_LOW_BITS = 8
_BLOCK_ROWS = 256
_DIRECT_PLAYERS = 10


class Effects(NamedTuple):
    """Values `phi`, shape (..., n), and `pairs`, shape (..., n(n-1)/2) in the order of `pair_indices`."""

    phi: Floats
    pairs: Floats


@lru_cache(maxsize=64)
def _kronecker(kind: Kind, bits: int) -> Floats:
    kernel = np.array(_KERNELS[kind], dtype=np.float64)
    matrix: Floats = np.ones((1, 1))
    for _ in range(bits):
        matrix = np.asarray(np.kron(kernel, matrix), dtype=np.float64)
    return matrix


def transform(values: ArrayLike, kind: Kind = "banzhaf") -> Floats:
    """Apply one 2 x 2 kernel per player to a table: the Kronecker product, four players at a time by BLAS.

    `values` (..., 2**n) gives the same shape. For "banzhaf", entry T is the Banzhaf interaction index of
    the coalition T: the mean worth at 0, phi_i at 1 << i, I_ij at (1 << i) | (1 << j) (Grabisch and Roubens
    1999). For "mobius" it is the Möbius coefficient; "superset" and "subset" sum over the sets above and
    below T. O(n 2**n). Raises InvalidRequest as `as_game` does.
    """
    table, n = as_game(values)
    if n == 0:
        return table.copy()
    result, low = table, 0
    while low < n:
        bits = min(_RADIX_BITS, n - low)
        matrix = _kronecker(kind, bits)
        if low == 0:
            result = result.reshape(-1, 1 << bits) @ matrix.T
        else:
            result = matrix @ result.reshape(-1, 1 << bits, 1 << low)
        low += bits
    return result.reshape(table.shape)


def banzhaf_values(values: ArrayLike) -> Floats:
    """Return phi_i = 2**-(n-1) * sum over S without i of v(S + i) - v(S); shape (..., n).

    The unit is that of `values`. Source: Banzhaf 1965; equation 1 of arXiv 2605.26720. Raises
    InvalidRequest for a table that is not full or has more than 24 players.
    """
    return banzhaf_effects(values).phi


def banzhaf_effects(values: ArrayLike) -> Effects:
    """Return the Banzhaf values and all pair interaction indices of a full table in O(2**n).

    Shapes: (..., 2**n) gives phi (..., n) and pairs (..., n(n-1)/2); the unit is that of `values`. Larger
    games are read once, in blocks that fit the cache. Raises InvalidRequest as `as_game` does.
    """
    table, n = as_game(values)
    if n <= _DIRECT_PLAYERS:
        return _gather(transform(table), n)
    rows = [_order_two(row, n) for row in table.reshape(-1, 1 << n)]
    lead = table.shape[:-1]
    phi = np.stack([row.phi for row in rows]).reshape(*lead, n)
    pairs = np.stack([row.pairs for row in rows]).reshape(*lead, n * (n - 1) // 2)
    return Effects(phi, pairs)


def _gather(indices: Floats, n: int) -> Effects:
    singles = [1 << i for i in range(n)]
    pairs = [1 << i | 1 << j for i, j in pair_indices(n)]
    return Effects(indices[..., singles], indices[..., pairs])


def _order_two(values: Floats, n: int) -> Effects:
    """Split the players into low and high bits: each pair lies in one half or across them."""
    if n <= _DIRECT_PLAYERS:
        return _gather(transform(values), n)
    rows = values.reshape(-1, 1 << _LOW_BITS)
    contrasts = _contrasts(_LOW_BITS)
    projected = np.empty((len(rows), 1 + _LOW_BITS))
    column_sum = np.zeros(1 << _LOW_BITS)
    ones = np.ones(_BLOCK_ROWS)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS]
        np.matmul(block, contrasts, out=projected[start : start + len(block)])
        column_sum += ones[: len(block)] @ block
    low = _gather(transform(column_sum / len(rows)), _LOW_BITS)
    high = _order_two(np.ascontiguousarray(projected[:, 0]), n - _LOW_BITS)
    across = _mains(np.ascontiguousarray(projected[:, 1:]))
    return Effects(np.concatenate([low.phi, high.phi]), _join_pairs(low.pairs, high.pairs, across, n))


def _join_pairs(low: Floats, high: Floats, across: Floats, n: int) -> Floats:
    matrix = np.zeros((n, n))
    matrix[np.triu_indices(_LOW_BITS, 1)] = low
    rows, columns = np.triu_indices(n - _LOW_BITS, 1)
    matrix[rows + _LOW_BITS, columns + _LOW_BITS] = high
    matrix[:_LOW_BITS, _LOW_BITS:] = across.T
    return matrix[np.triu_indices(n, 1)]


@lru_cache(maxsize=4)
def _contrasts(bits: int) -> Floats:
    """Columns: the mean, then each player's mean difference; shape (2**bits, 1 + bits)."""
    masks = np.arange(1 << bits)
    columns = [np.full(1 << bits, 0.5**bits)]
    columns += [np.where(masks >> i & 1, 1.0, -1.0) * 0.5 ** (bits - 1) for i in range(bits)]
    return np.stack(columns, axis=1)


def _mains(rows: Floats) -> Floats:
    """Mean difference of each bit of the row number, halving the table at each step; (2**m, c) to (m, c)."""
    effects: list[Floats] = []
    while len(rows) > 1:
        paired = rows.reshape(-1, 2, rows.shape[1])
        without, with_player = paired[:, 0], paired[:, 1]
        effects.append((with_player - without).mean(axis=0))
        rows = (without + with_player) * 0.5
    return np.stack(effects)
