"""attention: O = softmax(Q·Kᵀ / sqrt(D))·V for every head, in float16 with float32 sums"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    shape = (sizes["H"], sizes["S"], sizes["D"])
    return {name: rng.standard_normal(shape) for name in ("Q", "K", "V")}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    scores = given["Q"] @ given["K"].transpose(0, 2, 1) / np.sqrt(sizes["D"])
    powers = np.exp(scores - scores.max(axis=2, keepdims=True))
    return {"O": (powers / powers.sum(axis=2, keepdims=True)) @ given["V"]}
