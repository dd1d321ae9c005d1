"""layernorm: y = (x - mean) / sqrt(variance + eps) · gamma + beta over every row"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    r, c = sizes["R"], sizes["C"]
    return {
        "x": 10 ** rng.uniform(-2, 2, (r, 1)) * (rng.standard_normal((r, 1)) + rng.standard_normal((r, c))),
        "gamma": rng.uniform(0.5, 1.5, c),
        "beta": rng.standard_normal(c),
        "eps": np.array(1e-5),
    }


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    x = given["x"]
    centred = x - x.mean(axis=1, keepdims=True)
    variance = np.mean(centred**2, axis=1, keepdims=True)
    return {"y": centred / np.sqrt(variance + given["eps"]) * given["gamma"] + given["beta"]}
