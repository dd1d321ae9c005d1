"""Which variables of a function may differ between threads of one block. Flow-insensitive: once varying, always."""

from dataclasses import dataclass

from tree_sitter import Node

from . import syntax

# Calls whose result differs between threads whatever they are given.
_VARYING_CALLS = (
    "atomic",
    "__shfl",
    "__match",
    "__ballot",
    "__any",
    "__all",
    "__activemask",
    "clock",
    "__reduce",
)
_VARYING_METHODS = (".thread_rank", ".thread_index", ".shfl", ".ballot", ".any", ".all", ".arrive")
_CONDITIONAL = ("if_statement", "for_statement", "while_statement", "do_statement", "switch_statement")
_TARGETS = {"init_declarator": ("declarator", "value"), "assignment_expression": ("left", "right")}


@dataclass(frozen=True, slots=True)
class _Assignment:
    target: str
    sources: frozenset[str]
    varying: bool


def varying_names(body: Node, given: frozenset[str], arrays: frozenset[str]) -> frozenset[str]:
    """The varying names, `given` those known to be; `arrays` are shared or global: their elements vary by index only."""
    assignments: list[_Assignment] = []
    _collect(body, _Sources(), assignments, arrays)
    found = set(given) | {assignment.target for assignment in assignments if assignment.varying}
    size = -1
    while size != len(found):
        size = len(found)
        found |= {each.target for each in assignments if each.sources & found}
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class _Sources:
    names: frozenset[str] = frozenset()
    varying: bool = False

    def __or__(self, other: "_Sources") -> "_Sources":
        return _Sources(self.names | other.names, self.varying or other.varying)


def _collect(node: Node, around: _Sources, found: list[_Assignment], arrays: frozenset[str]) -> None:
    if node.type == "lambda_expression":
        return
    if node.type in _TARGETS:
        left, right = (syntax.field(node, name) for name in _TARGETS[node.type])
        _assign(left, right, around, found, arrays)
    elif node.type == "update_expression":
        _assign(syntax.field(node, "argument"), None, around, found, arrays)
    elif node.type == "gnu_asm_output_operand":
        found += [_Assignment(name, frozenset(), varying=True) for name in _sources(node).names]
    elif node.type == "pointer_expression" and node.children[0].type == "&":
        taken = syntax.field(node, "argument")
        if taken is not None and taken.type == "identifier" and syntax.text(taken) not in arrays:
            found.append(_Assignment(syntax.text(taken), frozenset(), varying=True))
    inner = around
    if node.type in _CONDITIONAL:
        condition = syntax.field(node, "condition")
        inner = around if condition is None else around | _sources(condition)
    for child in node.children:
        if child.is_named:
            _collect(child, inner, found, arrays)


def _assign(
    left: Node | None, right: Node | None, around: _Sources, found: list[_Assignment], arrays: frozenset[str]
) -> None:
    target = _base(left)
    if target and not (target in arrays and left is not None and left.type != "identifier"):
        sources = around if right is None else around | _sources(right)
        found.append(_Assignment(target, sources.names, sources.varying))


def _base(node: Node | None) -> str:
    """The variable that an lvalue or declarator belongs to."""
    while node is not None and node.type not in ("identifier", "field_identifier"):
        parts = ("argument", "declarator", "left")
        inner = next(
            (part for part in (syntax.field(node, name) for name in parts) if part is not None), None
        )
        node = inner if inner is not None else next(iter(node.named_children), None)
    return syntax.text(node)


def _sources(node: Node) -> _Sources:
    names: set[str] = set()
    varying = False
    for child in syntax.walk(node):
        if child.type == "identifier":
            name = syntax.text(child)
            names.add(name)
            varying |= name == "threadIdx"
        elif child.type == "call_expression":
            call = syntax.called(child)
            varying |= call.startswith(_VARYING_CALLS) or call.startswith(_VARYING_METHODS)
        elif child.type == "string_literal" and b"%lane" in (child.text or b""):
            varying = True
    return _Sources(frozenset(names), varying)
