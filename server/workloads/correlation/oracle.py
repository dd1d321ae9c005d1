"""correlation: corr[i,j] = correlation of columns i and j of data over its N rows"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    n, m = sizes["N"], sizes["M"]
    common = rng.standard_normal((n, 3)) @ rng.standard_normal((3, m))
    return {"data": rng.uniform(-30, 30, m) + common + rng.standard_normal((n, m))}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    centred = given["data"] - given["data"].mean(axis=0)
    normal = centred / np.sqrt(np.sum(centred**2, axis=0))
    return {"corr": normal.T @ normal}
