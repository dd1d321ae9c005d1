"""syr2k: C = alpha·(A·Bᵀ + B·Aᵀ) + beta·C"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    n, m = sizes["N"], sizes["M"]
    return {
        "alpha": rng.uniform(0.5, 2, ()),
        "beta": rng.uniform(0.5, 2, ()),
        "A": rng.standard_normal((n, m)),
        "B": rng.standard_normal((n, m)),
        "C": rng.standard_normal((n, n)),
    }


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    product = given["A"] @ given["B"].T
    return {"C": given["alpha"] * (product + product.T) + given["beta"] * given["C"]}
