"""The element types of buffers: their numpy type, rounding, and the C++ types that may point to them."""

from collections.abc import Mapping
from typing import Literal, get_args

import ml_dtypes
import numpy as np

DType = Literal["float64", "float32", "float16", "bfloat16", "int64", "int32"]
DTYPES: tuple[DType, ...] = get_args(DType)

_NUMPY: Mapping[DType, np.dtype[np.generic]] = {
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "int64": np.dtype(np.int64),
    "int32": np.dtype(np.int32),
}
_UNIT_ROUNDOFF: Mapping[DType, float] = {
    "float64": 2.0**-53,
    "float32": 2.0**-24,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "int64": 0.0,
    "int32": 0.0,
}


def numpy_dtype(dtype: DType) -> np.dtype[np.generic]:
    """The numpy type; bfloat16 is the one of ml_dtypes."""
    return _NUMPY[dtype]


def is_float(dtype: DType) -> bool:
    """Whether it has a fraction."""
    return not dtype.startswith("int")


def item_bytes(dtype: DType) -> int:
    """Bytes of one element."""
    return _NUMPY[dtype].itemsize


def unit_roundoff(dtype: DType) -> float:
    """The largest relative error of one correct rounding to this type (0 for integers)."""
    return _UNIT_ROUNDOFF[dtype]


def accumulator_roundoff(dtype: DType) -> float:
    """The rounding of the type that sums must be kept in: float64 for float64, else float32."""
    return _UNIT_ROUNDOFF["float64" if dtype == "float64" else "float32"]
