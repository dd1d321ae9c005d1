"""The expression language computes what Python computes, within 64 bits, and nothing else."""

import string
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpwise.server.evaluation.expressions import Expression, ExpressionError, parse, parse_constraint

VALUES = {"N": 10, "TILE": 16, "K_1": -3, "BIG": 1 << 40}


def ceildiv(a: int, b: int) -> int:
    return -(-a // b)


def texts() -> st.SearchStrategy[str]:
    leaves = st.one_of(st.integers(0, 99).map(str), st.sampled_from(sorted(VALUES)))

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pair = st.tuples(inner, inner)
        return st.one_of(
            st.tuples(inner, st.sampled_from([" + ", "-", "*", "//", " % "]), inner).map("".join),
            pair.map(lambda two: f"ceildiv({two[0]}, {two[1]})"),
            pair.map(lambda two: f"max({two[0]},{two[1]}, 3)"),
            pair.map(lambda two: f"min({two[0]} ,{two[1]})"),
            inner.map(lambda one: f"({one})"),
            inner.map(lambda one: f"-{one}"),
        )

    return st.recursive(leaves, extend, max_leaves=8)


def value_or_error(
    text: str, read: Callable[[str], Expression] = parse
) -> tuple[int | None, ExpressionError | None]:
    try:
        return read(text).evaluate(VALUES), None
    except ExpressionError as error:
        return None, error


@given(texts())
def test_a_value_is_what_python_says_or_a_typed_error(text: str) -> None:
    value, error = value_or_error(text)
    if error:
        assert "64 bits" in error.what or "by zero" in error.what or "nested" in error.what
    else:
        assert value == eval(text, {**VALUES, "ceildiv": ceildiv, "min": min, "max": max, "__builtins__": {}})


@given(st.text(string.ascii_letters + string.digits + "+-*/%(),.<>=! _[]'\"\n", max_size=60))
def test_any_text_is_an_expression_or_a_typed_error_with_its_column(text: str) -> None:
    for read in (parse, parse_constraint):
        value, error = value_or_error(text, read)
        assert (value is None) is (error is not None)
        assert error is None or error.column in range(1, len(text) + 2)


@pytest.mark.parametrize(
    ("text", "what", "column", "hint"),
    [
        ("N/2", "unexpected character '/'", 2, "Write `//` for the integer quotient, or ceildiv(a, b)."),
        ("N.real", "unexpected character '.'", 2, "Only whole numbers and plain names are known here."),
        ("TIL * 2", "unknown name `TIL`", 1, "Did you mean `TILE`?"),
        ("1 + celdiv(N, 2)", "there is no function `celdiv`", 5, "Did you mean `ceildiv`?"),
        ("__import__(1, 2)", "there is no function `__import__`", 1, "Known here: ceildiv, max, min."),
        ("ceildiv(N)", "`ceildiv` takes two values, not 1", 1, None),
        ("(N", "a closing `)` must stand here, not the end", 3, None),
        ("", "a number, a name or `(` must stand here, not the end", 1, None),
        ("N % (TILE - 16)", "`%` by zero", 3, None),
        ("BIG * BIG", "the value does not fit into 64 bits", 5, None),
        ("9" * 20, f"{'9' * 20} does not fit into 64 bits", 1, None),
        ("N == 1", "unexpected '=='", 3, "No comparison may stand here."),
    ],
)
def test_an_error_names_what_where_and_the_nearest_right_thing(
    text: str, what: str, column: int, hint: str | None
) -> None:
    with pytest.raises(ExpressionError) as raised:
        parse(text).evaluate(VALUES)
    assert (raised.value.what, raised.value.column, raised.value.hint) == (what, column, hint)


@pytest.mark.parametrize(
    ("text", "holds"), [("N % 5 == 0", True), ("N*2 < TILE", False), ("-N <= K_1", True)]
)
def test_a_constraint_holds_or_not(text: str, holds: bool) -> None:
    assert parse_constraint(text).holds(VALUES) is holds


@pytest.mark.parametrize("text", ["N", "1 < 2 < 3", "N = 1", "N == 1, 2"])
def test_a_constraint_is_exactly_one_comparison(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_constraint(text)


@pytest.mark.parametrize("text", ["(" * 31 + "1" + ")" * 31, "-" * 31 + "1", "1" + "+1" * 100, " " * 501])
def test_depth_and_length_are_bounded(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


def test_names_are_known_with_their_columns() -> None:
    found = parse("max(N, TILE) + N")
    assert found.names == {"N", "TILE"}
    assert (found.column("N"), found.column("TILE")) == (5, 8)
