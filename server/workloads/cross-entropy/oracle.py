"""cross-entropy: loss[r] = log(sum of exp(x[r,:])) - x[r, target[r]], without overflow"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    r, c = sizes["R"], sizes["C"]
    offset = rng.uniform(-20, 20, (r, 1))
    return {"x": offset + 2 * rng.standard_normal((r, c)), "target": rng.integers(0, c, r)}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    x = given["x"]
    most = x.max(axis=1)
    total = np.sum(np.exp(x - most[:, None]), axis=1)
    return {"loss": np.log(total) + most - x[np.arange(sizes["R"]), given["target"]]}
