"""Effects of a sample and how noisy they are: exact where every checkpoint is full, else by regression."""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from ..server.errors import InvalidRequest
from .banzhaf import Effects, banzhaf_effects
from .game import MAX_EXACT, Bools, Floats, Ints, pair_indices
from .interactions import reference_effects
from .regression import Regression, regression_banzhaf
from .uncertainty import Intervals, cluster_moments, cluster_t
from .values import Sample

Variant: TypeAlias = Literal["banzhaf", "reference"]
_MAX_DENSE = 1 << 25


class Noise:
    """Variance of each effect from rollouts alone, and Satterthwaite's degrees of freedom; both (K,)."""

    def __init__(self, variance: Floats, df: Floats) -> None:
        self.variance = variance
        self.df = df


class Estimator(Protocol):
    """Main effects and pairs as K columns, players first; a column is NaN where it cannot be known."""

    method: str
    value: Floats
    clusters: Ints

    @property
    def per_unit(self) -> Floats | None:
        """The effects of each checkpoint, (units, K), NaN where one does not apply; None for a joint fit."""
        ...

    def sampled(self, level: float, floor: Floats | None) -> Intervals:
        """Return intervals over *checkpoints like these*."""
        ...

    def noise(self, variance: Floats, repetitions: Ints) -> Noise:
        """Return the noise of rollouts, given the variance of each cell's mean, (cells,)."""
        ...


@dataclass(slots=True)
class Averaged:
    """Effects computed exactly at each checkpoint and averaged. `squares` (units,) are the squared weights of a cell.

    `squares` has shape (units, K): every cell of a checkpoint enters phi with weight ±2**-(k-1), I with
    ±2**-(k-2). For the published variant, whose weights differ, `cell_squares` (cells, K) holds them one by
    one.
    """

    method: str
    per_unit: Floats
    labels: Ints
    unit: Ints
    squares: Floats
    cell_squares: Floats | None
    value: Floats
    clusters: Ints

    def sampled(self, level: float, floor: Floats | None) -> Intervals:
        """Return cluster-t intervals."""
        return cluster_t(self.per_unit, self.labels, level, floor)

    def noise(self, variance: Floats, repetitions: Ints) -> Noise:
        """Return the noise of rollouts, independent between cells."""
        applies = np.isfinite(self.per_unit)
        count = np.maximum(applies.sum(axis=0), 1)
        spread = variance**2 / np.maximum(repetitions - 1, 1)
        if self.cell_squares is not None:
            first = (self.cell_squares * variance[:, None]).sum(axis=0)
            second = (self.cell_squares**2 * spread[:, None]).sum(axis=0)
        else:
            units = len(self.per_unit)
            weight = np.where(applies, self.squares, 0.0)
            first = weight.T @ np.bincount(self.unit, variance, minlength=units)
            second = (weight**2).T @ np.bincount(self.unit, spread, minlength=units)
        with np.errstate(invalid="ignore", divide="ignore"):
            return Noise(first / count**2, first**2 / second)


@dataclass(slots=True)
class Fitted:
    """Effects of one regression over all cells."""

    method: str
    fit: Regression
    value: Floats
    clusters: Ints

    @property
    def per_unit(self) -> Floats | None:
        """None: a joint fit has no effects of single checkpoints."""
        return None

    def sampled(self, level: float, floor: Floats | None) -> Intervals:
        """Return CR1 intervals."""
        found = self.fit.intervals(level, None if floor is None else floor[: len(self.fit.coefficients)])
        return Intervals(*(_pad(column, len(self.value)) for column in found))

    def noise(self, variance: Floats, repetitions: Ints) -> Noise:
        """Return the noise of rollouts, independent between cells."""
        squares = self.fit.weights**2
        first = squares @ variance
        with np.errstate(invalid="ignore", divide="ignore"):
            df = first**2 / (squares**2 @ (variance**2 / np.maximum(repetitions - 1, 1)))
        return Noise(_pad(first, len(self.value)), _pad(df, len(self.value)))


def estimator(sample: Sample, *, variant: Variant = "banzhaf", count_zero: bool = False) -> Estimator:
    """Return the effects of a sample: exact if every checkpoint holds all coalitions of its players, else fitted.

    `count_zero` counts an effect as 0 where it does not apply (the estimand "all"); else it is averaged
    over the checkpoints where it applies. Raises InvalidRequest when the published variant meets anything
    but a full table of three players.
    """
    applies = sample.table.applies
    full = _is_full(sample, applies)
    if variant == "reference" and not (full and len(sample.table.players) == 3):
        raise InvalidRequest(
            "variant 'reference' needs all 8 coalitions of exactly 3 players at every checkpoint",
            hint="Leave the variant out: Banzhaf effects are given for any table.",
        )
    if full:
        return _averaged(sample, applies, variant, count_zero)
    return _fitted(sample, applies, count_zero)


def _is_full(sample: Sample, applies: Bools) -> bool:
    players = applies.sum(axis=1)
    if players.max(initial=0) > MAX_EXACT or (2.0**players).sum() > _MAX_DENSE:
        return False
    cells = np.bincount(sample.unit, minlength=len(applies))
    return bool(np.all(cells == 1 << players))


def _averaged(sample: Sample, applies: Bools, variant: Variant, count_zero: bool) -> Averaged:
    n = len(sample.table.players)
    pairs = pair_indices(n)
    columns = n + len(pairs)
    effects = np.full((len(applies), columns), np.nan)
    starts = np.searchsorted(sample.unit, np.arange(len(applies)))
    for pattern in np.unique(applies, axis=0):
        units = np.flatnonzero((applies == pattern).all(axis=1))
        here = np.flatnonzero(pattern)
        cells = starts[units][:, None] + np.arange(1 << len(here))
        found = _effects(sample.y[cells], here, n, variant)
        effects[units[:, None], here] = found.phi
        inner = np.array(
            [n + p for p, (i, j) in enumerate(pairs) if pattern[i] and pattern[j]], dtype=np.int64
        )
        effects[units[:, None], inner] = found.pairs
    if count_zero:
        effects = np.nan_to_num(effects)
    players = applies.sum(axis=1).astype(np.float64)
    power = np.where(np.arange(columns) < n, 1, 2)
    squares = 4.0 ** (power[None, :] - players[:, None])
    cell_squares = _reference_squares(sample) if variant == "reference" else None
    moments = cluster_moments(effects, sample.table.clusters)
    return Averaged(
        "published code: Shapley and shifted sigma" if variant == "reference" else "exact",
        effects,
        sample.table.clusters,
        sample.unit,
        squares,
        cell_squares,
        moments.mean,
        moments.clusters,
    )


def _effects(worths: Floats, here: Ints, n: int, variant: Variant) -> Effects:
    """Effects among the players that apply. Cells lie in the order of masks, which keeps theirs when bits drop out."""
    if variant == "banzhaf":
        return banzhaf_effects(worths)
    masks = np.arange(1 << n)
    compact = sum((masks >> player & 1) << place for place, player in enumerate(here))
    lifted = reference_effects(worths[:, compact])
    inner = [p for p, (i, j) in enumerate(pair_indices(n)) if i in here and j in here]
    return Effects(lifted.phi[:, here], lifted.pairs[:, inner])


def _reference_squares(sample: Sample) -> Floats:
    found = reference_effects(np.eye(8))
    weights = np.concatenate([found.phi, found.pairs], axis=1)
    return np.asarray(weights[sample.mask] ** 2, dtype=np.float64)


def _fitted(sample: Sample, applies: Bools, count_zero: bool) -> Fitted:
    n = len(sample.table.players)
    columns = n + n * (n - 1) // 2
    fit = regression_banzhaf(
        sample.mask, sample.y, n, units=sample.unit, clusters=sample.table.clusters, applies=applies
    )
    if count_zero and not applies.all():
        raise InvalidRequest(
            "estimand 'all' needs every coalition at every checkpoint",
            hint="Leave --estimand out, or complete the table.",
        )
    assumed = "no interactions" if fit.order == 1 else "no interactions above pairs"
    method = f"regression of order {fit.order} on the coalitions that were run, which assumes {assumed}"
    clusters = np.zeros(columns, dtype=np.int64)
    clusters[: len(fit.clusters)] = fit.clusters
    return Fitted(method, fit, _pad(fit.coefficients, columns), clusters)


def _pad(column: Floats, length: int) -> Floats:
    padded = np.full(length, np.nan)
    padded[: len(column)] = column
    return padded
