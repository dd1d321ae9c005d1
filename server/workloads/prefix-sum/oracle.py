"""prefix-sum: y[i] = x[0] + ... + x[i], int32 in, int64 out"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    return {"x": rng.integers(-(2**31), 2**31, sizes["N"])}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"y": np.cumsum(given["x"], dtype=np.int64)}
