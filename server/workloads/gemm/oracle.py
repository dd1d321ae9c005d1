"""gemm: C = alpha·A·B + beta·C"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    ni, nj, nk = sizes["NI"], sizes["NJ"], sizes["NK"]
    return {
        "alpha": rng.uniform(0.5, 2, ()),
        "beta": rng.uniform(0.5, 2, ()),
        "A": rng.standard_normal((ni, nk)),
        "B": rng.standard_normal((nk, nj)),
        "C": rng.standard_normal((ni, nj)),
    }


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"C": given["alpha"] * (given["A"] @ given["B"]) + given["beta"] * given["C"]}
