"""Speed of the exact indices, as ratios within one run on one thread; tables are built outside the timed part.

`python benchmarks/attribution_speed.py` needs shapiq, hence Python 3.12 or later; prints JSON and keeps it
in results/.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from warpwise.attribution.banzhaf import banzhaf_effects, transform
from warpwise.attribution.game import Floats
from warpwise.attribution.uncertainty import bootstrap

RESULTS = Path(__file__).parent / "results" / "attribution_speed.json"
MEASURED, GOAL = (10, 16, 20), 20


def best(work: Callable[[], object], repeats: int) -> float:
    """The shortest of `repeats` runs, in seconds."""
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def shapiq_banzhaf_s(values: Floats, n: int) -> float:
    """Seconds of shapiq's exact Banzhaf values (order 1, no pairs) after its own table is built."""
    shapiq: Any = import_module("shapiq")
    bits = 1 << np.arange(n)

    def worths(coalitions: Any) -> Any:  # noqa: ANN401  # shapiq's callable takes its own matrix
        return values[np.atleast_2d(coalitions).astype(np.int64) @ bits]

    computer: Any = shapiq.ExactComputer(n_players=n, game=worths)
    assert len(computer.game_values) == 1 << n  # the table is built on first access, here
    start = time.perf_counter()
    found: Any = computer("BV", order=1)
    elapsed = time.perf_counter() - start
    ours = banzhaf_effects(values).phi
    assert max(abs(float(found[(i,)]) - ours[i]) for i in range(n)) < 1e-10
    return elapsed


def main() -> None:
    rng = np.random.default_rng(0)
    against: dict[str, dict[str, float]] = {}
    for n in MEASURED:
        values = rng.random(1 << n)
        ours = best(partial(banzhaf_effects, values), 9)
        theirs = shapiq_banzhaf_s(values, n)
        against[str(n)] = {"ours_phi_and_pairs_s": ours, "shapiq_bv_s": theirs, "ratio": theirs / ours}
        print(n, against[str(n)], file=sys.stderr)
    large = rng.random(1 << 24)
    one_pass = best(large.sum, 7)
    effects = best(lambda: banzhaf_effects(large), 7)
    every_order = best(lambda: transform(large), 3)
    sheet = rng.standard_normal((30, 55))
    resampled = best(lambda: bootstrap(sheet, np.arange(30), 10_000), 7)
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": "2 cores, no GPU",
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "shapiq": version("shapiq"),
        "threads": 1,
        "against_shapiq": against,
        "note": f"all sizes measured, none extrapolated; goal: ratio >= 5000 at n = {GOAL}",
        "n_24": {
            "one_pass_s": one_pass,
            "phi_and_pairs_s": effects,
            "ratio": effects / one_pass,
            "goal": "<= 8",
            "every_order_s": every_order,
        },
        "bootstrap_10000_n_10_30_checkpoints_s": resampled,
        "bootstrap_goal": "< 0.1",
        "met": {
            "shapiq": against[str(GOAL)]["ratio"] >= 5000,
            "n_24": effects / one_pass <= 8,
            "bootstrap": resampled < 0.1,
        },
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
