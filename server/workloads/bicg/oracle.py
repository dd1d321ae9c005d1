"""bicg: q = A·p and s = Aᵀ·r"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    m, n = sizes["M"], sizes["N"]
    return {"A": rng.standard_normal((m, n)), "p": rng.standard_normal(n), "r": rng.standard_normal(m)}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"q": given["A"] @ given["p"], "s": given["A"].T @ given["r"]}
