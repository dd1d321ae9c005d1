"""top-k: value[r,:] = the K largest of x[r,:], falling, and index[r,:] where they stand; all elements of a row differ"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    r, c = sizes["R"], sizes["C"]
    ranks = rng.permuted(np.tile(np.arange(c), (r, 1)), axis=1)
    return {"x": (ranks - rng.integers(0, c, (r, 1))) / 4}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    order = np.argsort(-given["x"], axis=1)[:, : sizes["K"]]
    return {"value": np.take_along_axis(given["x"], order, axis=1), "index": order}
