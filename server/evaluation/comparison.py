"""Compare one output with its float64 reference, element by element, and say where and how it is wrong.

It knows arrays only: not where they come from, nor what the verdict will be.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .mismatch import describe
from .tolerance import Allowance

Array = NDArray[Any]
Status = Literal["correct", "wrong_shape", "wrong_dtype", "nonfinite", "wrong_values"]
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Worst:
    """The element that exceeds its allowance most. `got` may be NaN or infinite."""

    index: tuple[int, ...]
    got: float | int
    want: float | int
    error: float
    allowed: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """How one output compares. `ratio` is the largest error / allowed (1 is the limit; infinite where not finite)."""

    status: Status
    elements: int
    wrong: int
    ratio: float
    worst: Worst | None = None
    first_wrong: tuple[int, ...] | None = None
    hint: str | None = None

    @property
    def ok(self) -> bool:
        """Whether no element is wrong."""
        return self.status == "correct"


def compare(got: Array, want: Array, allowance: Allowance) -> Comparison:
    """Compare an output with its reference: shape, kind of number, finiteness, values.

    `got` has the buffer's own type, `want` float64 (or int64, compared exactly). NaN is right only where the reference
    is NaN, an infinity only where the reference is that infinity.
    """
    if got.shape != want.shape:
        return Comparison(
            "wrong_shape", want.size, want.size, np.inf, hint=f"shape {got.shape}, not {want.shape}"
        )
    if (got.dtype.kind in "iu") != (want.dtype.kind in "iu"):
        return Comparison(
            "wrong_dtype", want.size, want.size, np.inf, hint=f"{got.dtype} against {want.dtype}"
        )
    ratios = _ratios(got, want, allowance)
    wrong = ratios > 1
    count = int(np.count_nonzero(wrong))
    ratio = float(ratios.max(initial=0.0))
    if count == 0:
        return Comparison("correct", want.size, 0, ratio, _worst(got, want, allowance, ratios))
    flat_got, flat_want = got.reshape(-1), want.reshape(-1)
    lost = bool(np.any(~_finite(flat_got[wrong]) & _finite(flat_want[wrong])))
    return Comparison(
        "nonfinite" if lost else "wrong_values",
        want.size,
        count,
        ratio,
        _worst(got, want, allowance, ratios),
        _index(int(np.argmax(wrong)), want.shape),
        describe(got, want, wrong.reshape(want.shape)),
    )


def scales(want: Array, allowance: Allowance) -> NDArray[np.float64]:
    """S of every element, broadcastable to the reference: the root mean square of its row or of the tensor."""
    finite = np.where(np.isfinite(want), want, 0.0)
    if allowance.scale == "row" and want.ndim > 1:
        return np.asarray(np.sqrt(np.mean(np.square(finite), axis=-1, keepdims=True)), np.float64)
    mean = np.mean(np.square(finite)) if want.size else 0.0
    return np.full((1,) * want.ndim, np.sqrt(mean))


def _ratios(got: Array, want: Array, allowance: Allowance) -> NDArray[np.float64]:
    """error / allowed of every element, flat, in float64; infinite where an exact value differs or is not finite."""
    if want.dtype.kind in "iu":
        return np.asarray(np.where(got.reshape(-1) == want.reshape(-1), 0.0, np.inf), np.float64)
    scale = np.broadcast_to(scales(want, allowance), want.shape).reshape(-1)
    flat_got, flat_want = got.reshape(-1), want.reshape(-1)
    out = np.empty(want.size)
    for start in range(0, want.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        out[part] = _ratio_of(flat_got[part].astype(np.float64), flat_want[part], scale[part], allowance)
    return out


def _ratio_of(
    got: NDArray[np.float64], want: NDArray[np.float64], scale: NDArray[np.float64], allowance: Allowance
) -> NDArray[np.float64]:
    with np.errstate(all="ignore"):
        error = np.abs(got - want)
        allowed = allowance.relative * np.abs(want) + allowance.absolute * scale
        ratio = np.where(error == 0, 0.0, error / allowed)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    ratio[~np.isfinite(got) | ~np.isfinite(want)] = np.inf
    ratio[same] = 0.0
    ratio[np.isnan(ratio)] = np.inf
    return np.asarray(ratio, np.float64)


def _worst(got: Array, want: Array, allowance: Allowance, ratios: NDArray[np.float64]) -> Worst | None:
    if want.size == 0:
        return None
    index = _index(int(np.argmax(ratios)), want.shape)
    if want.dtype.kind in "iu":
        have, need = int(got[index]), int(want[index])
        return Worst(index, have, need, float(abs(have - need)), 0.0)
    scale = float(np.broadcast_to(scales(want, allowance), want.shape)[index])
    value, target = float(got[index]), float(want[index])
    allowed = allowance.relative * abs(target) + allowance.absolute * scale
    return Worst(
        index, value, target, abs(value - target) if np.isfinite(value - target) else np.inf, allowed
    )


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(part) for part in np.unravel_index(flat, shape))


def _finite(values: Array) -> NDArray[np.bool_]:
    return np.isfinite(values.astype(np.float64))
