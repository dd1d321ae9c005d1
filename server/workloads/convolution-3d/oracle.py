"""convolution-3d: B[i,j,k] = sum of W[u,v,w]·A[i+u-1,j+v-1,k+w-1] inside, 0 on the border"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    shape = (sizes["NI"], sizes["NJ"], sizes["NK"])
    return {"A": rng.standard_normal(shape), "W": rng.standard_normal((3, 3, 3))}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    a, w = given["A"], given["W"]
    ni, nj, nk = a.shape
    b = np.zeros_like(a)
    for u, v, x in np.ndindex(3, 3, 3):
        b[1:-1, 1:-1, 1:-1] += w[u, v, x] * a[u : ni - 2 + u, v : nj - 2 + v, x : nk - 2 + x]
    return {"B": b}
