"""Worths and sigmas: numbers that read single coalitions, looked up at each checkpoint. Fits nothing."""

from typing import NamedTuple

import numpy as np

from .game import Bools, Floats, Ints, pair_indices
from .quantities import Scope
from .student import t_quantile
from .uncertainty import Intervals, cluster_moments, cluster_t, student_intervals, wilson, wilson_cluster
from .values import Sample

ALL_LISTED = 10
MOST_LISTED = 4096


class Reading(NamedTuple):
    """Cells that K numbers read, (units, K, cells per number), -1 where one is missing or does not apply."""

    cells: Ints
    signs: Floats


class Lookup:
    """Finds the cell of a checkpoint and a coalition, after dropping the players that do not apply there."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self._masks = np.unique(sample.mask)
        self._keys = sample.unit * len(self._masks) + np.searchsorted(self._masks, sample.mask)
        bits = 1 << np.arange(len(sample.table.players), dtype=np.int64)
        self.usable: Ints = sample.table.applies.astype(np.int64) @ bits

    def cells(self, masks: Ints) -> Ints:
        """Return the index of each unit's cell for each of the masks, shape (units, masks), -1 where missing."""
        wanted = masks[None, :] & self.usable[:, None]
        place = np.minimum(np.searchsorted(self._masks, wanted), len(self._masks) - 1)
        units = np.arange(len(self.usable))[:, None]
        keys = units * len(self._masks) + place
        cell = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        hit: Bools = np.equal(self._masks[place], wanted) & np.equal(self._keys[cell], keys)
        return np.asarray(np.where(hit, cell, -1), dtype=np.int64)

    def listed(self) -> Ints:
        """Return the coalitions worth listing: all of up to ten players, else those run, at most 4,096."""
        n = len(self.sample.table.players)
        return np.arange(1 << n) if n <= ALL_LISTED else self._masks[:MOST_LISTED]

    def worths(self, masks: Ints) -> Reading:
        """Return what the worths of these coalitions read."""
        return Reading(self.cells(masks)[:, :, None], np.ones(1))

    def sigmas(self) -> Reading:
        """Return the four cells of each sigma_ij, where both players apply."""
        pairs = pair_indices(len(self.sample.table.players))
        first = np.array([1 << i for i, _ in pairs], dtype=np.int64)
        second = np.array([1 << j for _, j in pairs], dtype=np.int64)
        corners = [self.cells(mask) for mask in (first | second, first, second, first * 0)]
        stacked = np.stack(corners, axis=2) if pairs else np.zeros((len(self.usable), 0, 4), dtype=np.int64)
        both: Bools = np.equal(self.usable[:, None] & (first | second), first | second)
        whole = both[:, :, None] & (stacked >= 0).all(axis=2, keepdims=True)
        return Reading(np.where(whole, stacked, -1), np.array([1.0, -1.0, -1.0, 1.0]))


def per_unit(sample: Sample, reading: Reading) -> Floats:
    """Return each number at each checkpoint, (units, K), NaN where its cells are missing."""
    present = (reading.cells >= 0).all(axis=2)
    values = (sample.y[reading.cells] * reading.signs).sum(axis=2)
    return np.where(present, values, np.nan)


def counted(sample: Sample, reading: Reading) -> Ints:
    """Return the rollouts behind each number, (K,)."""
    present = reading.cells >= 0
    return np.asarray(np.where(present, sample.m[reading.cells], 0).sum(axis=(0, 2)), dtype=np.int64)


def fixed_noise(sample: Sample, reading: Reading, variance: Floats) -> tuple[Floats, Floats]:
    """Return variance and Satterthwaite's df of the mean over these checkpoints, (K,) each."""
    present = (reading.cells >= 0).all(axis=2, keepdims=True)
    one = np.where(present, variance[reading.cells], 0.0)
    spread = np.where(present, (variance**2 / np.maximum(sample.m - 1, 1))[reading.cells], 0.0)
    count = np.maximum(present.sum(axis=(0, 2)), 1)
    first, second = one.sum(axis=(0, 2)), spread.sum(axis=(0, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        return first / count**2, first**2 / second


def worth_scope(
    sample: Sample, masks: Ints, reading: Reading, variance: Floats | None, confidence: float, exact_df: bool
) -> Scope:
    """Return both intervals of worths: Wilson's for rates, Student's for means. `variance` None: no fixed one."""
    values = per_unit(sample, reading)
    labels = sample.table.clusters
    n = counted(sample, reading)
    moments = cluster_moments(values, labels)
    sampled = (
        wilson_cluster(values, labels, n, confidence)
        if sample.is_rate
        else cluster_t(values, labels, confidence)
    )
    fixed = Intervals(moments.mean, *(np.full(len(n), np.nan) for _ in range(5)))
    if variance is not None:
        noise, df = fixed_noise(sample, reading, variance)
        df = np.full(len(df), np.inf) if exact_df else df
        fixed = student_intervals(moments.mean, np.sqrt(noise), df, confidence)
        if sample.is_rate:
            fixed = _wilson_fixed(moments.mean, noise, df, n, confidence)
    count = np.isfinite(values).sum(axis=0)
    usable = Lookup(sample).usable
    held: Bools = np.equal(usable[:, None] & masks, masks)
    unknown = [_unknown_worth(bool(held[:, k].any()), int(c)) for k, c in enumerate(count)]
    return Scope(sampled, fixed, moments.clusters, n, count, unknown)


def _unknown_worth(whole: bool, count: int) -> str | None:
    if not whole:
        return "structurally null: its players apply together at no checkpoint"
    return None if count else "this coalition was run at no checkpoint"


def _wilson_fixed(value: Floats, noise: Floats, df: Floats, n: Ints, confidence: float) -> Intervals:
    rate = np.clip(value, 0.0, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        effective = np.where(rate * (1 - rate) > 0, np.minimum(rate * (1 - rate) / noise, n), n)
    # Where the cap acts the variance is the binomial one, which is not estimated.
    sure = np.where(effective >= n, np.inf, df)
    quantile = np.array([t_quantile(confidence, float(d)) if d > 0 else np.nan for d in sure])
    low, high = wilson(rate, np.maximum(effective, 1.0), quantile)
    return Intervals(value, low, high, np.sqrt(noise), df, np.full(len(value), np.nan))
