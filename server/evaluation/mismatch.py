"""A short hint at the shape of an error: which elements are wrong, and what the wrong values look like."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
_ENOUGH = 4


def describe(got: Array, want: Array, wrong: NDArray[np.bool_]) -> str | None:
    """One sentence about a pattern of the wrong elements, or None where none of the known ones fits."""
    values = got.astype(np.float64), want.astype(np.float64)
    for pattern in (_not_finite, _constant, _factor, _transposed, _shifted, _tail, _stride):
        found = pattern(*values, wrong)
        if found:
            return found
    return None


def _not_finite(got: Array, want: Array, wrong: NDArray[np.bool_]) -> str | None:
    lost = int(np.count_nonzero(wrong & ~np.isfinite(got)))
    return (
        f"{lost} of the {int(np.count_nonzero(wrong))} wrong elements are NaN or infinite" if lost else None
    )


def _constant(got: Array, want: Array, wrong: NDArray[np.bool_]) -> str | None:
    values = got[wrong]
    if values.size < _ENOUGH or not np.all(values == values.flat[0]):
        return None
    return f"every wrong element is {values.flat[0]:g}: never written, or written with a constant"


def _factor(got: Array, want: Array, wrong: NDArray[np.bool_]) -> str | None:
    usable = wrong & (want != 0)
    if np.count_nonzero(usable) < _ENOUGH:
        return None
    with np.errstate(over="ignore"):
        factors = got[usable] / want[usable]
    middle = float(np.median(factors))
    if middle == 0 or not np.allclose(factors, middle, rtol=1e-3, atol=0):
        return None
    return f"the wrong elements are {middle:.4g} times what they should be"


def _transposed(got: Array, want: Array, wrong: NDArray[np.bool_]) -> str | None:
    if want.ndim != 2 or want.shape[0] != want.shape[1] or want.shape[0] < _ENOUGH:
        return None
    return "it is the transpose of the right result" if _close(got, want.T) else None


def _shifted(got: Array, want: Array, wrong: NDArray[np.bool_]) -> str | None:
    for axis in range(want.ndim):
        if want.shape[axis] < _ENOUGH:
            continue
        for step in (1, -1):
            here = np.roll(want, step, axis)
            inner = [slice(None)] * want.ndim
            inner[axis] = slice(1, -1)
            if _close(got[tuple(inner)], here[tuple(inner)]):
                return f"values are shifted by {step:+d} along axis {axis}"
    return None


def _tail(got: Array, want: Array, wrong: NDArray[np.bool_]) -> str | None:
    for axis in range(want.ndim):
        others = tuple(other for other in range(want.ndim) if other != axis)
        bad = np.flatnonzero(np.any(wrong, axis=others))
        size = want.shape[axis]
        if bad.size and bad[0] > size // 2 and bad.size == size - bad[0]:
            return f"only the tail is wrong: indices {bad[0]} to {size - 1} of axis {axis} (size {size})"
    return None


def _stride(got: Array, want: Array, wrong: NDArray[np.bool_]) -> str | None:
    for axis in reversed(range(want.ndim)):
        others = tuple(other for other in range(want.ndim) if other != axis)
        bad = np.flatnonzero(np.any(wrong, axis=others))
        steps = np.diff(bad)
        if bad.size >= _ENOUGH and steps[0] > 1 and np.all(steps == steps[0]):
            return f"every {steps[0]}th index of axis {axis} is wrong, from {bad[0]}"
    return None


def _close(got: Array, want: Array) -> bool:
    scale = float(np.sqrt(np.mean(np.square(want)))) if want.size else 0.0
    return scale > 0 and bool(np.allclose(got, want, rtol=1e-2, atol=1e-3 * scale))
