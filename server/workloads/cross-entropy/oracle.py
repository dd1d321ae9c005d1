"""cross-entropy: loss[r] = log(sum of exp(x[r,:])) - x[r, target[r]], without overflow"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    r, c = sizes["R"], sizes["C"]
    # Rows lie far from zero, and every third has a peak, often at its end: whoever misses the maximum overflows.
    x = rng.uniform(-100, 100, (r, 1)) + 2 * rng.standard_normal((r, c))
    x[::6, -1] += 100
    x[np.arange(3, r, 6), rng.integers(0, c, len(x[3::6]))] += 100
    return {"x": x, "target": rng.integers(0, c, r)}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    x = given["x"]
    most = x.max(axis=1)
    total = np.sum(np.exp(x - most[:, None]), axis=1)
    return {"loss": np.log(total) + most - x[np.arange(sizes["R"]), given["target"]]}
