"""atax: y = Aᵀ·(A·x)"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    return {"A": rng.standard_normal((sizes["M"], sizes["N"])), "x": rng.standard_normal(sizes["N"])}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"y": given["A"].T @ (given["A"] @ given["x"])}
