"""Simulated experiments whose effects are known: for coverage studies, examples and trying out designs. Not data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..server.errors import InvalidRequest
from .game import Floats, Ints, members
from .rows import Outcome


@dataclass(frozen=True, slots=True)
class World:
    """Checkpoints whose success rates have logits with random intercepts and slopes; players coded ±1/2.

    `mains` in logits, the rest 0; `pairs` by player indices; `base_sd` and `slope_sd` vary between
    checkpoints, `cluster_sd` between the clusters that hold `per_cluster` checkpoints each.
    """

    players: int
    base: float = 0.0
    mains: tuple[float, ...] = ()
    pairs: Mapping[tuple[int, int], float] = field(default_factory=dict[tuple[int, int], float])
    slope_sd: float = 0.5
    base_sd: float = 0.7
    per_cluster: int = 1
    cluster_sd: float = 0.0

    def clusters(self, checkpoints: int) -> Ints:
        """Return the cluster of each checkpoint, (checkpoints,)."""
        return np.arange(checkpoints) // self.per_cluster

    def rates(self, rng: np.random.Generator, checkpoints: int) -> Floats:
        """Return success rates of newly drawn checkpoints, (checkpoints, 2**players)."""
        coded = (np.arange(1 << self.players)[:, None] >> np.arange(self.players) & 1) - 0.5
        slopes = np.zeros(self.players)
        slopes[: len(self.mains)] = self.mains
        intercept = self.base + self.base_sd * rng.standard_normal((checkpoints, 1))
        slope = slopes + self.slope_sd * rng.standard_normal((checkpoints, self.players))
        if self.cluster_sd:
            labels = self.clusters(checkpoints)
            groups = int(labels[-1]) + 1
            intercept += self.cluster_sd * rng.standard_normal((groups, 1))[labels]
            slope += self.cluster_sd * rng.standard_normal((groups, self.players))[labels]
        logits = intercept + slope @ coded.T
        for (i, j), effect in self.pairs.items():
            logits += effect * coded[:, i] * coded[:, j]
        return np.asarray(1 / (1 + np.exp(-logits)), dtype=np.float64)


def simulated_rows(
    rates: Floats,
    players: Sequence[str],
    repetitions: int,
    seed: int,
    *,
    costs: Mapping[str, float] | None = None,
    labels: Mapping[str, Sequence[str | int]] | None = None,
) -> Iterator[dict[str, object]]:
    """Yield rollouts, records for `table_from_rows`, of an agent with these rates.

    `rates` (checkpoints, 2**n, 3) are the cumulative rates of COMPILE, PASS and FAST, falling along the
    last axis. FAST rollouts get a speed-up above 1, PASS ones one below. `costs` are added for each player
    given, to 1; `labels` are further columns, one value a checkpoint. Raises InvalidRequest for rates that
    rise or leave [0, 1].
    """
    if np.any(np.diff(rates, axis=2) > 0) or np.any(rates < 0) or np.any(rates > 1):
        raise InvalidRequest("rates of COMPILE, PASS, FAST must fall within [0, 1]")
    rng = np.random.default_rng(seed)
    for c in range(len(rates)):
        for mask in range(rates.shape[1]):
            coalition = members(mask, players)
            for repetition in range(repetitions):
                outcome = Outcome(int((rng.random() < rates[c, mask]).sum()))
                row: dict[str, object] = {
                    "checkpoint": f"k-{c:03d}",
                    "coalition": list(coalition),
                    "repetition": repetition,
                    "verdict": outcome.name,
                    "speedup": _speedup(rng, outcome),
                    "cost": round(1 + sum((costs or {}).get(name, 0.0) for name in coalition), 4),
                }
                row.update({column: values[c] for column, values in (labels or {}).items()})
                yield row


def _speedup(rng: np.random.Generator, outcome: Outcome) -> float | None:
    if outcome < Outcome.PASS:
        return None
    size = abs(float(rng.normal(0.25, 0.15))) + 0.02
    return round(float(np.exp(size if outcome == Outcome.FAST else -size / 2)), 4)
