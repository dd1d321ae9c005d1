"""Coverage of the 95 % intervals in simulated experiments, through the same code that answers on a user's table.

`python benchmarks/attribution_coverage.py [EXPERIMENTS]` (default 2,000 in each scenario) prints JSON and
keeps it in results/. The truth is the mean over 200,000 checkpoints drawn from the same world; for *these
checkpoints* it is theirs. Goals: 0.93 to 0.97 for phi, interaction and sigma (above only where the floor
for rare outcomes acts), 0.93 to 0.995 for the worths.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from warpwise.attribution.banzhaf import banzhaf_effects
from warpwise.attribution.findings import Findings, analyse
from warpwise.attribution.game import Floats, Ints
from warpwise.attribution.interactions import sigma
from warpwise.attribution.quantities import Options, Quantity
from warpwise.attribution.sampling import Kind, design
from warpwise.attribution.simulation import World
from warpwise.attribution.table import RolloutTable, Unit
from warpwise.attribution.values import sample

RESULTS = Path(__file__).parent / "results" / "attribution_coverage.json"
POPULATION = 200_000
GOALS = {"phi": (0.93, 0.97), "interaction": (0.93, 0.97), "sigma": (0.93, 0.97), "worth": (0.93, 0.995)}


@dataclass(frozen=True)
class Scenario:
    """An experiment: `checkpoints` drawn from `world`, each coalition of the design run `repetitions` times."""

    name: str
    world: World
    checkpoints: int
    repetitions: int
    kind: Kind = "full"
    options: Options = field(default_factory=Options)


THREE = World(3, mains=(1.0, 0.5, 0.0), pairs={(0, 1): 0.6})
FIVE = World(5, mains=(1.0, 0.5, 0.0, -0.3, 0.2), pairs={(0, 1): 0.6})
EIGHT = World(8, mains=(1.0, 0.5, 0.0, -0.3, 0.2), pairs={(0, 1): 0.6})
VARIED = World(3, mains=(1.0, 0.5, 0.0), pairs={(0, 1): 0.6}, slope_sd=1.5, base_sd=2.0)
NESTED = World(3, mains=(1.0, 0.5, 0.0), pairs={(0, 1): 0.6}, per_cluster=4, cluster_sd=0.8)
LESS_NESTED = World(3, mains=(1.0, 0.5, 0.0), pairs={(0, 1): 0.6}, per_cluster=5, cluster_sd=0.8)
RARE = World(3, base=-3.5, mains=(1.0, 0.5, 0.0), pairs={(0, 1): 0.6})
RAREST = World(3, base=-4.5, mains=(1.0, 0.5, 0.0), pairs={(0, 1): 0.6})
THESE = Options(these_only=True)

SCENARIOS = (
    Scenario("5 checkpoints, 3 repetitions", THREE, 5, 3),
    Scenario("10 checkpoints, 3 repetitions", THREE, 10, 3),
    Scenario("20 checkpoints, 5 repetitions", THREE, 20, 5),
    Scenario("20 checkpoints, 1 repetition", THREE, 20, 1),
    Scenario("50 checkpoints, 3 repetitions", THREE, 50, 3),
    Scenario("5 players, 20 checkpoints, 2 repetitions", FIVE, 20, 2),
    Scenario("strong heterogeneity, 20 checkpoints, 5 repetitions", VARIED, 20, 5),
    Scenario("24 checkpoints nested in 6 runs, 3 repetitions", NESTED, 24, 3),
    Scenario("50 checkpoints nested in 10 runs, 2 repetitions", LESS_NESTED, 50, 2),
    Scenario("42 checkpoints in 11 runs, the last half full, 2 repetitions", NESTED, 42, 2),
    Scenario("rare FAST (4.5 %), 5 checkpoints, 3 repetitions", RARE, 5, 3),
    Scenario("rare FAST (4.5 %), 10 checkpoints, 3 repetitions", RARE, 10, 3),
    Scenario("rare FAST (4.5 %), 20 checkpoints, 3 repetitions", RARE, 20, 3),
    Scenario("rare FAST (1.8 %), 20 checkpoints, 3 repetitions", RAREST, 20, 3),
    Scenario("rare FAST (1.8 %), 50 checkpoints, 3 repetitions", RAREST, 50, 3),
    Scenario("8 players, shifted-4 (16 of 256), 40 checkpoints, 1 repetition", EIGHT, 40, 1, "shifted-4"),
    Scenario(
        "8 players, one rollout for each of 16 random coalitions, 80 checkpoints", EIGHT, 80, 1, "random"
    ),
    Scenario("these 4 checkpoints, 3 repetitions", THREE, 4, 3, options=THESE),
    Scenario("these 20 checkpoints, 5 repetitions", THREE, 20, 5, options=THESE),
)


class Told(NamedTuple):
    """What one scenario showed, by kind of number."""

    experiments_with_floor: float
    kinds: dict[str, dict[str, float | bool]]

    def as_json(self) -> dict[str, object]:
        """Both side by side."""
        return {"experiments_with_floor": self.experiments_with_floor, **self.kinds}


def table_of(
    successes: Floats, repetitions: int, masks: Sequence[Ints], clusters: Ints, players: int
) -> RolloutTable:
    """The table that `successes` (checkpoints, 2**n) of `repetitions` rollouts make, at the masks of a design."""
    unit = np.concatenate([np.full(len(m), c) for c, m in enumerate(masks)])
    mask = np.concatenate([np.sort(m) for m in masks])
    fast = successes[unit, mask].astype(np.int64)
    outcomes = np.zeros((len(fast), 4), dtype=np.int64)
    outcomes[:, 3], outcomes[:, 0] = fast, repetitions - fast
    nothing = np.zeros((len(fast), 3))
    units = tuple(Unit(f"k-{c:03d}", f"r-{g:03d}", None, "", "") for c, g in enumerate(clusters))
    names = tuple(f"p{i}" for i in range(players))
    return RolloutTable(
        names, units, unit, mask, outcomes, fast * 0, nothing, nothing, int(outcomes.sum()), 0, ()
    )


def truth_of(rates: Floats) -> dict[str, Floats]:
    """The effects of the mean game of these checkpoints."""
    game = rates.mean(axis=0)
    effects = banzhaf_effects(game)
    return {"phi": effects.phi, "interaction": effects.pairs, "sigma": sigma(game), "worth": game}


def hits(found: Sequence[Quantity], truth: Floats) -> Floats:
    """1 where the interval holds the truth, 0 where not, NaN where there is no interval."""
    inside = [
        np.nan if q.low is None or q.high is None else float(q.low <= value <= q.high)
        for q, value in zip(found, truth, strict=True)
    ]
    return np.array(inside)


def floored(level: Findings) -> float:
    """1 where the floor for rare outcomes widened some interval, which the answer's warnings then say."""
    return float(any("floor" in warning for warning in level.warnings))


def run(scenario: Scenario, experiments: int, seed: int) -> Told:
    """Coverage and mean width of every kind in one scenario."""
    rng = np.random.default_rng(seed)
    world = scenario.world
    n = world.players
    truth = truth_of(world.rates(rng, POPULATION if n < 8 else POPULATION // 8))
    clusters = world.clusters(scenario.checkpoints)
    these = scenario.options.these_only
    inside: dict[str, list[Floats]] = {kind: [] for kind in GOALS}
    widths: dict[str, list[float]] = {kind: [] for kind in GOALS}
    widened: list[float] = []
    for experiment in range(experiments):
        rates = world.rates(rng, scenario.checkpoints)
        masks = design(scenario.kind, n, scenario.checkpoints, seed=experiment)
        successes = rng.binomial(scenario.repetitions, rates).astype(np.float64)
        table = table_of(successes, scenario.repetitions, masks, clusters, n)
        level = analyse(sample(table, "fast"), scenario.options)
        true = truth_of(rates) if these else truth
        for kind in GOALS:
            found: list[Quantity] = getattr(level, kind)
            inside[kind].append(hits(found, true[kind]))
            widths[kind] += [q.high - q.low for q in found if q.low is not None and q.high is not None]
        widened.append(floored(level))
    return Told(round(float(np.mean(widened)), 4), _summary(inside, widths, widened))


def _summary(
    inside: dict[str, list[Floats]], widths: dict[str, list[float]], widened: list[float]
) -> dict[str, dict[str, float | bool]]:
    told: dict[str, dict[str, float | bool]] = {}
    for kind, (low, high) in GOALS.items():
        each = np.array(inside[kind])
        if np.isnan(each).mean() > 0.5:
            continue
        coverage = float(np.nanmean(each))
        above = coverage > high and kind != "worth" and max(widened) > 0
        told[kind] = {
            "coverage": round(coverage, 4),
            "worst_single": round(float(np.nanmean(each, axis=0).min()), 4),
            "mean_width": round(float(np.mean(widths[kind])), 4),
            "within_goal": bool(low <= round(coverage, 4) <= high or above),
            "above_by_the_floor": bool(above),
        }
    return told


def main() -> None:
    experiments = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    start = time.perf_counter()
    scenarios: dict[str, Told] = {}
    for seed, scenario in enumerate(SCENARIOS):
        scenarios[scenario.name] = run(scenario, experiments, seed)
        print(scenario.name, json.dumps(scenarios[scenario.name].as_json()), file=sys.stderr)
    kinds = [told for found in scenarios.values() for told in found.kinds.values()]
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": "2 cores, no GPU",
        "experiments_in_each_scenario": experiments,
        "goals": GOALS,
        "scenarios": {name: told.as_json() for name, told in scenarios.items()},
        "all_within_goal": all(told["within_goal"] for told in kinds),
        "seconds": round(time.perf_counter() - start, 1),
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
