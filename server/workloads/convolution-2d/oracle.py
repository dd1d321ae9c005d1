"""convolution-2d: B[i,j] = sum of W[u,v]·A[i+u-1,j+v-1] inside, 0 on the border"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    return {"A": rng.standard_normal((sizes["NI"], sizes["NJ"])), "W": rng.standard_normal((3, 3))}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    a, w = given["A"], given["W"]
    ni, nj = a.shape
    b = np.zeros_like(a)
    for u in range(3):
        for v in range(3):
            b[1:-1, 1:-1] += w[u, v] * a[u : ni - 2 + u, v : nj - 2 + v]
    return {"B": b}
