"""Symbolic integer values: what an index, an address or a condition is in terms of the thread, the block and the unknown.

Front ends (source, PTX) build these; `evaluation` gives them numbers. There is no solver here: a value that depends on
loaded data is `opaque` (differs between threads) or `uniform` (the same in all threads of a block), and stays so.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

BuiltIn = Literal["tid", "ctaid", "ntid", "nctaid", "lane"]
MAX_DEPTH = 160
_HALF = 1 << 63
LEAVES = frozenset({"const", "tid", "ctaid", "ntid", "nctaid", "lane", "uniform", "opaque", "symbol"})


@dataclass(eq=False, slots=True)
class Phi:
    """A variable that a loop carries: its value before the loop, and (once the body is known) after one iteration."""

    loop: int
    init: "Expr"
    name: str
    following: "Expr | None" = None


@dataclass(frozen=True, eq=False, slots=True)
class Expr:
    """A node of a value. `varying`: may differ between threads of one block; `loops`: whose iteration it depends on."""

    op: str
    args: tuple["Expr", ...] = ()
    value: int | str | None = None
    phi: Phi | None = None
    varying: bool = False
    depth: int = 0
    loops: frozenset[int] = field(default_factory=frozenset[int])


def const(value: int) -> Expr:
    """A number known now, as 64 signed bits hold it."""
    return Expr("const", value=(value + _HALF) % (2 * _HALF) - _HALF)


def leaf(op: BuiltIn, axis: str = "x") -> Expr:
    """A built-in: thread index, block index, their extents, or the lane."""
    return Expr(op, value=axis, varying=op in ("tid", "lane"))


def unknown(name: str, *, varying: bool) -> Expr:
    """A value nobody knows here: one per thread when varying, else one for the whole block."""
    return Expr("opaque" if varying else "uniform", value=name, varying=varying)


def symbol(name: str) -> Expr:
    """The address of an array or of what a pointer parameter points to; its number is 0 (aligned)."""
    return Expr("symbol", value=name)


def carried(phi: Phi, *, varying: bool) -> Expr:
    """The value of a loop-carried variable in the current iteration."""
    return Expr("phi", phi=phi, varying=varying or phi.init.varying, loops=phi.init.loops | {phi.loop})


def apply(op: str, *args: Expr) -> Expr:
    """An operation on values, folded where it is known already; too deep a chain becomes unknown."""
    folded = _fold(op, args)
    if folded is not None:
        return folded
    varying = any(arg.varying for arg in args)
    depth = 1 + max(arg.depth for arg in args)
    if depth > MAX_DEPTH:
        return unknown(f"deep {op}", varying=varying)
    return Expr(
        op, args, varying=varying, depth=depth, loops=frozenset[int]().union(*(arg.loops for arg in args))
    )


def add(left: Expr, right: Expr) -> Expr:
    """Their sum."""
    return apply("add", left, right)


def mul(left: Expr, right: Expr) -> Expr:
    """Their product."""
    return apply("mul", left, right)


def negated(condition: Expr) -> Expr:
    """The condition's opposite."""
    return apply("lnot", condition)


def constant(expr: Expr | None) -> int | None:
    """The number, where it is one."""
    return expr.value if expr is not None and expr.op == "const" and isinstance(expr.value, int) else None


def leaves(expr: Expr) -> set[tuple[str, str]]:
    """All (op, name) leaves that a value is made of, through loop-carried variables too."""
    found: set[tuple[str, str]] = set()
    seen: set[int] = set()
    waiting = [expr]
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if current.op in LEAVES and current.op != "const":
            found.add((current.op, str(current.value)))
        waiting += current.args
        if current.phi is not None:
            waiting.append(current.phi.init)
            if current.phi.following is not None:
                waiting.append(current.phi.following)
    return found


def symbols(expr: Expr) -> set[str]:
    """The base addresses in a value."""
    return {name for op, name in leaves(expr) if op == "symbol"}


def depends_on_data(expr: Expr) -> bool:
    """Whether some part differs between threads in a way that is not known here."""
    return any(op == "opaque" for op, _ in leaves(expr))


def _fold(op: str, args: tuple[Expr, ...]) -> Expr | None:
    numbers = [constant(arg) for arg in args]
    known = [number for number in numbers if number is not None]
    if len(known) == len(args):
        result = compute(op, known)
        return None if result is None else const(result)
    if op == "select" and numbers[0] is not None:
        return args[1] if numbers[0] else args[2]
    if len(args) == 2:
        return _identity(op, args, numbers)
    return None


def _identity(op: str, args: tuple[Expr, ...], numbers: list[int | None]) -> Expr | None:
    left, right = numbers
    if op in ("land", "mul") and 0 in numbers:
        return const(0)
    if op == "lor" and any(numbers):
        return const(1)
    if right is not None and right == _NEUTRAL.get(op):
        return args[0]
    if left is not None and left == _NEUTRAL.get(op) and op in ("add", "or", "xor", "mul"):
        return args[1]
    if op in ("land", "lor") and any(number is not None for number in numbers):
        return args[0] if left is None else args[1]
    return None


_NEUTRAL = {"add": 0, "sub": 0, "shl": 0, "shr": 0, "or": 0, "xor": 0, "mul": 1, "div": 1}


def compute(op: str, values: list[int]) -> int | None:
    """The operation on plain numbers, as C does it; None where it has no value."""
    unary = _UNARY.get(op)
    if unary is not None:
        return unary(values[0])
    if op == "select":
        return values[1] if values[0] else values[2]
    left, right = values
    if op in ("div", "rem"):
        return _divide(op, left, right)
    if op in ("shl", "shr"):
        return None if not 0 <= right < 64 else left << right if op == "shl" else left >> right
    binary = _BINARY.get(op)
    return None if binary is None else int(binary(left, right))


def _divide(op: str, left: int, right: int) -> int | None:
    if right == 0:
        return None
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient if op == "div" else left - quotient * right


_UNARY: dict[str, Callable[[int], int]] = {
    "neg": lambda value: -value,
    "not": lambda value: ~value,
    "lnot": lambda value: int(not value),
    "abs": abs,
    "low16": lambda value: value & 0xFFFF,
    "low32": lambda value: value & 0xFFFFFFFF,
}
_BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "mul": lambda left, right: left * right,
    "mulhi": lambda left, right: ((left & 0xFFFFFFFF) * (right & 0xFFFFFFFF)) >> 32,
    "mulhi_signed": lambda left, right: (left * right) >> 32,
    "and": lambda left, right: left & right,
    "or": lambda left, right: left | right,
    "xor": lambda left, right: left ^ right,
    "min": min,
    "max": max,
    "lt": lambda left, right: left < right,
    "le": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "ge": lambda left, right: left >= right,
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "land": lambda left, right: bool(left) and bool(right),
    "lor": lambda left, right: bool(left) or bool(right),
}
