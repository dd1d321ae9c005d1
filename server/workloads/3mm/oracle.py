"""3mm: G = (A·B)·(C·D)"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    ni, nj, nk, nl, nm = (sizes[name] for name in ("NI", "NJ", "NK", "NL", "NM"))
    return {
        "A": rng.standard_normal((ni, nk)),
        "B": rng.standard_normal((nk, nj)),
        "C": rng.standard_normal((nj, nm)),
        "D": rng.standard_normal((nm, nl)),
    }


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"G": (given["A"] @ given["B"]) @ (given["C"] @ given["D"])}
