"""reduction: y[0] = sum of x"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    return {"x": rng.uniform(0.5, 1.5, sizes["N"])}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"y": np.sum(given["x"], keepdims=True)}
