"""rotary: each pair (x[s,h,i], x[s,h,i+HALF]) turned by the angle whose cosine and sine stand at [s,i], in bfloat16"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    s, h, half = sizes["S"], sizes["H"], sizes["HALF"]
    start = rng.integers(0, 1000)
    angle = np.outer(start + np.arange(s), 10000.0 ** (-np.arange(half) / half))
    return {"x": rng.standard_normal((s, h, 2 * half)), "cosine": np.cos(angle), "sine": np.sin(angle)}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    first, second = np.split(given["x"], 2, axis=2)
    cosine, sine = given["cosine"][:, None], given["sine"][:, None]
    turned = (first * cosine - second * sine, second * cosine + first * sine)
    return {"y": np.concatenate(turned, axis=2)}
