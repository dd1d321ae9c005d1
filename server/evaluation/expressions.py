"""A small safe language for sizes: integers, names, `+ - * // %`, `ceildiv`, `min`, `max`, and one comparison.

It is its own tokenizer and recursive-descent parser over frozen nodes, so nothing of Python can be reached from a
text: there is no attribute, index, string, import, or call but the three. Every value, also between two steps, must
lie within 64 signed bits; lengths and depths are bounded, so evaluation ends after at most MAX_TOKENS steps.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from .names import did_you_mean

MAX_LENGTH = 500
MAX_TOKENS = 200
MAX_DEPTH = 30
LIMIT = 1 << 63
FUNCTIONS = ("ceildiv", "min", "max")
COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+)|(?P<name>[A-Za-z_]\w*)|(?P<sign>//|==|!=|<=|>=|[-+*%(),<>])|(?P<end>$))",
    re.ASCII,
)


class ExpressionError(Exception):
    """What is wrong with an expression: `what`, at `column` (from 1, None when it is the value), and a `hint`."""

    def __init__(self, what: str, column: int | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.column = column
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Token:
    """A number, name, sign or the end, and its column from 1."""

    kind: str
    text: str
    column: int


@dataclass(frozen=True, slots=True)
class Node:
    """A constant (`value`), a name, or an operation on `operands`; `column` is where it stands."""

    kind: str
    column: int
    value: int = 0
    name: str = ""
    operands: tuple["Node", ...] = ()


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression: its text, its tree, and the names that it uses."""

    text: str
    root: Node
    names: frozenset[str]

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Its value. Raises ExpressionError for an unknown name, a division by zero, or a value beyond 64 bits."""
        return _value(self.root, values)

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether a comparison holds (of a plain value: whether it is not zero)."""
        return self.evaluate(values) != 0

    def column(self, name: str) -> int:
        """Where a name first stands in the text, from 1."""
        return min(node.column for node in _walk(self.root) if node.kind == "name" and node.name == name)

    def __str__(self) -> str:
        return self.text


def parse(text: str) -> Expression:
    """The expression of a text without comparison. Raises ExpressionError."""
    return _Parser(text).whole(comparison=False)


def parse_constraint(text: str) -> Expression:
    """The single comparison of a text, such as `N % 4 == 0`. Raises ExpressionError."""
    return _Parser(text).whole(comparison=True)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0
        self.depth = 0

    def whole(self, *, comparison: bool) -> Expression:
        root = self._sum()
        if comparison:
            sign = self._take("sign", "a comparison such as `==` or `<=`", COMPARISONS)
            root = Node(sign.text, sign.column, operands=(root, self._sum()))
        token = self.tokens[self.at]
        if token.kind != "end":
            raise ExpressionError(f"unexpected {token.text!r}", token.column, _advice(token.text, comparison))
        return Expression(
            self.text, root, frozenset(node.name for node in _walk(root) if node.kind == "name")
        )

    def _sum(self) -> Node:
        return self._left_to_right(("+", "-"), self._product)

    def _product(self) -> Node:
        return self._left_to_right(("*", "//", "%"), self._unary)

    def _left_to_right(self, signs: tuple[str, ...], part: Callable[[], Node]) -> Node:
        left = part()
        while self.tokens[self.at].text in signs:
            sign = self._next()
            left = Node(sign.text, sign.column, operands=(left, part()))
        return left

    def _unary(self) -> Node:
        token = self.tokens[self.at]
        if token.text not in ("-", "+"):
            return self._atom()
        self._next()
        operand = self._deeper(token, self._unary)
        return Node("negate", token.column, operands=(operand,)) if token.text == "-" else operand

    def _atom(self) -> Node:
        token = self._next()
        if token.kind == "number":
            value = int(token.text) if len(token.text) < 20 else LIMIT
            if value >= LIMIT:
                raise ExpressionError(f"{token.text[:24]} does not fit into 64 bits", token.column)
            return Node("number", token.column, value=value)
        if token.kind == "name":
            return (
                self._call(token)
                if self.tokens[self.at].text == "("
                else Node("name", token.column, name=token.text)
            )
        if token.text == "(":
            inner = self._deeper(token, self._sum)
            self._take("sign", "a closing `)`", (")",))
            return inner
        got = "the end" if token.kind == "end" else repr(token.text)
        raise ExpressionError(f"a number, a name or `(` must stand here, not {got}", token.column)

    def _call(self, token: Token) -> Node:
        if token.text not in FUNCTIONS:
            hint = did_you_mean(token.text, FUNCTIONS)
            raise ExpressionError(f"there is no function `{token.text}`", token.column, hint)
        self._next()
        operands = [self._deeper(token, self._sum)]
        while self.tokens[self.at].text == ",":
            self._next()
            operands.append(self._deeper(token, self._sum))
        self._take("sign", "`,` or a closing `)`", (")",))
        if len(operands) != 2 and (token.text == "ceildiv" or len(operands) < 2):
            expected = "two" if token.text == "ceildiv" else "at least two"
            raise ExpressionError(
                f"`{token.text}` takes {expected} values, not {len(operands)}", token.column
            )
        return Node(token.text, token.column, operands=tuple(operands))

    def _deeper(self, token: Token, part: Callable[[], Node]) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError(f"nested deeper than {MAX_DEPTH}", token.column)
        inner = part()
        self.depth -= 1
        return inner

    def _next(self) -> Token:
        token = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def _take(self, kind: str, wanted: str, texts: tuple[str, ...]) -> Token:
        token = self._next()
        if token.kind != kind or token.text not in texts:
            got = "the end" if token.kind == "end" else repr(token.text)
            raise ExpressionError(f"{wanted} must stand here, not {got}", token.column)
        return token


def _tokens(text: str) -> list[Token]:
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"an expression may have {MAX_LENGTH} characters, not {len(text)}")
    found: list[Token] = []
    at = 0
    while not found or found[-1].kind != "end":
        match = _TOKEN.match(text, at)
        if match is None:
            column = at + len(text[at:]) - len(text[at:].lstrip()) + 1
            bad = text[column - 1]
            raise ExpressionError(f"unexpected character {bad!r}", column, _advice(bad, comparison=False))
        kind = match.lastgroup
        found.append(Token(str(kind), match[str(kind)], match.start(str(kind)) + 1))
        at = match.end()
        if len(found) > MAX_TOKENS:
            raise ExpressionError(f"an expression may have {MAX_TOKENS} parts", found[-1].column)
    return found


def _advice(bad: str, comparison: bool) -> str | None:
    if bad == "/":
        return "Write `//` for the integer quotient, or ceildiv(a, b)."
    if bad in COMPARISONS or bad == "=":
        return (
            "One comparison per constraint; write two constraints."
            if comparison
            else "No comparison may stand here."
        )
    if bad == ".":
        return "Only whole numbers and plain names are known here."
    return "Known: whole numbers, names, + - * // %, ceildiv, min, max, parentheses."


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for operand in node.operands:
        yield from _walk(operand)


def _value(node: Node, values: Mapping[str, int]) -> int:
    if node.kind == "number":
        return node.value
    if node.kind == "name":
        if node.name not in values:
            raise ExpressionError(f"unknown name `{node.name}`", node.column, did_you_mean(node.name, values))
        result = values[node.name]
    else:
        operands = [_value(operand, values) for operand in node.operands]
        if node.kind in ("//", "%", "ceildiv") and operands[1] == 0:
            raise ExpressionError(f"`{node.kind}` by zero", node.column)
        result = _OPERATIONS[node.kind](operands)
    if not -LIMIT <= result < LIMIT:
        raise ExpressionError("the value does not fit into 64 bits", node.column)
    return result


_OPERATIONS: Mapping[str, Callable[[list[int]], int]] = {
    "+": lambda given: given[0] + given[1],
    "-": lambda given: given[0] - given[1],
    "*": lambda given: given[0] * given[1],
    "//": lambda given: given[0] // given[1],
    "%": lambda given: given[0] % given[1],
    "negate": lambda given: -given[0],
    "ceildiv": lambda given: -(-given[0] // given[1]),
    "min": min,
    "max": max,
    "==": lambda given: int(given[0] == given[1]),
    "!=": lambda given: int(given[0] != given[1]),
    "<=": lambda given: int(given[0] <= given[1]),
    ">=": lambda given: int(given[0] >= given[1]),
    "<": lambda given: int(given[0] < given[1]),
    ">": lambda given: int(given[0] > given[1]),
}
