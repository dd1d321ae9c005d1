"""adi: T times: tridiagonal sweeps of X along rows, then columns, off-diagonal A, diagonal B (updated too)"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    shape = (sizes["N"], sizes["N"])
    return {
        "X": rng.standard_normal(shape),
        "A": rng.uniform(-0.5, 0.5, shape),
        "B": rng.uniform(2, 3, shape),
    }


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    x, a, b = given["X"].copy(), given["A"], given["B"].copy()
    for _ in range(sizes["T"]):
        # A sweep runs along axis 0 of what it is given: first along the rows of X, then along its columns.
        _sweep(x.T, a.T, b.T, behind=1)
        _sweep(x, a, b, behind=0)
    return {"X": x, "B": b}


def _sweep(x: NDArray[Any], a: NDArray[Any], b: NDArray[Any], behind: int) -> None:
    """Eliminate forward, scale the end, substitute backward, in place."""
    n = x.shape[0]
    for k in range(1, n):
        x[k] -= x[k - 1] * a[k] / b[k - 1]
        b[k] -= a[k] * a[k] / b[k - 1]
    x[n - 1] /= b[n - 1]
    for k in range(n - 2, 0, -1):
        x[k] = (x[k] - x[k - 1] * a[k - 1]) / b[k - behind]
