"""Designs: which coalitions to run at each checkpoint. Chooses; runs and estimates nothing."""

from functools import lru_cache
from itertools import combinations
from typing import Literal, TypeAlias, get_args

import numpy as np

from ..server.errors import InvalidRequest
from .game import MAX_PLAYERS, Bools, Ints

Kind: TypeAlias = Literal["full", "resolution-5", "resolution-4", "shifted-4", "random"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_MAX_FULL = 16


def design(
    kind: Kind, players: int, checkpoints: int, *, runs: int = 16, seed: int = 0, applies: Bools | None = None
) -> list[Ints]:
    """Return the coalitions to run at each checkpoint, as masks over all players, in running order.

    full: all 2**n. resolution-5: a fraction that keeps main effects and pairs apart. resolution-4: a
    smaller one that keeps main effects apart from pairs, the same everywhere; its fixed aliases bias
    (research/attribution.md, 3.3). shifted-4: the same fraction, players relabelled and the coalitions
    shifted at random at each checkpoint, which turns aliases into noise: the best use of many checkpoints.
    random: `runs` distinct coalitions, one rollout each. `applies` (checkpoints, players) draws over the
    players that apply. Raises InvalidRequest for an unknown kind, no checkpoints, more than 62 players, a
    full table of more than 16, or more runs than coalitions.
    """
    if kind not in KINDS:
        raise InvalidRequest(f"unknown design {kind!r}; the designs are {', '.join(KINDS)}")
    if not 1 <= players <= MAX_PLAYERS or checkpoints < 1:
        raise InvalidRequest(
            f"{players} players at {checkpoints} checkpoints: 1 to {MAX_PLAYERS}, at least 1"
        )
    usable = np.ones((checkpoints, players), dtype=np.bool_) if applies is None else applies
    if usable.shape != (checkpoints, players):
        raise InvalidRequest(f"applies has shape {usable.shape}, not {(checkpoints, players)}")
    rng = np.random.default_rng(seed)
    return [_one(kind, np.flatnonzero(row), runs, rng) for row in usable]


def _one(kind: Kind, here: Ints, runs: int, rng: np.random.Generator) -> Ints:
    n = len(here)
    if n == 0:
        return np.zeros(1, dtype=np.int64)
    if kind == "random":
        masks = _random(n, runs, rng)
    elif kind == "full":
        masks = _everything(n)
    else:
        masks = fraction(n, 5 if kind == "resolution-5" else 4)
    if kind == "shifted-4":
        masks = masks ^ int(rng.integers(1 << n))
        here = rng.permutation(here)
    return _spread(masks, here)


def _spread(masks: Ints, here: Ints) -> Ints:
    """Move bit i of each mask to the place of the i-th player that applies."""
    bits = masks[:, None] >> np.arange(len(here)) & 1
    return np.asarray(bits @ (1 << here.astype(np.int64)), dtype=np.int64)


def _everything(n: int) -> Ints:
    if n > _MAX_FULL:
        raise InvalidRequest(
            f"a full table of {n} players has {1 << n:,} coalitions at each checkpoint",
            hint="Use the design shifted-4 or resolution-5.",
        )
    return np.arange(1 << n, dtype=np.int64)


def _random(n: int, runs: int, rng: np.random.Generator) -> Ints:
    if n < 62 and not 1 <= runs <= 1 << n:
        raise InvalidRequest(f"{runs} runs, but {n} players form {1 << n} coalitions")
    if n <= _MAX_FULL:
        return np.asarray(rng.choice(1 << n, size=runs, replace=False), dtype=np.int64)
    chosen: dict[int, None] = {}
    while len(chosen) < runs:
        chosen[int(rng.integers(1 << n))] = None
    return np.array(list(chosen), dtype=np.int64)


def fraction(players: int, resolution: Literal[4, 5]) -> Ints:
    """Return the smallest regular two-level fraction known here of this resolution, as masks; full where as small.

    Resolution 4 takes generators of odd weight, of which no three add to nothing: 2**(k-1) players in 2**k
    runs. Resolution 5 takes them greedily such that no four do (a lexicode): 128 runs for 11 players, 256
    for 17. Source: Box, Hunter and Hunter 1978. Raises InvalidRequest for less than one player or more than
    62.
    """
    if not 1 <= players <= MAX_PLAYERS:
        raise InvalidRequest(f"{players} players: 1 to {MAX_PLAYERS}")
    factors = _generators(players, resolution)
    rank = max(factor.bit_length() for factor in factors)
    runs = np.arange(1 << rank, dtype=np.int64)
    masks = np.zeros(len(runs), dtype=np.int64)
    for player, factor in enumerate(factors):
        masks |= _parity(runs & factor) << player
    return masks


@lru_cache(maxsize=256)
def _generators(players: int, resolution: int) -> tuple[int, ...]:
    """Each player's column as a sum of basic factors, chosen so that short sums of columns never vanish."""
    if resolution == 4:
        found = [1 << i for i in range(min(players, 3))]
        candidate = 1
        while len(found) < players:
            candidate += 1
            if candidate.bit_count() % 2 == 1 and candidate not in found:
                found.append(candidate)
        return tuple(sorted(found)[:players])
    chosen: list[int] = []
    blocked = {0}
    candidate = 0
    while len(chosen) < players:
        candidate += 1
        if candidate in blocked:
            continue
        chosen.append(candidate)
        blocked.add(candidate)
        blocked.update(candidate ^ other for other in chosen[:-1])
        blocked.update(candidate ^ a ^ b for a, b in combinations(chosen[:-1], 2))
    return tuple(chosen)


def _parity(values: Ints) -> Ints:
    folded = values.copy()
    for shift in (32, 16, 8, 4, 2, 1):
        folded ^= folded >> shift
    return folded & 1
