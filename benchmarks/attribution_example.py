"""Makes the example tables that ship in attribution/data: simulated agents with known effects, said so in the name.

`python benchmarks/attribution_example.py` writes them anew, byte for byte; a test holds them to it.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from warpwise.attribution.game import coalition_mask
from warpwise.attribution.rows import COLUMNS
from warpwise.attribution.sampling import design
from warpwise.attribution.simulation import simulated_rows

FOLDER = Path(__file__).parent.parent / "attribution" / "data"
PLAYERS = ("compiler", "debugger", "analyzer", "profiler", "placebo")
FINE = (
    "compiler.errors",
    "compiler.resources",
    "debugger.memcheck",
    "debugger.racecheck",
    "analyzer.source",
    "analyzer.sass",
    "profiler.roofline",
    "profiler.memory",
)


def feedback() -> list[dict[str, object]]:
    """20 checkpoints in 4 generations, all 32 coalitions twice; the debugger strong, the profiler weak,
    compiler and analyzer of use only together, the placebo without effect; 6 infra errors."""
    rng = np.random.default_rng(5)
    given = np.arange(32)[:, None] >> np.arange(5) & 1
    compiler, debugger, analyzer, profiler, _ = given.T
    checkpoints = 20
    generation = np.arange(checkpoints) // 5
    passes = 0.12 + 0.4 * debugger + 0.12 * profiler + 0.28 * compiler * analyzer
    shift = rng.normal(0, 0.02, (checkpoints, 1)) + 0.01 * generation[:, None]
    passing = np.clip(passes + shift, 0.01, 0.99)
    fast = passing * (0.15 + 0.35 * profiler)
    rates = np.stack([passing + 0.6 * (1 - passing), passing, fast], axis=2)
    labels: dict[str, Sequence[str | int]] = {
        "generation": [int(g) for g in generation],
        "workload": [("gemm", "jacobi", "atax", "conv", "scan")[c % 5] for c in range(checkpoints)],
        "model": ["scripted"] * checkpoints,
    }
    costs = {"compiler": 0.05, "debugger": 0.3, "analyzer": 0.1, "profiler": 0.6, "placebo": 0.02}
    rows = list(simulated_rows(rates, PLAYERS, 2, 11, costs=costs, labels=labels))
    lost: dict[str, object] = {
        "verdict": "",
        "speedup": None,
        "cost": None,
        "infra_error": "true",
        "status": "gpu_lost",
    }
    for place in rng.choice(len(rows), 6, replace=False):
        rows[int(place)].update(lost)
    return rows


def fraction() -> list[dict[str, object]]:
    """48 checkpoints in 12 runs, 8 fine-grained players, 16 of 256 coalitions each (design shifted-4), once."""
    rng = np.random.default_rng(8)
    given = (np.arange(256)[:, None] >> np.arange(8) & 1) - 0.5
    logits = (
        -0.2 + given @ np.array([0.2, 0.0, 1.6, 0.5, 0.0, 0.0, 0.9, 0.1]) + 0.8 * given[:, 2] * given[:, 6]
    )
    checkpoints = 48
    shift = rng.normal(0, 0.4, (12, 1))[np.arange(checkpoints) // 4] + rng.normal(0, 0.3, (checkpoints, 1))
    passing = 1 / (1 + np.exp(-(logits + shift)))
    rates = np.stack([passing + 0.6 * (1 - passing), passing, passing * 0.4], axis=2)
    labels = {"cluster": [f"run-{c // 4:02d}" for c in range(checkpoints)]}
    runs = design("shifted-4", 8, checkpoints, seed=3)
    wanted = {(f"k-{c:03d}", int(mask)) for c, masks in enumerate(runs) for mask in masks}
    rows = simulated_rows(rates, FINE, 1, 12, labels=labels)
    return [row for row in rows if (row["checkpoint"], coalition_mask(_names(row), FINE)) in wanted]


def _names(row: dict[str, object]) -> list[str]:
    return cast("list[str]", row["coalition"])


def as_csv(rows: Iterable[dict[str, object]]) -> str:
    """The rows as the CSV that `read_table` reads."""
    text = io.StringIO()
    columns: list[str] = list(COLUMNS)
    writer = csv.DictWriter(text, columns, lineterminator="\n", restval="")
    writer.writeheader()
    for row in rows:
        writer.writerow({**row, "coalition": "+".join(_names(row))})
    return text.getvalue()


TABLES = {"simulated_feedback.csv": feedback, "simulated_fraction.csv": fraction}


def main() -> None:
    for name, make in TABLES.items():
        (FOLDER / name).write_text(as_csv(make()))
        print(FOLDER / name)


if __name__ == "__main__":
    main()
