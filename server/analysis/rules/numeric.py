"""Findings about number types in device code: double literals among floats, and 32-bit products that are widened late."""

import re
import struct

from tree_sitter import Node

from ...reports.finding import Confidence, Finding, Severity
from ..source import syntax
from ..source.types import Type, declared_type
from ..source.unit import Function, Unit, location

_DOUBLE = re.compile(r"^(?:\d[\d']*\.[\d']*|\.\d[\d']*|\d[\d']*(?=[eE]))(?:[eE][-+]?\d+)?$")
_PROMOTING = {"pow", "fmax", "fmin", "fmod", "atan2", "hypot", "max", "min", "copysign", "fdim"}
_PROMOTING_OPERATIONS = {
    *(("binary_expression", operator) for operator in ("+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=")),
    *(("assignment_expression", operator) for operator in ("*=", "/=", "+=", "-=")),
}
_BUILT_IN = re.compile(r"\b(?:threadIdx|blockIdx|blockDim|gridDim)\b")


def numeric_findings(unit: Unit) -> list[Finding]:
    """The findings of every kernel and device function."""
    found: list[Finding] = []
    for function in unit.of_role("kernel", "device"):
        types = _types(unit, function)
        found += _double_literals(unit, function, types)
        found += _late_widening(function, types)
    return found


def _types(unit: Unit, function: Function) -> dict[str, Type]:
    """The declared types of a function's names (one each: the last declaration wins)."""
    types = {parameter.name: parameter.type for parameter in function.parameters}
    for node in function.nodes("declaration"):
        for declarator in syntax.fields(node, "declarator"):
            types[syntax.declared(declarator)] = declared_type(node, declarator)
    return types


def _double_literals(unit: Unit, function: Function, types: dict[str, Type]) -> list[Finding]:
    if any(kind.is_double for kind in types.values()) or "(double)" in syntax.text(function.body):
        return []
    found: dict[int, Finding] = {}
    for node in function.nodes("binary_expression", "assignment_expression", "call_expression"):
        literal = _promoting_literal(unit, node, types)
        if literal is not None and literal.start_point[0] not in found:
            found[literal.start_point[0]] = _double(unit, function, literal)
    return list(found.values())


def _promoting_literal(unit: Unit, node: Node, types: dict[str, Type]) -> Node | None:
    """A double literal that turns a float operation into a double one."""
    operator = syntax.text(syntax.field(node, "operator"))
    sides: list[Node | None] = []
    if (node.type, operator) in _PROMOTING_OPERATIONS:
        sides = [syntax.field(node, "left"), syntax.field(node, "right")]
    elif node.type == "call_expression" and syntax.called(node) in _PROMOTING:
        sides += syntax.arguments(node)[:2]
    known = [side for side in sides if side is not None]
    for literal, other in zip(known, reversed(known), strict=True):
        if len(known) == 2 and _double_text(unit, literal) and _is_float(other, types):
            return literal
    return None


def _double_text(unit: Unit, node: Node) -> str:
    """The literal's text where a node is a double literal, also behind a macro, parentheses or a sign."""
    text = syntax.text(node).strip("()-+ ")
    macro = unit.macros.get(text)
    if macro is not None and macro.parameters is None:
        text = macro.body.strip("()-+ ")
    return text if _DOUBLE.match(text) else ""


def _is_float(node: Node, types: dict[str, Type]) -> bool:
    """Whether an expression is single precision: made of float variables, elements or float functions."""
    kinds: set[bool] = set()
    for child in syntax.walk(node):
        if child.type in ("subscript_argument_list", "argument_list") and child.id != node.id:
            continue
        if child.type == "identifier":
            kind = types.get(syntax.text(child))
            if kind is not None and (kind.is_float or kind.is_double):
                kinds.add(kind.is_float and not _inside_index(child, node))
        elif (
            child.type == "number_literal"
            and syntax.text(child).lower().endswith("f")
            and "." in syntax.text(child)
        ):
            kinds.add(True)
    return True in kinds


def _inside_index(node: Node, top: Node) -> bool:
    current = node.parent
    while current is not None and current.id != top.id:
        if current.type == "subscript_argument_list":
            return True
        current = current.parent
    return False


def _double(unit: Unit, function: Function, literal: Node) -> Finding:
    text = _double_text(unit, literal)
    exact = struct.unpack("f", struct.pack("f", float(text.replace("'", ""))))[0] == float(
        text.replace("'", "")
    )
    severity: Severity = "note" if exact else "warning"
    confidence: Confidence = "possible" if exact else "likely"
    return Finding(
        rule="source/double-literal",
        severity=severity,
        confidence=confidence,
        message=f"{text} is a double: the float operation with it runs in double precision.",
        kernel=function.name,
        location=location(function.file, literal),
        evidence={"literal": text, "exact_as_float": exact},
        suggestion=f"Write {text}f.",
        confirm="analyze layers=[sass]: DMUL, DADD, DFMA or F2F.F64 at this line",
    )


def _late_widening(function: Function, types: dict[str, Type]) -> list[Finding]:
    found: list[Finding] = []
    for node in function.nodes("declaration"):
        for declarator in syntax.fields(node, "declarator"):
            value = syntax.field(declarator, "value") if declarator.type == "init_declarator" else None
            if value is not None and declared_type(node, declarator).is_int64:
                product = _narrow_product(value, types)
                if product is not None:
                    found.append(_overflow(function, product, syntax.text(syntax.field(node, "type"))))
    return found


def _narrow_product(node: Node, types: dict[str, Type]) -> Node | None:
    """A product of 32-bit run-time values with no 64-bit operand in the expression."""
    text = syntax.text(node)
    if re.search(r"size_t|int64_t|long|\b\d+(?:[uU]?[lL]{1,2}|[zZ])\b|sizeof", text):
        return None
    names = [child for child in syntax.walk(node) if child.type == "identifier"]
    if any(types[name].is_int64 for name in map(syntax.text, names) if name in types):
        return None
    for child in syntax.walk(node):
        if child.type == "binary_expression" and syntax.text(syntax.field(child, "operator")) == "*":
            sides = [syntax.text(syntax.field(child, side)).strip("()") for side in ("left", "right")]
            narrow = [side in types and types[side].is_int32 for side in sides]
            if all(narrow) or (any(narrow) and any(_BUILT_IN.search(side) for side in sides)):
                return child
    return None


def _overflow(function: Function, product: Node, wide: str) -> Finding:
    text = syntax.text(product)
    left = syntax.text(syntax.field(product, "left"))
    return Finding(
        rule="source/index-overflow",
        severity="warning",
        confidence="likely",
        message=f"{text} is multiplied in 32 bits and only then widened: it overflows from 2^31 on.",
        kernel=function.name,
        location=location(function.file, product),
        evidence={"product": text, "widened_to": wide},
        suggestion=f"Widen an operand first: static_cast<{wide}>({left}) * ...",
        confirm="debug with sizes whose product passes 2^31",
    )
