"""doitgen: A[r,q,:] = A[r,q,:]·C for every r and q"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    nr, nq, np_ = sizes["NR"], sizes["NQ"], sizes["NP"]
    return {"A": rng.standard_normal((nr, nq, np_)), "C": rng.standard_normal((np_, np_))}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"A": given["A"] @ given["C"]}
