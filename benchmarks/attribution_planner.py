"""What the budget planner promises against what experiments achieve: half-widths of phi intervals.

`python benchmarks/attribution_planner.py` prints JSON and keeps it in results/. From stated variances the
promised half-width must be within 5 % of the mean achieved one; from 500 pilots of 12 checkpoints the
median promised one within 10 %, each pilot's own error being told beside it.
"""

import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from warpwise.attribution.banzhaf import banzhaf_effects
from warpwise.attribution.budget import Variances, expected_half_width, pilot_variances
from warpwise.attribution.findings import analyse
from warpwise.attribution.quantities import Options
from warpwise.attribution.simulation import World
from warpwise.attribution.table import RolloutTable, Unit
from warpwise.attribution.uncertainty import cluster_t
from warpwise.attribution.values import sample

RESULTS = Path(__file__).parent / "results" / "attribution_planner.json"
EXPERIMENTS, PILOTS, PILOT_CHECKPOINTS = 2000, 500, 12
WORLDS = {
    "ordinary, 3 players": World(3, mains=(1.0, 0.5, 0.0), pairs={(0, 1): 0.6}),
    "strong heterogeneity, 3 players": World(3, mains=(1.0, 0.5, 0.0), slope_sd=1.5, base_sd=2.0),
    "ordinary, 5 players": World(5, mains=(1.0, 0.5, 0.0, -0.3, 0.2), pairs={(0, 1): 0.6}),
}
SIZES = ((5, 3), (10, 3), (20, 2), (40, 1))


def achieved(world: World, checkpoints: int, repetitions: int, rng: np.random.Generator) -> float:
    """The mean half-width of phi over experiments and players."""
    widths: list[float] = []
    for _ in range(EXPERIMENTS):
        rates = world.rates(rng, checkpoints)
        effects = banzhaf_effects(rng.binomial(repetitions, rates) / repetitions).phi
        found = cluster_t(effects, np.arange(checkpoints))
        widths.append(float(((found.high - found.low) / 2).mean()))
    return float(np.mean(widths))


def pilot_table(world: World, repetitions: int, rng: np.random.Generator) -> RolloutTable:
    """One pilot: every coalition at twelve checkpoints."""
    n = world.players
    passed = rng.binomial(repetitions, world.rates(rng, PILOT_CHECKPOINTS)).ravel().astype(np.int64)
    outcomes = np.zeros((len(passed), 4), dtype=np.int64)
    outcomes[:, 2], outcomes[:, 0] = passed, repetitions - passed
    nothing = np.zeros((len(passed), 3))
    return RolloutTable(
        players=tuple(f"p{i}" for i in range(n)),
        units=tuple(Unit(f"k-{c:02d}", f"k-{c:02d}", None, "", "") for c in range(PILOT_CHECKPOINTS)),
        unit=np.repeat(np.arange(PILOT_CHECKPOINTS), 1 << n),
        mask=np.tile(np.arange(1 << n), PILOT_CHECKPOINTS),
        outcomes=outcomes,
        infra=np.zeros(len(passed), dtype=np.int64),
        log_speedup=nothing,
        cost=nothing,
        rows=int(outcomes.sum()),
        invalid=0,
        warnings=(),
    )


def stated(world: World, rng: np.random.Generator) -> Variances:
    """The world's own variances, from 200,000 checkpoints; between: the mean over players."""
    rates = world.rates(rng, 200_000)
    return Variances(
        float((rates * (1 - rates)).mean()), float(banzhaf_effects(rates).phi.var(axis=0).mean())
    )


def from_pilot(world: World, checkpoints: int, repetitions: int, rng: np.random.Generator) -> float:
    """The half-width that one pilot promises for an experiment of that size."""
    pilot = analyse(sample(pilot_table(world, 2, rng), "pass"), Options())
    return expected_half_width(pilot_variances(pilot), "phi", checkpoints, 1 << world.players, repetitions)


def main() -> None:
    start = time.perf_counter()
    rng = np.random.default_rng(1)
    told: dict[str, list[dict[str, float]]] = {}
    for name, world in WORLDS.items():
        variances = stated(world, rng)
        coalitions = 1 << world.players
        told[name] = []
        for checkpoints, repetitions in SIZES:
            reached = achieved(world, checkpoints, repetitions, rng)
            promised = expected_half_width(variances, "phi", checkpoints, coalitions, repetitions)
            pilots = [from_pilot(world, checkpoints, repetitions, rng) for _ in range(PILOTS)]
            ratios = np.array(pilots) / reached
            told[name].append(
                {
                    "checkpoints": checkpoints,
                    "repetitions": repetitions,
                    "achieved_mean": round(reached, 5),
                    "stated_ratio": round(promised / reached, 4),
                    "pilot_median_ratio": round(float(np.median(ratios)), 4),
                    "pilot_median_absolute_error": round(float(np.median(np.abs(ratios - 1))), 4),
                }
            )
            print(name, told[name][-1], file=sys.stderr)
    every = [row for rows in told.values() for row in rows]
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": "2 cores, no GPU",
        "experiments": EXPERIMENTS,
        "pilots": PILOTS,
        "pilot_checkpoints": PILOT_CHECKPOINTS,
        "worlds": told,
        "met": {
            "stated_within_5_percent": all(abs(row["stated_ratio"] - 1) <= 0.05 for row in every),
            "pilot_median_within_10_percent": all(
                abs(row["pilot_median_ratio"] - 1) <= 0.10 for row in every
            ),
            "pilot_median_absolute_error_within_10_percent": all(
                row["pilot_median_absolute_error"] <= 0.10 for row in every
            ),
        },
        "seconds": round(time.perf_counter() - start, 1),
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
