"""mvt: x1 += A·y1 and x2 += Aᵀ·y2"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    n = sizes["N"]
    vectors = {name: rng.standard_normal(n) for name in ("y1", "y2", "x1", "x2")}
    return {"A": rng.standard_normal((n, n)), **vectors}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    a = given["A"]
    return {"x1": given["x1"] + a @ given["y1"], "x2": given["x2"] + a.T @ given["y2"]}
