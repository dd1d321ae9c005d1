"""One number with its interval, its estimand and, where something is unknown, the reason. And how to ask for it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..server.errors import InvalidRequest
from .effects import Variant
from .game import Floats, Ints
from .uncertainty import LIKE_THESE, MIN_CLUSTERS, THESE, Intervals, bonferroni, holm

ONE_REPETITION = (
    f"fewer than {MIN_CLUSTERS} independent checkpoints speak only for themselves, which needs two repetitions of "
    "a coalition, or a stated variance"
)
ONE_REPETITION_ASKED = "these checkpoints alone: needs two repetitions of a coalition, or a stated variance"
NO_SPREAD = "the value is identical at every checkpoint and repetition: its uncertainty cannot be estimated"
ALL_EQUAL = "every rollout has the same outcome here; the interval is the floor for rare outcomes"


@dataclass(frozen=True, slots=True)
class Options:
    """What to compute: `confidence`, the two estimands, level and variant choices, the placebo, the margin.

    `count_zero` counts effects as 0 where they do not apply; `these_only` asks for these checkpoints alone;
    `margin` is the effect, in rate, below which a component counts as doing nothing.
    """

    confidence: float = 0.95
    count_zero: bool = False
    these_only: bool = False
    exclusive: bool = False
    k: int = 1
    variant: Variant = "banzhaf"
    assumed_variance: float | None = None
    placebo: str | None = None
    margin: float = 0.05

    def __post_init__(self) -> None:
        if not 0.5 <= self.confidence < 1:
            raise InvalidRequest(f"confidence {self.confidence:g} is outside 0.5 <= c < 1")
        if not 0 < self.margin < 1:
            raise InvalidRequest(f"margin {self.margin:g} is outside 0 < m < 1")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number; what is unknown is None, with the `reason`.

    `n` rollouts and `n_applicable` checkpoints stand behind it. `estimand` says whom the interval speaks for.
    `low_family`, `high_family` (Bonferroni-t) and `p_holm` hold for all numbers of its kind together.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    n_applicable: int
    estimand: str
    reason: str | None
    se: float | None = None
    p: float | None = None
    p_holm: float | None = None
    low_family: float | None = None
    high_family: float | None = None

    def as_json(self) -> dict[str, float | int | str | None]:
        """Return the number as it stands in the document, without its name."""
        fields = (field for field in self.__dataclass_fields__ if field != "name")
        return {field: getattr(self, field) for field in fields}

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval is known and lies on one side of 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


class Scope(NamedTuple):
    """Both kinds of interval of K columns, with the counts behind them and a reason where no value exists."""

    sampled: Intervals
    fixed: Intervals
    clusters: Ints
    n: Ints
    n_applicable: Ints
    unknown: Sequence[str | None]


def quantities(names: Sequence[str], scope: Scope, options: Options, note: str | None) -> list[Quantity]:
    """Return the numbers: each takes the widest estimand that its checkpoints allow. `note` explains known ones."""
    found: list[Quantity] = []
    for k, name in enumerate(names):
        likely = scope.clusters[k] >= MIN_CLUSTERS and not options.these_only
        source = scope.sampled if likely else scope.fixed
        counts = int(scope.n[k]), int(scope.n_applicable[k])
        estimand = LIKE_THESE if likely else THESE
        if scope.unknown[k] is not None:
            value = 0.0 if options.count_zero and not counts[1] else None
            found.append(Quantity(name, value, None, None, *counts, estimand, scope.unknown[k]))
            continue
        value, low, high = _known(scope.sampled.value[k]), _known(source.low[k]), _known(source.high[k])
        if low is not None and high is not None and high > low:
            se, p = _known(source.se[k]), _known(source.p[k])
            found.append(Quantity(name, value, low, high, *counts, estimand, note, se, p))
            continue
        missing = ONE_REPETITION_ASKED if options.these_only else ONE_REPETITION
        reason = NO_SPREAD if likely or low is not None else missing
        found.append(Quantity(name, value, None, None, *counts, estimand, reason))
    return found


def with_families(found: list[Quantity], scope: Scope, confidence: float) -> list[Quantity]:
    """Return the numbers with intervals and p-values that hold for all of them together."""
    known = [k for k, quantity in enumerate(found) if quantity.p is not None]
    if not known:
        return found
    adjusted = holm([found[k].p or 0.0 for k in known])
    result = list(found)
    for place, k in enumerate(known):
        source = scope.sampled if found[k].estimand == LIKE_THESE else scope.fixed
        one = Intervals(*(np.array([column[k]]) for column in source))
        wide = bonferroni(one, len(known), confidence)
        result[k] = replace(
            found[k],
            p_holm=float(adjusted[place]),
            low_family=float(wide.low[0]),
            high_family=float(wide.high[0]),
        )
    return result


def _known(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def nan_intervals(value: Floats) -> Intervals:
    """Return these values with nothing known about their intervals."""
    unknown = np.full(len(value), np.nan)
    return Intervals(value, unknown, unknown, unknown, unknown, unknown)
