"""fdtd-2d: T times: ey[0,:] = fict[t]; ey -= 0.5·Δi hz; ex -= 0.5·Δj hz; hz -= 0.7·(Δj ex + Δi ey)"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    nx, ny = sizes["NX"], sizes["NY"]
    return {
        "fict": rng.standard_normal(sizes["T"]),
        "ex": rng.standard_normal((nx, ny + 1)),
        "ey": rng.standard_normal((nx + 1, ny)),
        "hz": rng.standard_normal((nx, ny)),
    }


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    ex, ey, hz = given["ex"].copy(), given["ey"].copy(), given["hz"].copy()
    for source in given["fict"]:
        ey[0] = source
        ey[1:-1] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:-1] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz -= 0.7 * (ex[:, 1:] - ex[:, :-1] + ey[1:] - ey[:-1])
    return {"ex": ex, "ey": ey, "hz": hz}
