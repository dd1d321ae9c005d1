"""lu: A = L·U in place, U with a unit diagonal that is not stored"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    # Near the identity no pivot is small, and the entries of L and U are of one size.
    n = sizes["N"]
    return {"A": np.eye(n) + rng.standard_normal((n, n)) / (3 * np.sqrt(n))}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    a = given["A"].copy()
    for k in range(sizes["N"] - 1):
        a[k, k + 1 :] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return {"A": a}
