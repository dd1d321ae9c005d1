"""histogram: counts[b] = number of i with x[i] = b, 0 <= x[i] < BINS"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    # Low bins are frequent, so that atomics collide.
    skewed = rng.uniform(0, 1, sizes["N"]) ** 3 * sizes["BINS"]
    return {"x": np.minimum(skewed.astype(np.int64), sizes["BINS"] - 1)}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"counts": np.bincount(given["x"], minlength=sizes["BINS"])}
