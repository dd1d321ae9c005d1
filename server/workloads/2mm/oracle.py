"""2mm: D = alpha·(A·B)·C + beta·D"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    ni, nj, nk, nl = sizes["NI"], sizes["NJ"], sizes["NK"], sizes["NL"]
    return {
        "alpha": rng.uniform(0.5, 2, ()),
        "beta": rng.uniform(0.5, 2, ()),
        "A": rng.standard_normal((ni, nk)),
        "B": rng.standard_normal((nk, nj)),
        "C": rng.standard_normal((nj, nl)),
        "D": rng.standard_normal((ni, nl)),
    }


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"D": given["alpha"] * (given["A"] @ given["B"] @ given["C"]) + given["beta"] * given["D"]}
