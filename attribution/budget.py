"""How many rollouts a wished interval costs, and when to stop: on width, never on significance. Runs nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, inf, lgamma, sqrt
from typing import Literal, TypeAlias

import numpy as np

from ..server.errors import InvalidRequest
from .findings import Findings
from .game import Floats
from .quantities import Quantity
from .student import t_quantile
from .uncertainty import LIKE_THESE, MIN_CLUSTERS, THESE

Effect: TypeAlias = Literal["phi", "interaction", "sigma", "worth"]
_MOST_CHECKPOINTS = 1_000_000
MIN_STOP = 10


@dataclass(frozen=True, slots=True)
class Variances:
    """`within`: of one rollout, p(1 - p), at most 1/4 for rates; `between`: of the effect between checkpoints."""

    within: float
    between: float

    def __post_init__(self) -> None:
        if not 0 <= self.within < inf or not 0 <= self.between < inf or self.within + self.between == 0:
            raise InvalidRequest(f"variances {self.within:g} and {self.between:g}: not negative, not both 0")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run for a half-width, and the mean half-width to expect from it. `cost` None: no price was given."""

    effect: Effect
    estimand: str
    checkpoints: int
    coalitions: int
    repetitions: int
    rollouts: int
    half_width: float
    cost: float | None

    def as_json(self) -> dict[str, float | int | str | None]:
        """Return the plan as plain values."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def noise_factor(effect: Effect, coalitions: int) -> float:
    """Return f such that the rollouts' part of an effect's variance at one checkpoint is f * within / repetitions.

    4/q for phi and 16/q for a pair, since each of the q coalitions informs each; 4 for sigma and 1 for a
    worth, which read single coalitions. Source: research/attribution.md, 3.2.
    """
    return {"phi": 4 / coalitions, "interaction": 16 / coalitions, "sigma": 4.0, "worth": 1.0}[effect]


def expected_half_width(
    variances: Variances,
    effect: Effect,
    checkpoints: int,
    coalitions: int,
    repetitions: int,
    confidence: float = 0.95,
) -> float:
    """Return the mean half-width of the cluster-t interval over *checkpoints like these*, in the unit of the effect.

    t(C - 1) * c4(C) * sqrt((between + f * within / m) / C), with c4 the mean of a sample standard
    deviation. Raises InvalidRequest for fewer than two checkpoints.
    """
    if checkpoints < 2:
        raise InvalidRequest("an interval over checkpoints like these needs at least two")
    one = variances.between + noise_factor(effect, coalitions) * variances.within / repetitions
    df = checkpoints - 1
    mean_sd = sqrt(2 / df) * exp(lgamma((df + 1) / 2) - lgamma(df / 2))
    return t_quantile(confidence, df) * mean_sd * sqrt(one / checkpoints)


def plan(
    half_width: float,
    variances: Variances,
    *,
    coalitions: int,
    repetitions: int = 1,
    effect: Effect = "phi",
    confidence: float = 0.95,
    rollout_cost: float | None = None,
    checkpoint_cost: float = 0.0,
) -> Plan:
    """Return the fewest checkpoints, at least five, whose expected half-width is at most `half_width`.

    Each runs `coalitions` coalitions `repetitions` times. Raises InvalidRequest for a width that is not
    positive or beyond a million checkpoints.
    """
    if not half_width > 0:
        raise InvalidRequest(f"half-width {half_width:g} is not positive")

    def wide(checkpoints: int) -> bool:
        width = expected_half_width(variances, effect, checkpoints, coalitions, repetitions, confidence)
        return width > half_width

    low, high = MIN_CLUSTERS - 1, MIN_CLUSTERS
    while wide(high):
        low, high = high, high * 2
        if high > _MOST_CHECKPOINTS:
            raise InvalidRequest(
                f"a half-width of {half_width:g} needs over {_MOST_CHECKPOINTS:,} checkpoints"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if wide(middle) else (low, middle)
    rollouts = high * coalitions * repetitions
    cost = None if rollout_cost is None else rollouts * rollout_cost + high * checkpoint_cost
    width = expected_half_width(variances, effect, high, coalitions, repetitions, confidence)
    return Plan(effect, LIKE_THESE, high, coalitions, repetitions, rollouts, width, cost)


def plan_these(
    half_width: float,
    within: float,
    *,
    checkpoints: int,
    coalitions: int,
    effect: Effect = "phi",
    confidence: float = 0.95,
    rollout_cost: float | None = None,
) -> Plan:
    """Return the repetitions, at least two, that give `half_width` for *these checkpoints* alone (normal quantile).

    Raises InvalidRequest for a width or variance that is not positive.
    """
    if not half_width > 0 or not within > 0:
        raise InvalidRequest("half-width and variance must be positive")
    scale = t_quantile(confidence, inf) ** 2 * noise_factor(effect, coalitions) * within / checkpoints
    repetitions = max(2, int(np.ceil(scale / half_width**2 - 1e-9)))
    rollouts = checkpoints * coalitions * repetitions
    cost = None if rollout_cost is None else rollouts * rollout_cost
    width = sqrt(scale / repetitions)
    return Plan(effect, THESE, checkpoints, coalitions, repetitions, rollouts, width, cost)


def best_rollouts_per_checkpoint(variances: Variances, checkpoint_cost: float, rollout_cost: float) -> float:
    """Return the cheapest number of rollouts at each checkpoint for phi: sqrt(4 within/between * cost ratio).

    Infinite where checkpoints do not differ. Raises InvalidRequest for a rollout that costs nothing.
    """
    if not rollout_cost > 0 or checkpoint_cost < 0:
        raise InvalidRequest("a rollout must cost something, a checkpoint not less than nothing")
    if variances.between == 0:
        return inf
    return sqrt(4 * variances.within / variances.between * checkpoint_cost / rollout_cost)


def pilot_variances(pilot: Findings, effect: Effect = "phi", name: str | None = None) -> Variances:
    """Return the variances that a pilot shows, for one effect by name or for the typical one of its kind.

    The between part is the spread of the per-checkpoint effects (averaged over the kind unless `name` is
    given) less the rollouts' own noise, not below 0. Raises InvalidRequest when the pilot is not full, has
    fewer than five checkpoints, the kind is neither phi nor interaction, or no effect has that name.
    """
    if pilot.per_unit is None or effect not in ("phi", "interaction"):
        raise InvalidRequest(
            "a pilot needs every coalition at every checkpoint; phi or interaction can be planned"
        )
    names = [q.name for q in (pilot.phi if effect == "phi" else pilot.interaction)]
    if name is not None and name not in names:
        raise InvalidRequest(f"no {effect} is called {name!r}; there are {', '.join(names)}")
    n = len(pilot.phi)
    effects = pilot.per_unit[:, :n] if effect == "phi" else pilot.per_unit[:, n:]
    if len(effects) < MIN_CLUSTERS:
        raise InvalidRequest(f"a pilot needs at least {MIN_CLUSTERS} checkpoints, not {len(effects)}")
    chosen = effects if name is None else effects[:, [names.index(name)]]
    sample = pilot.sample
    repeated = sample.m > 1
    within = float(np.mean(sample.y * (1 - sample.y)))
    if repeated.any():
        unbiased = (
            sample.y[repeated] * (1 - sample.y[repeated]) * sample.m[repeated] / (sample.m[repeated] - 1)
        )
        within = float(np.mean(unbiased))
    cells = np.bincount(sample.unit)
    noise = noise_factor(effect, int(np.median(cells))) * within / float(np.median(sample.m))
    spreads: Floats = np.nanvar(chosen, axis=0, ddof=1)
    spread = float(np.nanmean(spreads))
    return Variances(within, max(spread - noise, 0.0))


def wide_enough(quantities: Iterable[Quantity]) -> float | None:
    """Return the largest half-width among the numbers; None when one of them has no interval."""
    widths: list[float] = []
    for quantity in quantities:
        if quantity.low is None or quantity.high is None:
            return None
        widths.append((quantity.high - quantity.low) / 2)
    return max(widths, default=None)


def may_stop(effects: Sequence[Quantity], half_width: float, checkpoints: int) -> bool:
    """Return whether a running experiment may stop: every interval is narrow enough, after at least ten checkpoints.

    Width does not depend on the sign of what is found, so coverage holds (0.941 simulated); stopping at the
    first significant result would call a null player live in 32 % of experiments. Source:
    research/attribution.md, 3.2.
    """
    widest = wide_enough(effects)
    return checkpoints >= MIN_STOP and widest is not None and widest <= half_width
