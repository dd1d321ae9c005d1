"""Coalitions as bit masks and games as tables of worths. Knows nothing of rollouts, files or intervals."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..server.errors import InvalidRequest

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

MAX_EXACT = 24
MAX_PLAYERS = 62
EMPTY = "none"


def as_game(values: ArrayLike) -> tuple[Floats, int]:
    """Return the worths as float64, and the number of players.

    `values` has shape (..., 2**n): entry S is the worth of the coalition whose bit i says whether player i
    takes part. Leading axes are independent games. Raises InvalidRequest for any other length, n > 24, or
    NaN.
    """
    table = np.asarray(values, dtype=np.float64)
    length = table.shape[-1] if table.ndim else 0
    n = length.bit_length() - 1
    if length < 1 or length != 1 << n:
        raise InvalidRequest(f"a game of n players has 2**n worths, not {length}")
    if n > MAX_EXACT:
        raise InvalidRequest(
            f"{n} players: a full table is limited to {MAX_EXACT}",
            hint="Use a fractional design and regression_banzhaf.",
        )
    if not np.isfinite(table).all():
        raise InvalidRequest(
            "a worth is NaN or infinite",
            hint="Use regression_banzhaf for tables with missing coalitions.",
        )
    return table, n


def sizes(n: int) -> Ints:
    """Return |S| of each of the 2**n coalitions, shape (2**n,)."""
    counts = np.zeros(1, dtype=np.int64)
    for _ in range(n):
        counts = np.concatenate([counts, counts + 1])
    return counts


def tabulate(worth: Callable[[tuple[str, ...]], float], players: Sequence[str]) -> Floats:
    """Return the worths of all coalitions, each given to `worth` as names in player order; (2**n,)."""
    masks = range(1 << len(players))
    return np.array([worth(members(mask, players)) for mask in masks], dtype=np.float64)


def members(mask: int, players: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the players in the coalition, in player order."""
    return tuple(name for i, name in enumerate(players) if mask >> i & 1)


def coalition_name(mask: int, players: Sequence[str]) -> str:
    """Return the names joined by `+` in player order; the empty coalition is `none`."""
    return "+".join(members(mask, players)) or EMPTY


def coalition_mask(names: Iterable[str], players: Sequence[str]) -> int:
    """Return the bit mask of the named players. Raises InvalidRequest for an unknown or repeated name."""
    mask = 0
    for name in names:
        if name not in players:
            raise InvalidRequest(f"unknown player {name!r}; the players are {', '.join(players)}")
        bit = 1 << players.index(name)
        if mask & bit:
            raise InvalidRequest(f"player {name!r} is named twice in one coalition")
        mask |= bit
    return mask


def pair_indices(n: int) -> list[tuple[int, int]]:
    """Return the n(n-1)/2 pairs (i, j), i < j, in the order used for every vector of pairs."""
    return [(i, j) for i in range(n) for j in range(i + 1, n)]


def pair_names(players: Sequence[str]) -> list[str]:
    """Return the names of all pairs, `a+b` in player order, in the order of `pair_indices`."""
    return [f"{players[i]}+{players[j]}" for i, j in pair_indices(len(players))]
