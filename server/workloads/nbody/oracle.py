"""nbody: acc[i] = sum over j of mass[j]·d / (|d|² + softening²)^(3/2), d = pos[j] - pos[i]"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    n = sizes["N"]
    return {
        "pos": rng.standard_normal((n, 3)),
        "mass": rng.uniform(0.5, 1.5, n),
        "softening": rng.uniform(0.2, 0.4, ()),
    }


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    pos, mass = given["pos"], given["mass"]
    acc = np.empty_like(pos)
    for i in range(sizes["N"]):
        d = pos - pos[i]
        cubed = (np.sum(d**2, axis=1) + given["softening"] ** 2) ** 1.5
        acc[i] = (mass / cubed) @ d
    return {"acc": acc}
