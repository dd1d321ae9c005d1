"""Everything one measure of a table says: effects, interactions, sigmas and worths with their intervals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .effects import Estimator, estimator
from .game import Bools, Floats, Ints, coalition_name, pair_indices, pair_names
from .lookup import MOST_LISTED, Lookup, counted, fixed_noise, per_unit, worth_scope
from .quantities import ALL_EQUAL, Options, Quantity, Scope, nan_intervals, quantities, with_families
from .uncertainty import (
    MIN_CLUSTERS,
    Intervals,
    cluster_moments,
    cluster_t,
    jeffreys_variance,
    rare_floor,
    student_intervals,
)
from .values import UNITS, Measure, Sample

_RARE_FEW, _RARE_MANY, _FEW_CLUSTERS = 10, 5, 10
_NOTHING = 1e-12

NoiseOf: TypeAlias = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Findings:
    """The numbers of one measure, in player, pair and mask order. `per_unit` (units, K) where effects are exact."""

    measure: Measure
    method: str
    phi: list[Quantity]
    interaction: list[Quantity]
    sigma: list[Quantity]
    worth: list[Quantity]
    warnings: list[str]
    sample: Sample
    per_unit: Floats | None

    def as_json(self) -> dict[str, object]:
        """Return the measure's part of the document."""
        kinds = {"phi": self.phi, "interaction": self.interaction, "sigma": self.sigma, "worth": self.worth}
        numbers = {kind: {q.name: q.as_json() for q in found} for kind, found in kinds.items()}
        return {"unit": UNITS[self.measure], "method": self.method, **numbers}


class _Analysis:
    """One measure under one set of options; holds what its four kinds of numbers share."""

    def __init__(self, sample: Sample, options: Options) -> None:
        self.sample = sample
        self.options = options
        self.estimator: Estimator = estimator(sample, variant=options.variant, count_zero=options.count_zero)
        self.lookup = Lookup(sample)
        self.variance = _filled_variance(sample)
        self.total = int(sample.m.sum())
        self.successes = float((sample.y * sample.m).sum())
        self.constant = sample.is_rate and self.successes in (0.0, float(self.total))
        self.floored = False

    def effects(self) -> tuple[list[Quantity], list[Quantity]]:
        """Return phi and the pair interactions."""
        players = self.sample.table.players
        n = len(players)
        plain = self.estimator.sampled(self.options.confidence, None)

        def noise_of(variance: Floats) -> Floats:
            return self.estimator.noise(variance, self.sample.m).variance

        rare = min(self.successes, self.total - self.successes)
        everything = np.full(len(plain.value), rare)
        pooled = np.full(len(plain.value), rare_floor(self.successes, self.total))
        floor = self._floor(plain, self.estimator.clusters, everything, pooled, noise_of)
        sampled = self.estimator.sampled(self.options.confidence, floor)
        fixed = nan_intervals(plain.value)
        if self.variance is not None:
            noise = self.estimator.noise(self.variance, self.sample.m)
            df = np.full(len(noise.df), np.inf) if self.options.assumed_variance else noise.df
            fixed = student_intervals(plain.value, np.sqrt(noise.variance), df, self.options.confidence)
        scope = Scope(sampled, fixed, self.estimator.clusters, *self._counts(), self._unknown(plain.value))
        return (
            self._finish(list(players), _slice(scope, 0, n)),
            self._finish(pair_names(players), _slice(scope, n, len(plain.value))),
        )

    def sigmas(self) -> list[Quantity]:
        """Return sigma of every pair, from the checkpoints that hold its four coalitions."""
        sample, options = self.sample, self.options
        reading = self.lookup.sigmas()
        values = per_unit(sample, reading)
        if options.count_zero:
            both = self._pair_applies()
            values = np.where(both, values, 0.0)
        labels = sample.table.clusters
        plain = cluster_t(values, labels, options.confidence)
        n = counted(sample, reading)
        present = reading.cells >= 0
        hits = np.where(present, (sample.y * sample.m)[reading.cells], 0.0).sum(axis=(0, 2))

        def noise_of(variance: Floats) -> Floats:
            return fixed_noise(sample, reading, variance)[0]

        pooled = np.array([rare_floor(x, max(t, 1)) for x, t in zip(hits, n, strict=True)])
        clusters = cluster_moments(values, labels).clusters
        floor = self._floor(plain, clusters, np.minimum(hits, n - hits), pooled, noise_of)
        sampled = cluster_t(values, labels, options.confidence, floor)
        fixed = nan_intervals(plain.value)
        if self.variance is not None:
            noise, df = fixed_noise(sample, reading, self.variance)
            df = np.full(len(df), np.inf) if options.assumed_variance else df
            fixed = student_intervals(plain.value, np.sqrt(noise), df, options.confidence)
        applicable = self._pair_applies().sum(axis=0)
        held = present.all(axis=2).sum(axis=0)
        unknown = [
            _null_reason(int(a)) or (None if h else "no checkpoint holds the four coalitions that it reads")
            for a, h in zip(applicable, held, strict=True)
        ]
        scope = Scope(sampled, fixed, clusters, n, held, unknown)
        return self._finish(pair_names(sample.table.players), scope)

    def worths(self) -> list[Quantity]:
        """Return v(S) of the listed coalitions."""
        masks = self.lookup.listed()
        reading = self.lookup.worths(masks)
        exact = self.options.assumed_variance is not None
        scope = worth_scope(self.sample, masks, reading, self.variance, self.options.confidence, exact)
        names = [coalition_name(int(mask), self.sample.table.players) for mask in masks]
        return quantities(names, scope, self.options, None)

    def warnings(self) -> list[str]:
        """Return what a reader of this measure must know first."""
        measure, found = self.sample.measure, list[str]()
        if self.constant:
            found.append(f"{measure}: every rollout has the same outcome, so nothing can be told apart")
        elif self.floored:
            found.append(
                f"{measure}: some outcomes are rare or never vary; intervals are widened to a floor (Jeffreys)"
            )
        if self.estimator.per_unit is None:
            found.append(f"{measure}: not every coalition was run; {self.estimator.method}")
        if self.sample.missing:
            what = "cost" if measure == "cost" else "speed-up"
            found.append(f"{measure}: {self.sample.missing} rollouts without a {what} are left out")
        if len(self.lookup.listed()) == MOST_LISTED:
            found.append(f"{measure}: only {MOST_LISTED} coalitions are listed")
        return found

    def _floor(
        self, plain: Intervals, clusters: Ints, rare: Floats, pooled: Floats, noise_of: NoiseOf
    ) -> Floats | None:
        """Smallest standard errors: of the pooled rate where an outcome is rare, of each cell where none varies."""
        if not self.sample.is_rate:
            return None
        few = np.where(clusters < _FEW_CLUSTERS, _RARE_FEW, _RARE_MANY)
        floor = np.where(rare < few, np.sqrt(pooled * noise_of(1.0 / self.sample.m)), 0.0)
        cellwise = jeffreys_variance(self.sample.y * self.sample.m, self.sample.m)
        still = plain.se <= _NOTHING
        floor = np.where(still, np.maximum(floor, np.sqrt(noise_of(cellwise))), floor)
        used = (clusters >= MIN_CLUSTERS) & (not self.options.these_only)
        self.floored |= bool(np.any(used & (floor > plain.se)))
        return floor

    def _finish(self, names: list[str], scope: Scope) -> list[Quantity]:
        note = ALL_EQUAL if self.constant else None
        found = quantities(names, scope, self.options, note)
        return with_families(found, scope, self.options.confidence)

    def _pair_applies(self) -> Bools:
        applies = self.sample.table.applies
        pairs = pair_indices(applies.shape[1])
        columns = [applies[:, i] & applies[:, j] for i, j in pairs]
        return np.array(columns, dtype=np.bool_).T.reshape(len(applies), len(pairs))

    def _counts(self) -> tuple[Ints, Ints]:
        applies = np.concatenate([self.sample.table.applies, self._pair_applies()], axis=1)
        units = np.bincount(self.sample.unit, self.sample.m, minlength=len(applies))
        return (units @ applies).astype(np.int64), applies.sum(axis=0)

    def _unknown(self, value: Floats) -> list[str | None]:
        applicable = self._counts()[1]
        aliased = f"not identified by the coalitions that were run ({self.estimator.method})"
        return [
            _null_reason(int(a)) or (None if np.isfinite(v) else aliased)
            for a, v in zip(applicable, value, strict=True)
        ]


def analyse(sample: Sample, options: Options) -> Findings:
    """Return all numbers of one measure. Raises InvalidRequest as `estimator` does."""
    analysis = _Analysis(sample, options)
    phi, interaction = analysis.effects()
    sigma, worth = analysis.sigmas(), analysis.worths()
    estimated = analysis.estimator
    return Findings(
        sample.measure,
        estimated.method,
        phi,
        interaction,
        sigma,
        worth,
        analysis.warnings(),
        sample,
        estimated.per_unit,
    )


def _null_reason(applicable: int) -> str | None:
    return None if applicable else "structurally null: applies at no checkpoint"


def _slice(scope: Scope, start: int, stop: int) -> Scope:
    return Scope(
        Intervals(*(column[start:stop] for column in scope.sampled)),
        Intervals(*(column[start:stop] for column in scope.fixed)),
        scope.clusters[start:stop],
        scope.n[start:stop],
        scope.n_applicable[start:stop],
        scope.unknown[start:stop],
    )


def _filled_variance(sample: Sample) -> Floats | None:
    """Variances for *these checkpoints*: a cell with one rollout among repeated ones takes a conservative one."""
    known = np.isfinite(sample.variance)
    if not known.any():
        return None
    largest = 0.25 if sample.is_rate else float(np.max(sample.variance[known] * sample.m[known]))
    return np.where(known, sample.variance, largest / sample.m)
