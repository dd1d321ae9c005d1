"""Mechanical mistakes: every place of a source where one of a few operators applies, and the source with it applied."""

from collections.abc import Iterator
from dataclasses import dataclass

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

_RELATIONS = ("<", ">=", "<=", ">")
SAME_VALUE = "every thread writes the same value"
SHIFT = "softmax does not depend on which large value is subtracted"
# Mutants that compute the same: (workload, operator, a part of the line) and why.
EQUIVALENT = {
    ("attention", "off by one", "most = fmaxf"): SHIFT,
    ("attention-causal", "off by one", "most = fmaxf"): SHIFT,
    ("correlation", "swapped index", "corr["): "the output is symmetric",
    ("covariance", "swapped index", "cov["): "the output is symmetric",
    ("cross-entropy", "dropped guard", "loss["): SAME_VALUE,
    ("gramschmidt", "dropped guard", "= length"): SAME_VALUE,
    ("gramschmidt", "off by one", "if (j < k)"): "column k - 1 is orthogonal to column k already",
    ("layernorm", "wrong sign", "squares +="): "the sum of (x + m)(x - m) is that of (x - m)(x - m)",
    ("pooling-2d", "swapped index", "window["): "the window is square",
    ("prefix-sum", "off by one", "step < BLOCK"): "steps are powers of two",
    ("prefix-sum", "off by one", "start < blocks"): "nobody reads the last total",
    ("prefix-sum", "off by one", "i < blocks"): "nobody reads the last total",
    ("reduction", "wrong sign", "sum += x[i]"): "the kernel runs twice, and the signs cancel",
    ("reduction", "dropped guard", "sums["): SAME_VALUE,
    ("top-k", "dropped guard", "(threadIdx.x == 0)"): SAME_VALUE,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One mistake: the operator's name, the line, the text before and after, and the whole source with it."""

    operator: str
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.operator} at line {self.line}: {self.before} -> {self.after}"


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a source, in the order of the text."""
    content = source.encode()
    root = Parser(Language(tree_sitter_cuda.language())).parse(content).root_node
    for node in _walk(root):
        for operator, target, text in _mistakes(node):
            changed = content[: target.start_byte] + text.encode() + content[target.end_byte :]
            line = target.start_point.row + 1
            if changed != content:
                yield Mutant(operator, line, _text(target), text, changed.decode())


def equivalent(name: str, mutant: Mutant, source: str) -> str | None:
    """Why a mutant of a workload's baseline computes the same, or None."""
    line = source.splitlines()[mutant.line - 1]
    for (workload, operator, part), why in EQUIVALENT.items():
        if (name, mutant.operator) == (workload, operator) and part in line:
            return why
    return None


def _mistakes(node: Node) -> Iterator[tuple[str, Node, str]]:
    if node.type == "binary_expression":
        yield from _in_binary(node)
    elif node.type == "assignment_expression":
        yield from _in_assignment(node)
    elif node.type == "expression_statement" and _text(node) == "__syncthreads();":
        yield "missing barrier", node, ";"
    elif node.type == "if_statement":
        yield "dropped guard", _child(node, "condition"), "(true)"


def _in_binary(node: Node) -> Iterator[tuple[str, Node, str]]:
    sign, left, right = (_child(node, name) for name in ("operator", "left", "right"))
    if (
        _text(sign) in _RELATIONS
        and right.type != "number_literal"
        and _inside(node, ("for_statement", "if_statement"))
    ):
        yield "off by one", right, f"({_text(right)} - 1)"
    if _text(sign) in ("+", "-") and not _inside(node, ("subscript_expression",)) and _is_value(node):
        yield "wrong sign", sign, "-" if _text(sign) == "+" else "+"
    if _text(sign) == "+" and _inside(node, ("subscript_expression",)) and left.type == "binary_expression":
        first = _child(left, "left")
        if first.type == "cast_expression" and right.type == "identifier":
            row = _text(_child(first, "value"))
            yield "swapped index", node, f"(size_t){_text(right)} * {_text(_child(left, 'right'))} + {row}"


def _in_assignment(node: Node) -> Iterator[tuple[str, Node, str]]:
    sign, left, right = (_child(node, name) for name in ("operator", "left", "right"))
    if _text(sign) == "+=" and right.type != "number_literal":
        yield "wrong sign", sign, "-="
    if left.type == "subscript_expression":
        if _text(right) != "0.0f":
            yield "zero-filled", right, "0" if _text(sign) == "=" else f"0 * ({_text(right)})"
        statement = node.parent
        if statement is not None and statement.type == "expression_statement":
            yield "unwritten", statement, ";"
    if left.type == "identifier" and _text(sign) == "+=" and _floating(node, _text(left)):
        rounded = f"{_text(left)} = __half2float(__float2half({_text(left)} + ({_text(right)})))"
        yield "float16 accumulation", node, rounded


def _is_value(node: Node) -> bool:
    """Whether it is arithmetic on values rather than on indices: not in a loop's head, nor an integer's initializer."""
    at: Node | None = node
    while at is not None and at.type not in ("compound_statement", "for_statement"):
        if at.type == "declaration":
            return _text(at).startswith("float")
        if at.type in ("expression_statement", "assignment_expression"):
            return True
        at = at.parent
    return False


def _floating(node: Node, name: str) -> bool:
    at: Node | None = node
    while at is not None and at.type != "function_definition":
        at = at.parent
    text = _text(at) if at else ""
    return any(f"float {name} =" in line or f", {name} = 0.0f" in line for line in text.splitlines())


def _inside(node: Node, types: tuple[str, ...]) -> bool:
    """Whether an ancestor inside the same statement is of one of the types."""
    at = node.parent
    while at is not None and at.type not in ("compound_statement", "function_definition"):
        if at.type in types:
            body = at.child_by_field_name("body") or at.child_by_field_name("consequence")
            return body is None or not (body.start_byte <= node.start_byte < body.end_byte)
        at = at.parent
    return False


def _walk(root: Node) -> Iterator[Node]:
    yield root
    for child in root.children:
        yield from _walk(child)


def _child(node: Node, field: str) -> Node:
    found = node.child_by_field_name(field)
    if found is None:
        raise AssertionError(f"no {field} in {_text(node)}")
    return found


def _text(node: Node) -> str:
    return (node.text or b"").decode()
