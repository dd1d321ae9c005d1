"""More mechanical mistakes: in the launch, in what is left unwritten, and in shared tiles that are not renewed."""

import re
from collections.abc import Iterator

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from .mutants import Mutant

_CEILDIV = re.compile(r"ceildiv\(([\w*+]+),\s*([\w*]+)\)")
_SHARED = re.compile(r"__shared__\s+[\w ]+?\s+(\w+)\s*\[")
_LOOP = re.compile(r"for \((?:int|long long|size_t|unsigned) (\w+) = ([^;]+);")


def careless_mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of these operators, in the order of the text."""
    yield from _dropped_tails(source)
    content = source.encode()
    shared = set(_SHARED.findall(source))
    root = Parser(Language(tree_sitter_cuda.language())).parse(content).root_node
    for node in _walk(root):
        for operator, target, text in _mistakes(node, shared):
            changed = content[: target.start_byte] + text.encode() + content[target.end_byte :]
            yield Mutant(operator, target.start_point.row + 1, _text(target), text, changed.decode())


def _dropped_tails(source: str) -> Iterator[Mutant]:
    """The grid rounded down in place of up: whole blocks only."""
    lines = source.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if not line.startswith("// grid"):
            continue
        for match in _CEILDIV.finditer(line):
            down = f"max(1, ({match[1]})//({match[2]}))"
            changed = line[: match.start()] + down + line[match.end() :]
            text = "".join([*lines[:number], changed, *lines[number + 1 :]])
            yield Mutant("dropped tail", number + 1, match[0], down, text)


def _mistakes(node: Node, shared: set[str]) -> Iterator[tuple[str, Node, str]]:
    if node.type != "expression_statement" or node.child_count == 0:
        return
    assignment = node.children[0]
    if assignment.type != "assignment_expression":
        return
    left, right = (assignment.child_by_field_name(name) for name in ("left", "right"))
    if left is None or right is None or left.type != "subscript_expression":
        return
    base = left.child_by_field_name("argument")
    name = _text(base) if base else ""
    if name in shared:
        loop = _loop_around(node)
        if loop:
            yield "stale shared tile", node, f"if ({loop[0]} == {loop[1]}) {_text(node)}"
        return
    sign = assignment.child_by_field_name("operator")
    if sign is not None and _text(sign) == "=":
        yield "NaN-filled", right, "(0.0f / 0.0f)"
    index = _text(left)[len(name) :].strip("[]")
    yield "unwritten tail", node, f"if ((((long long)({index})) & 3) != 3) {_text(node)}"


def _loop_around(node: Node) -> tuple[str, str] | None:
    """(variable, first value) of the innermost loop around a statement that declares its variable."""
    at = node.parent
    while at is not None and at.type != "function_definition":
        if at.type == "for_statement" and (match := _LOOP.match(_text(at))):
            return match[1], f"({match[2]})"
        at = at.parent
    return None


def _walk(root: Node) -> Iterator[Node]:
    yield root
    for child in root.children:
        yield from _walk(child)


def _text(node: Node) -> str:
    return (node.text or b"").decode()
