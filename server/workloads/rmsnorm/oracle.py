"""rmsnorm: y = x / sqrt(mean of x² + eps) · weight over every row, in bfloat16 with float32 sums"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    r, c = sizes["R"], sizes["C"]
    return {
        "x": 10 ** rng.uniform(-3, 3, (r, 1)) * rng.standard_normal((r, c)),
        "weight": rng.uniform(0.5, 1.5, c),
        "eps": np.array(1e-6),
    }


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    x = given["x"]
    scale = np.sqrt(np.mean(x**2, axis=1, keepdims=True) + given["eps"])
    return {"y": x / scale * given["weight"]}
