"""vector-add: z = x + y"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    return {"x": rng.standard_normal(sizes["N"]), "y": rng.standard_normal(sizes["N"])}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"z": given["x"] + given["y"]}
