"""attention-causal: O = softmax(Q·Kᵀ / sqrt(D))·V for every head, position i seeing only j <= i"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    shape = (sizes["H"], sizes["S"], sizes["D"])
    given = {name: rng.standard_normal(shape) for name in ("Q", "K", "V")}
    # The scores of a row lie far from zero: whoever adds the maximum instead of subtracting it overflows.
    given["K"][:, :, 0] = 20
    given["Q"][:, :, 0] = rng.uniform(-2.5, 2.5, shape[:2]) * np.sqrt(sizes["D"])
    return given


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    scores = given["Q"] @ given["K"].transpose(0, 2, 1) / np.sqrt(sizes["D"])
    scores = np.where(np.tri(sizes["S"], dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=2, keepdims=True))
    return {"O": (powers / powers.sum(axis=2, keepdims=True)) @ given["V"]}
