"""softmax: y[r,:] = exp(x[r,:]) / sum of exp(x[r,:]), without overflow"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    # Rows lie far from zero, and every third has a peak, often at its end: whoever misses the maximum overflows.
    r, c = sizes["R"], sizes["C"]
    x = rng.uniform(-100, 100, (r, 1)) + 2 * rng.standard_normal((r, c))
    x[::6, -1] += 100
    x[np.arange(3, r, 6), rng.integers(0, c, len(x[3::6]))] += 100
    return {"x": x}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    powers = np.exp(given["x"] - given["x"].max(axis=1, keepdims=True))
    return {"y": powers / powers.sum(axis=1, keepdims=True)}
