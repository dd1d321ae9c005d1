"""From counts to worths: one mean per cell for a chosen measure, with the variance of its rollouts."""

from dataclasses import dataclass
from math import comb
from typing import Literal, TypeAlias

import numpy as np

from ..server.errors import InvalidRequest
from .game import Bools, Floats, Ints, coalition_name
from .rows import Outcome
from .table import RolloutTable
from .uncertainty import jeffreys_variance

Level: TypeAlias = Literal["compile", "pass", "fast"]
Measure: TypeAlias = Literal["compile", "pass", "fast", "log_speedup", "cost"]

LEVELS: tuple[Level, ...] = ("compile", "pass", "fast")
UNITS: dict[Measure, str] = {
    "compile": "rate",
    "pass": "rate",
    "fast": "rate",
    "log_speedup": "natural log of the speed-up",
    "cost": "cost of one rollout",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One measure of a table: per cell the mean `y`, the `variance` of that mean, and `m` rollouts.

    `variance` is NaN where one rollout says nothing of it. `successes` counts what a rate is made of (NaN for
    means, whose values have no bounds). Cells without a usable rollout are left out.
    """

    table: RolloutTable
    measure: Measure
    unit: Ints
    mask: Ints
    y: Floats
    variance: Floats
    m: Ints
    successes: Floats
    missing: int = 0

    @property
    def is_rate(self) -> bool:
        """Whether worths lie in [0, 1]."""
        return self.measure in LEVELS

    @property
    def repeated(self) -> Bools:
        """Whether each cell has two rollouts or more, (cells,)."""
        return self.m > 1


def sample(
    table: RolloutTable,
    measure: Measure,
    *,
    exclusive: bool = False,
    k: int = 1,
    assumed_variance: float | None = None,
) -> Sample:
    """Return the worth of every cell for one measure.

    A level is the rate of rollouts at or above it (`exclusive`: exactly at it); with `k` > 1 the unbiased
    pass@k, 1 - C(m - x, k) / C(m, k) (Chen et al. 2021). "log_speedup" is the mean of log(speed-up), 0 for
    a rollout that does not pass (the baseline stays); passes whose speed-up is unknown are left out. "cost"
    is the mean of the known costs. Infra errors are left out everywhere. `assumed_variance` is the stated
    variance of one rollout, used for every cell. Raises InvalidRequest when k exceeds the rollouts of a
    cell or the variance is not positive.
    """
    if assumed_variance is not None and not 0 < assumed_variance < np.inf:
        raise InvalidRequest(f"assumed variance {assumed_variance:g} is not positive and finite")
    if k < 1:
        raise InvalidRequest(f"pass@{k}: k is at least 1")
    if measure == "cost":
        found = _means(table, measure, table.cost, table.cost[:, 0])
    elif measure == "log_speedup":
        passed = table.outcomes[:, Outcome.PASS :].sum(axis=1)
        usable = table.outcomes.sum(axis=1) - passed + table.log_speedup[:, 0]
        found = _means(table, measure, table.log_speedup, usable)
    else:
        found = _rates(table, measure, exclusive, k)
    if assumed_variance is None:
        return found
    variance = np.asarray(assumed_variance / found.m, dtype=np.float64)
    return Sample(
        table, measure, found.unit, found.mask, found.y, variance, found.m, found.successes, found.missing
    )


def _rates(table: RolloutTable, level: Level, exclusive: bool, k: int) -> Sample:
    rank = Outcome[level.upper()]
    outcomes = table.outcomes
    successes = outcomes[:, rank] if exclusive else outcomes[:, rank:].sum(axis=1)
    trials = outcomes.sum(axis=1)
    kept = trials > 0
    x, m, unit, mask = successes[kept], trials[kept], table.unit[kept], table.mask[kept]
    if k > 1:
        _require_repetitions(table, unit, mask, m, k)
        y = _pass_at_k(x, m, k)
        variance = _pass_at_k_variance(x, m, k)
    else:
        y = x / m
        with np.errstate(invalid="ignore", divide="ignore"):
            unbiased = y * (1 - y) / (m - 1)
        variance = np.where((x == 0) | (x == m), jeffreys_variance(x, m), unbiased)
    variance = np.where(m > 1, variance, np.nan)
    return Sample(table, level, unit, mask, y, variance, m, x.astype(np.float64))


def _require_repetitions(table: RolloutTable, unit: Ints, mask: Ints, m: Ints, k: int) -> None:
    short = np.flatnonzero(m < k)
    if len(short):
        cell = short[0]
        where = f"checkpoint {table.units[unit[cell]].checkpoint}"
        name = coalition_name(int(mask[cell]), table.players)
        raise InvalidRequest(
            f"pass@{k} needs {k} rollouts in every cell: {where}, coalition {name} has {m[cell]}",
            hint="Use a smaller k, or run more repetitions.",
        )


def _pass_at_k(x: Ints, m: Ints, k: int) -> Floats:
    known = {
        (a, b): 1 - comb(b - a, k) / comb(b, k)
        for a, b in {(int(a), int(b)) for a, b in zip(x, m, strict=True)}
    }
    return np.array([known[int(a), int(b)] for a, b in zip(x, m, strict=True)], dtype=np.float64)


def _pass_at_k_variance(x: Ints, m: Ints, k: int) -> Floats:
    """Variance of the estimator if the cell's rate were the Jeffreys mean (x + 1/2) / (m + 1); never 0."""
    known: dict[tuple[int, int], float] = {}
    for a, b in {(int(a), int(b)) for a, b in zip(x, m, strict=True)}:
        p = (a + 0.5) / (b + 1)
        weights = np.array([comb(b, s) * p**s * (1 - p) ** (b - s) for s in range(b + 1)])
        values = np.array([1 - comb(b - s, k) / comb(b, k) for s in range(b + 1)])
        known[a, b] = float(weights @ values**2 - (weights @ values) ** 2)
    return np.array([known[int(a), int(b)] for a, b in zip(x, m, strict=True)], dtype=np.float64)


def _means(table: RolloutTable, measure: Measure, sums: Floats, count: Floats) -> Sample:
    kept = count > 0
    m = count[kept].astype(np.int64)
    y = sums[kept, 1] / m
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = np.maximum(sums[kept, 2] - m * y**2, 0.0)
        variance = np.where(m > 1, squares / (m - 1) / m, np.nan)
    repeated = m > 1
    if repeated.any():
        pooled = float(squares[repeated].sum() / (m[repeated] - 1).sum())
        # A cell whose rollouts agree by chance is not free of noise: it takes the pooled variance.
        variance = np.where(repeated & (squares <= 1e-12 * m * y**2), pooled / m, variance)
    missing = int(table.outcomes.sum() - m.sum())
    return Sample(
        table, measure, table.unit[kept], table.mask[kept], y, variance, m, np.full(len(m), np.nan), missing
    )
