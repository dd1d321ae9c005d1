"""gelu-bias: y = gelu(x + bias), gelu(t) = t/2 · (1 + tanh(sqrt(2/pi) · (t + 0.044715 t³))), in float16"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    return {"x": rng.standard_normal((sizes["R"], sizes["C"])), "bias": rng.standard_normal(sizes["C"])}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    t = given["x"] + given["bias"]
    return {"y": t / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (t + 0.044715 * t**3)))}
