"""spmv-csr: y = A·x, A in compressed rows: row r holds entries start[r] to start[r+1] - 1 of column and value"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def inputs(rng: np.random.Generator, sizes: Mapping[str, int]) -> Arrays:
    r, c, nnz = sizes["R"], sizes["C"], sizes["NNZ"]
    # Row lengths differ widely; some rows are empty.
    weights = rng.exponential(1, r) ** 2
    lengths = rng.multinomial(nnz, weights / weights.sum())
    return {
        "start": np.concatenate([[0], np.cumsum(lengths)]),
        "column": rng.integers(0, c, nnz),
        "value": rng.standard_normal(nnz),
        "x": rng.standard_normal(c),
    }


def reference(given: Arrays, sizes: Mapping[str, int]) -> Arrays:
    row = np.repeat(np.arange(sizes["R"]), np.diff(given["start"]))
    products = given["value"] * given["x"][given["column"]]
    return {"y": np.bincount(row, weights=products, minlength=sizes["R"])}
