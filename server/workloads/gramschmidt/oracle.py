"""gramschmidt: A = Q·R with orthonormal columns of Q and upper triangular R with a positive diagonal"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    return {"A": rng.standard_normal((sizes["M"], sizes["N"]))}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    q = given["A"].copy()
    n = sizes["N"]
    r = np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.sqrt(np.sum(q[:, k] ** 2))
        q[:, k] /= r[k, k]
        r[k, k + 1 :] = q[:, k] @ q[:, k + 1 :]
        q[:, k + 1 :] -= np.outer(q[:, k], r[k, k + 1 :])
    return {"Q": q, "R": r}
