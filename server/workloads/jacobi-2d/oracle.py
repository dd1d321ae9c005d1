"""jacobi-2d: T times: A[i,j] = mean of itself and its four neighbours inside, all at once"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    return {"A": rng.standard_normal((sizes["N"], sizes["N"]))}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    a = given["A"].copy()
    for _ in range(sizes["T"]):
        a[1:-1, 1:-1] = (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) / 5
    return {"A": a}
