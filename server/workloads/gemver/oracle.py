"""gemver: A += u1·v1ᵀ + u2·v2ᵀ; x += beta·Aᵀ·y + z; w = alpha·A·x"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    n = sizes["N"]
    vectors = {name: rng.standard_normal(n) for name in ("u1", "v1", "u2", "v2", "y", "z", "x")}
    scalars = {"alpha": rng.uniform(0.5, 2, ()), "beta": rng.uniform(0.5, 2, ())}
    return {"A": rng.standard_normal((n, n)), **vectors, **scalars}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    a = given["A"] + np.outer(given["u1"], given["v1"]) + np.outer(given["u2"], given["v2"])
    x = given["x"] + given["beta"] * (a.T @ given["y"]) + given["z"]
    return {"A": a, "x": x, "w": given["alpha"] * (a @ x)}
