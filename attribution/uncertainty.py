"""Intervals and tests for effects averaged over checkpoints. Pure mathematics: arrays in, arrays out.

Two estimands, never mixed: *checkpoints like these* (the checkpoints are a sample; clusters are the unit) and
*these checkpoints* (only the rollouts are a sample). NaN marks a checkpoint where an effect does not apply.
"""

from itertools import product
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..server.errors import InvalidRequest
from .game import Bools, Floats, Ints
from .student import t_quantile, two_sided_p

LIKE_THESE = "checkpoints like these"
THESE = "these checkpoints"
MIN_CLUSTERS = 5
_EXACT_FLIPS = 14
_MAX_DENSE_CLUSTERS = 1500


class Intervals(NamedTuple):
    """K estimates with their intervals; each field has shape (K,) and NaN where nothing can be said."""

    value: Floats
    low: Floats
    high: Floats
    se: Floats
    df: Floats
    p: Floats


class ClusterMoments(NamedTuple):
    """Mean, CR2 variance, degrees of freedom and number of clusters of each column, each of shape (K,)."""

    mean: Floats
    variance: Floats
    df: Floats
    clusters: Ints


def student_intervals(value: Floats, se: Floats, df: Floats, level: float = 0.95) -> Intervals:
    """Return value ± t(df) * se and the two-sided p against 0; all of shape (K,), infinite df is normal.

    A standard error of NaN gives NaN bounds; one of 0 gives p = 1 for a value of 0, else p = 0.
    """
    half = np.array([t_quantile(level, float(d)) if d > 0 else np.nan for d in df]) * se
    p = np.full(len(value), np.nan)
    for k in np.flatnonzero(np.isfinite(se) & (df > 0)):
        ratio = abs(value[k]) / se[k] if se[k] > 0 else (inf if value[k] else 0.0)
        p[k] = two_sided_p(float(ratio), float(df[k]))
    return Intervals(value, value - half, value + half, se, df, p)


def cluster_moments(effects: Floats, clusters: ArrayLike) -> ClusterMoments:
    """Return mean and cluster-robust variance of the columns of `effects` (C, K), NaN where not applicable.

    `clusters` (C,) holds integer labels. The variance is CR2, which for equal clusters is that of the t
    interval on cluster means; the degrees of freedom are Bell and McCaffrey's (2002), the smaller of those
    for independent and for identical members, hence G - 1 for equal clusters. Variance and df are NaN below
    2 clusters.
    """
    labels = np.unique(np.asarray(clusters), return_inverse=True)[1]
    applies = np.isfinite(effects)
    groups = int(labels.max()) + 1 if len(labels) else 0
    onehot = np.zeros((groups, len(labels)))
    onehot[labels, np.arange(len(labels))] = 1.0
    count = applies.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(applies, effects, 0.0).sum(axis=0) / np.where(count > 0, count, np.nan)
        centred = np.where(applies, effects - mean, 0.0)
        members = onehot @ applies
        share = members / count
        scores = onehot @ centred
        adjusted = np.where(share < 1, scores**2 / (1 - share), np.nan)
        variance = adjusted.sum(axis=0) / count.astype(float) ** 2
    present = (members > 0).sum(axis=0)
    df = _column_df(members)
    return ClusterMoments(mean, np.where(present > 1, variance, np.nan), df, present.astype(np.int64))


def _column_df(members: Floats) -> Floats:
    known: dict[bytes, float] = {}
    result = np.empty(members.shape[1])
    for k, column in enumerate(members.T):
        key = column.tobytes()
        if key not in known:
            known[key] = cluster_df(column)
        result[k] = known[key]
    return result


def cluster_df(members: ArrayLike) -> float:
    """Return the degrees of freedom of the CR2 variance of a mean over clusters of these sizes.

    The smaller of Bell and McCaffrey's value for independent members and for members that are all alike
    (Imbens and Kolesár 2016); G - 1 when all sizes are equal, NaN below two.
    """
    size = np.asarray(members, dtype=np.float64)
    size = size[size > 0]
    if len(size) < 2:
        return float("nan")
    if np.all(size == size[0]) or len(size) > _MAX_DENSE_CLUSTERS:
        return float(len(size) - 1)
    share = size / size.sum()
    scale = 1.0 / np.sqrt(1.0 - share)
    independent = (np.diag(size) - np.outer(size, share)) * np.outer(scale, scale)
    half = (np.diag(size) - np.outer(size, share)) * scale[:, None]
    alike = half @ half.T
    return float(min(np.trace(m) ** 2 / (m * m).sum() for m in (independent, alike)))


def cluster_t(
    effects: ArrayLike, clusters: ArrayLike, level: float = 0.95, floor: Floats | None = None
) -> Intervals:
    """Return cluster-t intervals of the mean effect over *checkpoints like these*.

    `effects` (C, K), one row a checkpoint, NaN where an effect does not apply; `clusters` (C,) integer
    labels; `floor` (K,) a smallest standard error for rare outcomes. Source: research/attribution.md, 3.1,
    with the CR2 correction for unequal clusters. Fewer than five clusters are the caller's to refuse:
    bounds are NaN below two.
    """
    moments = cluster_moments(np.asarray(effects, dtype=np.float64), clusters)
    se = np.sqrt(moments.variance)
    if floor is not None:
        se = np.maximum(se, floor)
    return student_intervals(moments.mean, se, moments.df, level)


def wilson(rate: ArrayLike, trials: ArrayLike, quantile: ArrayLike) -> tuple[Floats, Floats]:
    """Return Wilson's score bounds of a rate from `trials` (effective) trials; the arguments broadcast.

    Never of zero width and within [0, 1]. Source: Wilson 1927; `quantile` is 1.96 for 95 % or Student's t.
    """
    p, n, t = (np.asarray(x, dtype=np.float64) for x in (rate, trials, quantile))
    centre = (p + t**2 / (2 * n)) / (1 + t**2 / n)
    half = t / (1 + t**2 / n) * np.sqrt(p * (1 - p) / n + t**2 / (4 * n**2))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def wilson_cluster(
    rates: ArrayLike, clusters: ArrayLike, trials: ArrayLike, level: float = 0.95
) -> Intervals:
    """Return Wilson intervals of mean rates over *checkpoints like these*, with a design effect.

    `rates` (C, K) in [0, 1], NaN where there is none; `trials` (K,) the rollouts behind each column. The
    effective number of trials is v(1 - v) / CR2 variance, at most `trials`; where that cap acts the
    binomial variance is used instead of the estimated one, and the quantile has twice the degrees of
    freedom (with the plain ones coverage at 5 checkpoints is 0.995, with these 0.98). Source:
    research/attribution.md, 3.1.
    """
    moments = cluster_moments(np.asarray(rates, dtype=np.float64), clusters)
    n = np.asarray(trials, dtype=np.float64)
    v = np.clip(moments.mean, 0.0, 1.0)
    spread = v * (1 - v)
    with np.errstate(invalid="ignore", divide="ignore"):
        effective = np.where(moments.variance > 0, np.minimum(spread / moments.variance, n), n)
    effective = np.where(np.isfinite(moments.variance), np.maximum(effective, 1.0), np.nan)
    df = np.where(effective >= n, 2 * moments.df, moments.df)
    quantile = np.array([t_quantile(level, float(d)) if d > 0 else np.nan for d in df])
    low, high = wilson(v, effective, quantile)
    return Intervals(moments.mean, low, high, np.sqrt(moments.variance), moments.df, np.full(len(v), np.nan))


def jeffreys_variance(successes: ArrayLike, trials: ArrayLike) -> Floats:
    """Return the variance of the Jeffreys posterior Beta(x + 1/2, m - x + 1/2) of a rate; never 0."""
    a = np.asarray(successes, dtype=np.float64) + 0.5
    b = np.asarray(trials, dtype=np.float64) - np.asarray(successes, dtype=np.float64) + 0.5
    return a * b / ((a + b) ** 2 * (a + b + 1))


def rare_floor(successes: float, trials: float) -> float:
    """Return p(1 - p) of the pooled Jeffreys rate: one rollout's variance, a floor for rare outcomes."""
    rate = (successes + 0.5) / (trials + 1.0)
    return rate * (1.0 - rate)


def bonferroni(intervals: Intervals, family: int, level: float = 0.95) -> Intervals:
    """Widen intervals so that all `family` of them cover together at `level` (Bonferroni-t); p is multiplied.

    Raises InvalidRequest for a family of less than one.
    """
    if family < 1:
        raise InvalidRequest("a family holds at least one effect")
    wide = student_intervals(intervals.value, intervals.se, intervals.df, 1 - (1 - level) / family)
    return wide._replace(p=np.minimum(intervals.p * family, 1.0))


def holm(p: ArrayLike) -> Floats:
    """Return Holm's adjusted p-values (Holm 1979), shape as given; NaN stays NaN and is not counted."""
    raw = np.asarray(p, dtype=np.float64)
    adjusted = np.full(raw.shape, np.nan)
    known = np.flatnonzero(np.isfinite(raw))
    order = known[np.argsort(raw[known], kind="stable")]
    steps = raw[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def permutation_p(effects: ArrayLike, clusters: ArrayLike, flips: int = 10_000, seed: int = 0) -> Floats:
    """Return p of each mean effect under sign flips of whole clusters: exact up to 14 clusters, else sampled.

    `effects` (C, K), NaN where not applicable; gives (K,). If a player never matters, exchanging "with" and
    "without" in a cluster changes nothing, which turns the sign of its effect. Sampled p is (b + 1) /
    (flips + 1).
    """
    table = np.asarray(effects, dtype=np.float64)
    labels = np.unique(np.asarray(clusters), return_inverse=True)[1]
    totals = np.zeros((int(labels.max()) + 1, table.shape[1]))
    np.add.at(totals, labels, np.nan_to_num(table))
    groups = len(totals)
    exact = groups <= _EXACT_FLIPS
    if exact:
        signs = np.array(list(product((1.0, -1.0), repeat=groups)))
    else:
        signs = np.random.default_rng(seed).choice((1.0, -1.0), size=(flips, groups))
    observed = np.abs(totals.sum(axis=0))
    reached: Bools = np.abs(signs @ totals) >= observed * (1 - 1e-12) - 1e-15
    hits = reached.sum(axis=0)
    p = hits / len(signs) if exact else (hits + 1) / (flips + 1)
    return np.asarray(p, dtype=np.float64)


def bootstrap(effects: ArrayLike, clusters: ArrayLike, resamples: int = 10_000, seed: int = 0) -> Floats:
    """Return resampled mean effects (resamples, K), drawing whole clusters of the rows of `effects` (C, K).

    Effects are linear in the table, so resampling them equals resampling tables, at a cost free of 2**n. For
    distributions and plots: percentile intervals under-cover at few clusters (0.82 at 5), so use `cluster_t`.
    """
    table = np.asarray(effects, dtype=np.float64)
    labels = np.unique(np.asarray(clusters), return_inverse=True)[1]
    groups = int(labels.max()) + 1
    totals, counts = np.zeros((groups, table.shape[1])), np.zeros((groups, table.shape[1]))
    np.add.at(totals, labels, np.nan_to_num(table))
    np.add.at(counts, labels, np.isfinite(table).astype(float))
    draws = np.random.default_rng(seed).multinomial(groups, np.full(groups, 1 / groups), size=resamples)
    drawn = draws.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (drawn @ totals) / (drawn @ counts)
