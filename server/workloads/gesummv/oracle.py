"""gesummv: y = alpha·A·x + beta·B·x"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    n = sizes["N"]
    return {
        "alpha": rng.uniform(0.5, 2, ()),
        "beta": rng.uniform(0.5, 2, ()),
        "A": rng.standard_normal((n, n)),
        "B": rng.standard_normal((n, n)),
        "x": rng.standard_normal(n),
    }


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"y": given["alpha"] * (given["A"] @ given["x"]) + given["beta"] * (given["B"] @ given["x"])}
