"""The preprocessor's conditions: whether an `#if` holds, as far as macros known here tell."""

import ast
import operator
import re
from collections.abc import Callable, Mapping

from . import syntax

_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_NAME = re.compile(r"\b[A-Za-z_]\w*\b")
_OPERATORS = ((re.compile(r"&&"), " and "), (re.compile(r"\|\|"), " or "), (re.compile(r"!(?!=)"), " not "))
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ARITHMETIC: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def holds(condition: str, macros: Mapping[str, str]) -> bool:
    """Whether the condition is true; an unknown name counts as 0, as the preprocessor has it, an odd form as true."""
    text = _DEFINED.sub(lambda match: str(int((match.group(1) or match.group(2)) in macros)), condition)
    for _ in range(8):
        replaced = _NAME.sub(lambda match: macros.get(match.group(), "0") or "0", text)
        if replaced == text:
            break
        text = replaced
    text = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text)
    for pattern, word in _OPERATORS:
        text = pattern.sub(word, text)
    try:
        return bool(_evaluate(ast.parse(text.strip(), mode="eval").body))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True


def _evaluate(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return int(node.value)
    if isinstance(node, ast.BoolOp):
        values = (_evaluate(value) for value in node.values)
        return int(all(values) if isinstance(node.op, ast.And) else any(values))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        value = _evaluate(node.operand)
        return int(not value) if isinstance(node.op, ast.Not) else -value
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return _ARITHMETIC[type(node.op)](_evaluate(node.left), _evaluate(node.right))
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS and len(node.ops) == 1:
        return int(_COMPARISONS[type(node.ops[0])](_evaluate(node.left), _evaluate(node.comparators[0])))
    raise ValueError("not a condition of this small language")


def predefined(arch: str) -> dict[str, str]:
    """The macros that nvcc defines when it compiles device code for an architecture."""
    digits = syntax.integer(re.sub(r"\D", "", arch)) or 90
    return {"__CUDACC__": "1", "__NVCC__": "1", "__cplusplus": "201703", "__CUDA_ARCH__": str(digits * 10)}
