"""softmax: y[r,:] = exp(x[r,:]) / sum of exp(x[r,:]), without overflow"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    # A common offset per row: without subtracting the maximum, some rows overflow.
    offset = rng.uniform(-100, 100, (sizes["R"], 1))
    return {"x": offset + 2 * rng.standard_normal((sizes["R"], sizes["C"]))}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    powers = np.exp(given["x"] - given["x"].max(axis=1, keepdims=True))
    return {"y": powers / powers.sum(axis=1, keepdims=True)}
