"""What PTX instructions compute, as symbolic values: integer arithmetic, comparisons and special registers."""

import re
from collections.abc import Callable, Mapping

from ..expressions import BuiltIn, Expr, add, apply, const, leaf, mul, negated, unknown
from .module import Instruction

Read = Callable[[str], Expr]
_COMPARISONS = {
    "eq": "eq",
    "ne": "ne",
    "lt": "lt",
    "le": "le",
    "gt": "gt",
    "ge": "ge",
    "lo": "lt",
    "ls": "le",
    "hi": "gt",
    "hs": "ge",
}
_SPECIAL: dict[str, BuiltIn] = {"tid": "tid", "ntid": "ntid", "ctaid": "ctaid", "nctaid": "nctaid"}
_IMMEDIATE = re.compile(r"^-?(?:0[xX][0-9a-fA-F]+|\d+)U?$")


def operand(text: str, registers: Read, symbols: Mapping[str, Expr]) -> Expr:
    """The value of an operand: an immediate, a special register, a symbol's address or a register."""
    if _IMMEDIATE.match(text):
        return const(int(text.rstrip("U"), 0 if not re.match(r"^-?0\d", text) else 8))
    special = re.match(r"^%(n?tid|n?ctaid)\.([xyz])$", text)
    if special is not None:
        return leaf(_SPECIAL[special.group(1)], special.group(2))
    if text == "%laneid":
        return leaf("lane")
    if text == "WARP_SZ":
        return const(32)
    if text.startswith("%"):
        return registers(text)
    return symbols.get(text) or unknown(text, varying=False)


def address(text: str, read: Read) -> Expr:
    """The value of `[base+offset]`."""
    inner = text.strip("[]").strip()
    match = re.match(r"^(.*?)\s*([+-])\s*(-?\d+|0x[0-9a-fA-F]+)$", inner)
    if match is None:
        return read(inner)
    offset = int(match.group(3), 0)
    return add(read(match.group(1)), const(offset if match.group(2) == "+" else -offset))


def computed(instruction: Instruction, read: Read) -> Expr | None:
    """The value that an arithmetic instruction gives its first operand; None for any other instruction."""
    parts = instruction.parts
    compute = _COMPUTED.get(parts[0])
    if compute is None or _is_real(parts):
        return None
    return compute(
        parts, [read(each) for each in instruction.operands[1:] if each[:1] not in ("{", "[", "(")]
    )


def _is_real(parts: list[str]) -> bool:
    return any(re.match(r"^(?:f\d+|bf\d+|f\d+x2|e\dm\d)", part) for part in parts[1:])


def _unsigned(parts: list[str], value: Expr) -> Expr:
    return apply("low32", value) if parts[-1] in ("u32", "b32") else value


def _converted(parts: list[str], given: list[Expr]) -> Expr | None:
    if len(given) != 1 or len(parts) < 3:
        return None
    value, to, source = given[0], parts[-2], parts[-1]
    if to in ("u16", "b16", "s16") or source == "u16":
        return apply("low16", value)
    if to == "u32" or (source == "u32" and to.endswith("64")):
        return value if value.op in ("const", "tid", "ctaid", "ntid") else apply("low32", value)
    return value


def _copied(parts: list[str], given: list[Expr]) -> Expr | None:
    return given[0] if len(given) == 1 else None


def _product(parts: list[str], given: list[Expr]) -> Expr | None:
    if len(given) < 2 or ("hi" in parts and not parts[-1].endswith("32")):
        return None
    if "hi" in parts:
        product = apply("mulhi" if parts[-1].startswith("u") else "mulhi_signed", given[0], given[1])
    else:
        product = mul(given[0], given[1])
    return add(product, given[2]) if len(given) == 3 else product


def _shifted(parts: list[str], given: list[Expr]) -> Expr | None:
    if len(given) != 2:
        return None
    return apply("shr", given[0] if parts[-1].startswith("s") else _unsigned(parts, given[0]), given[1])


def _unary(parts: list[str], given: list[Expr]) -> Expr | None:
    if len(given) != 1:
        return None
    return negated(given[0]) if parts[-1] == "pred" else apply(parts[0], given[0])


def _selected(parts: list[str], given: list[Expr]) -> Expr | None:
    return apply("select", given[2], given[0], given[1]) if len(given) == 3 else None


def _plain(parts: list[str], given: list[Expr]) -> Expr | None:
    if len(given) != 2:
        return None
    logical = {"and": "land", "or": "lor", "xor": "ne"} if parts[-1] == "pred" else {}
    return apply(logical.get(parts[0], parts[0]), *given)


def _comparison(parts: list[str], given: list[Expr]) -> Expr | None:
    kind = _COMPARISONS.get(parts[1]) if len(parts) > 1 else None
    if kind is None or len(given) < 2:
        return None
    left, right = given[0], given[1]
    if parts[-1] in ("u32", "b32") and kind not in ("eq", "ne"):
        left, right = _unsigned(parts, left), _unsigned(parts, right)
    result = apply(kind, left, right)
    if len(given) == 3 and len(parts) > 3:
        return apply({"and": "land", "or": "lor"}.get(parts[2], "ne"), result, given[2])
    return result


_COMPUTED: dict[str, Callable[[list[str], list[Expr]], Expr | None]] = {
    **dict.fromkeys(("add", "sub", "div", "rem", "and", "or", "xor", "min", "max", "shl"), _plain),
    **dict.fromkeys(("not", "neg", "abs"), _unary),
    **dict.fromkeys(("mul", "mad"), _product),
    **dict.fromkeys(("mov", "cvta"), _copied),
    "cvt": _converted,
    "shr": _shifted,
    "selp": _selected,
    "setp": _comparison,
}
