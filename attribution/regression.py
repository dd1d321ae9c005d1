"""Regression (kernel) Banzhaf: effects of tables in which coalitions are missing. Equal to exact on full ones."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..server.errors import InvalidRequest
from .game import Bools, Floats, Ints, pair_indices
from .uncertainty import Intervals, student_intervals

_MAX_ENTRIES = 40_000_000
_RANK_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Regression:
    """A fit of main effects and, at order 2, pairs: K columns, players first, then the pairs of `pair_indices`.

    `coefficients` (K,) are NaN where the design does not identify them; `variance` (K,) is CR1; `weights`
    (K, cells) give the coefficients as sums over the cells; `clusters` (K,) count the clusters that inform
    each.
    """

    order: int
    coefficients: Floats
    variance: Floats
    clusters: Ints
    weights: Floats
    identified: Bools

    def intervals(self, level: float = 0.95, floor: Floats | None = None) -> Intervals:
        """Return intervals over *checkpoints like these*: CR1, and Student's t with clusters - 1."""
        se = np.sqrt(self.variance)
        if floor is not None:
            se = np.maximum(se, floor)
        df = np.asarray(self.clusters - 1, dtype=np.float64)
        return student_intervals(self.coefficients, se, df, level)


def regression_banzhaf(
    masks: ArrayLike,
    worths: ArrayLike,
    n: int,
    *,
    units: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    applies: Bools | None = None,
    order: int | None = None,
) -> Regression:
    """Fit Banzhaf values and pair interactions to the cells that exist, with a fixed effect for each checkpoint.

    `masks` and `worths` (cells,); `units` (cells,) the checkpoint of each cell, 0-based (default: one);
    `clusters` (units,) its cluster (default: each checkpoint its own); `applies` (units, n). With players
    coded ±1/2 least squares gives phi and I (Hammer and Holzman 1992); each checkpoint weighs the same, so
    on full tables the result is exactly the mean of `banzhaf_effects`. `order` 1 leaves the pairs out; the
    default is 2 where the cells suffice. Raises InvalidRequest for arrays that do not fit each other or a
    fit of over 4e7 entries.
    """
    mask = np.asarray(masks, dtype=np.int64)
    y = np.asarray(worths, dtype=np.float64)
    unit = np.zeros(len(mask), dtype=np.int64) if units is None else np.asarray(units, dtype=np.int64)
    if not len(mask) == len(y) == len(unit) or not len(mask):
        raise InvalidRequest("masks, worths and units must have one entry for each cell")
    count = int(unit.max()) + 1
    labels = np.arange(count) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    usable = np.ones((count, n), dtype=np.bool_) if applies is None else applies
    chosen = order or _order(len(mask), count, n)
    if len(mask) * n * (n + 1) // 2 > _MAX_ENTRIES and chosen > 1:
        raise InvalidRequest("too many cells for pairs", hint="Fit order=1, or take full tables.")
    columns = _design(mask, unit, usable, n, chosen)
    weight = 1.0 / np.bincount(unit, minlength=count)[unit]
    centred = columns - _unit_means(columns, unit, weight, count)
    solver, identified = _solve(centred, weight)
    coefficients = solver @ y
    residual = y - np.bincount(unit, weight * y, minlength=count)[unit] - centred @ coefficients
    scores = np.zeros((int(labels.max()) + 1, columns.shape[1]))
    np.add.at(scores, labels[unit], solver.T * residual[:, None])
    informed = np.zeros_like(scores)
    np.add.at(informed, labels[unit], np.abs(centred))
    groups = (informed > _RANK_TOLERANCE).sum(axis=0)
    variance = _cr1(scores, groups, len(mask), int(identified.sum()))
    unknown = ~identified
    coefficients[unknown] = np.nan
    variance[unknown] = np.nan
    return Regression(chosen, coefficients, variance, groups, solver, identified)


def _order(cells: int, units: int, n: int) -> int:
    pairs = n + n * (n - 1) // 2
    return 2 if cells - units >= pairs and cells * pairs <= _MAX_ENTRIES else 1


def _design(mask: Ints, unit: Ints, applies: Bools, n: int, order: int) -> Floats:
    coded: Floats = np.where(applies[unit], (mask[:, None] >> np.arange(n) & 1) - 0.5, 0.0)
    if order == 1:
        return coded
    products = [coded[:, i] * coded[:, j] for i, j in pair_indices(n)]
    return np.concatenate([coded, np.array(products).T.reshape(len(mask), -1)], axis=1)


def _unit_means(columns: Floats, unit: Ints, weight: Floats, count: int) -> Floats:
    sums = np.zeros((count, columns.shape[1]))
    np.add.at(sums, unit, columns * weight[:, None])
    return np.asarray(sums[unit], dtype=np.float64)


def _solve(centred: Floats, weight: Floats) -> tuple[Floats, Bools]:
    """Return the weighted least-squares solution operator, and which coefficients the design identifies."""
    gram = centred.T @ (centred * weight[:, None])
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    sound = values > _RANK_TOLERANCE * max(float(values[-1]), 1e-300)
    sound &= values > 1e-12
    basis = vectors[:, sound]
    inverse = (basis / values[sound]) @ basis.T / np.outer(scale, scale)
    # A coefficient is identified when its unit vector lies in the span of the sound directions.
    identified = (np.abs((basis**2).sum(axis=1) - 1) < 1e-6) & (np.diag(gram) > 1e-12)
    return np.asarray(inverse @ (centred * weight[:, None]).T, dtype=np.float64), identified


def _cr1(scores: Floats, groups: Ints, cells: int, rank: int) -> Floats:
    if cells <= rank:
        return np.full(len(groups), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        small: Floats = np.where(groups > 1, groups / (groups - 1.0), np.nan)
    squares: Floats = np.sum(scores**2, axis=0)
    factor: Floats = small * ((cells - 1) / (cells - rank))
    return squares * factor
