"""Outputs are compared by rule: what is right passes, whatever is wrong is told with its worst element and pattern."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from warpwise.server.evaluation.comparison import Comparison, compare
from warpwise.server.evaluation.dtypes import DType, numpy_dtype
from warpwise.server.evaluation.expressions import parse
from warpwise.server.evaluation.tolerance import Allowance, Tolerance

Array = NDArray[Any]
RNG = np.random.default_rng(7)
WANT = RNG.standard_normal((40, 50))
ELEMENTWISE = Tolerance("elementwise")


def against(
    got: Array, want: Array = WANT, dtype: DType = "float32", tolerance: Tolerance = ELEMENTWISE
) -> Comparison:
    return compare(got.astype(numpy_dtype(dtype)), want, tolerance.allowance(dtype, {"K": 1000}))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_a_correctly_rounded_result_passes_in_every_type(dtype: DType) -> None:
    found = against(WANT, dtype=dtype)
    assert found.ok
    assert found.ratio <= 0.51
    assert found.elements == 2000


@pytest.mark.parametrize(
    ("dtype", "error"),
    [("float32", 2.0**-16), ("float16", 2.0**-8), ("bfloat16", 2.0**-5), ("float64", 2.0**-40)],
)
def test_a_result_of_less_precision_than_its_type_is_wrong(dtype: DType, error: float) -> None:
    assert against(WANT * (1 + error), dtype=dtype).status == "wrong_values"


def test_half_precision_sums_are_told_from_single_precision_ones() -> None:
    a, b = RNG.standard_normal((16, 1000)), RNG.standard_normal((1000, 16))
    rule = Tolerance("reduction", parse("K"))
    single = np.zeros((16, 16), np.float32)
    half = np.zeros((16, 16), np.float16)
    for k in range(1000):
        product = np.outer(a[:, k], b[k])
        single += product.astype(np.float32)
        half += product.astype(np.float16)
    assert against(single, a @ b, tolerance=rule).ok
    assert not against(half, a @ b, tolerance=rule).ok
    tensor_float = (a.astype(np.float16).astype(float) @ b.astype(np.float16).astype(float)).astype(
        np.float32
    )
    assert not against(tensor_float, a @ b, tolerance=rule).ok


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_never_right(bad: float) -> None:
    got = WANT.copy()
    got[3, 4] = bad
    found = against(got)
    assert (found.status, found.wrong, found.ratio) == ("nonfinite", 1, np.inf)
    assert found.worst is not None
    assert (found.worst.index, found.worst.error) == ((3, 4), np.inf)
    assert found.hint == "1 of the 1 wrong elements are NaN or infinite"
    assert against(np.full_like(WANT, bad)).wrong == 2000


def test_nan_and_infinity_are_right_only_where_the_reference_has_them() -> None:
    want = np.array([1.0, np.nan, np.inf, -np.inf])
    allowance = ELEMENTWISE.allowance("float32", {})
    assert compare(want.astype(np.float32), want, allowance).ok
    found = compare(np.array([1, 0, -np.inf, np.inf], np.float32), want, allowance)
    assert (found.status, found.wrong) == ("wrong_values", 3)


def test_zeros_do_not_pass_however_small_the_reference_is() -> None:
    for scale in (1e-4, 1e-12, 1e-30):
        assert not against(np.zeros_like(WANT), WANT * scale).ok
    assert against(np.zeros((2, 2)), np.zeros((2, 2))).ok
    assert not against(np.full((2, 2), 1e-30), np.zeros((2, 2))).ok


def test_the_scale_is_taken_by_row_where_the_rule_says_so() -> None:
    want = np.array([[1000.0, 2000.0], [0.001, 0.002]])
    got = want + np.array([[0, 0], [1e-4, 0]])
    assert compare(got, want, Allowance(0, 1e-6, "tensor")).ok
    assert not compare(got, want, Allowance(0, 1e-6, "row")).ok


def test_integers_are_compared_exactly() -> None:
    want = np.array([1, -5, 2**62 + 1])
    exact = Tolerance("exact").allowance("int64", {})
    assert compare(want.copy(), want, exact).ok
    found = compare(np.array([1, -5, 2**62]), want, exact)
    assert found.worst is not None
    assert (found.wrong, found.first_wrong, found.worst.got, found.worst.want) == (1, (2,), 2**62, 2**62 + 1)
    assert compare(want.astype(np.float32), want, exact).status == "wrong_dtype"


def test_exact_floats_are_compared_exactly_but_for_the_sign_of_zero() -> None:
    exact = Tolerance("exact").allowance("float32", {})
    assert compare(np.array([0.5, -0.0], np.float32), np.array([0.5, 0.0]), exact).ok
    assert not compare(np.array([np.nextafter(np.float32(0.5), np.float32(1))]), np.array([0.5]), exact).ok


def test_another_shape_is_told() -> None:
    found = against(WANT.T)
    assert (found.status, found.hint) == ("wrong_shape", "shape (50, 40), not (40, 50)")


def test_a_wide_array_is_compared_in_pieces_with_the_same_result() -> None:
    want = RNG.standard_normal(3_000_000)
    got = want.astype(np.float32)
    got[2_500_000] += 1
    found = compare(got, want, ELEMENTWISE.allowance("float32", {}))
    assert (found.wrong, found.first_wrong) == (1, (2_500_000,))


def damaged(name: str) -> tuple[Array, Array]:
    want = RNG.standard_normal((64, 64))
    got = want.copy()
    if name == "tail":
        got[:, 60:] += 1
    elif name == "zeros":
        got[10:20] = 0
    elif name == "factor":
        got *= 2
    elif name == "transpose":
        got = want.T.copy()
    elif name == "shift":
        got = np.roll(want, 1, axis=0)
    elif name == "stride":
        got[3::8] += 1
    return got, want


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("tail", "only the tail is wrong: indices 60 to 63 of axis 1 (size 64)"),
        ("zeros", "every wrong element is 0: never written, or written with a constant"),
        ("factor", "the wrong elements are 2 times what they should be"),
        ("transpose", "it is the transpose of the right result"),
        ("shift", "values are shifted by +1 along axis 0"),
        ("stride", "every 8th index of axis 0 is wrong, from 3"),
    ],
)
def test_the_pattern_of_an_error_is_told(name: str, hint: str) -> None:
    got, want = damaged(name)
    assert against(got, want).hint == hint


def test_a_scattered_error_has_no_pattern() -> None:
    got, want = damaged("none")
    got[[1, 7, 9, 40], [3, 50, 4, 9]] += [1, -2, 3, 0.5]
    found = against(got, want)
    assert (found.wrong, found.hint) == (4, None)


def test_bfloat16_arrays_are_compared_as_they_are() -> None:
    got = WANT.astype(ml_dtypes.bfloat16)
    allowance = ELEMENTWISE.allowance("bfloat16", {})
    assert compare(got, got.astype(np.float64), allowance).ratio == 0
    got[0, 0] = np.nan
    assert compare(got, WANT, allowance).status == "nonfinite"
