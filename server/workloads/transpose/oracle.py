"""transpose: B = Aᵀ"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    return {"A": rng.standard_normal((sizes["R"], sizes["C"]))}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"B": given["A"].T}
