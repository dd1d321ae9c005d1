"""gemm-batched: C[b] = A[b]·B[b], float16 with float32 sums"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    batch, m, n, k = sizes["BATCH"], sizes["M"], sizes["N"], sizes["K"]
    return {"A": rng.standard_normal((batch, m, k)), "B": rng.standard_normal((batch, k, n))}


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"C": given["A"] @ given["B"]}
