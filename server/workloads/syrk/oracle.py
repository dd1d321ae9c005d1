"""syrk: C = alpha·A·Aᵀ + beta·C"""

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
        "C": rng.standard_normal((n, n)),
    }


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"C": given["alpha"] * (given["A"] @ given["A"].T) + given["beta"] * given["C"]}
