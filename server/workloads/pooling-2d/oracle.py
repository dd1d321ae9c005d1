"""pooling-2d: largest[b,c,y,x] and mean[b,c,y,x] of the K x K window of x that starts at (y·STEP, x·STEP), no padding"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    return {"x": rng.standard_normal([sizes[name] for name in ("B", "C", "H", "W")])}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    x, k, step = given["x"], sizes["K"], sizes["STEP"]
    rows, columns = ((size - k) // step * step + 1 for size in x.shape[2:])
    windows = [x[:, :, u : u + rows : step, v : v + columns : step] for u in range(k) for v in range(k)]
    largest, total = windows[0], windows[0]
    for window in windows[1:]:
        largest, total = np.maximum(largest, window), total + window
    return {"largest": largest, "mean": total / k**2}
