"""Expressions of the source as symbolic values; the memory accesses on the way become nodes of the flow."""

from collections.abc import Callable

from tree_sitter import Node

from ...reports.finding import Location
from ..expressions import BuiltIn, Expr, apply, const, leaf, negated, unknown
from ..flow import Guard
from . import syntax
from .environment import Pointer, Value
from .graph import Graph
from .macros import Macros
from .types import declared_type
from .unit import Unit

_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "rem", "<<": "shl", ">>": "shr"}
_LOGIC = {
    "&": "and",
    "|": "or",
    "^": "xor",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
    "==": "eq",
    "!=": "ne",
}
_BINARY = _ARITHMETIC | _LOGIC
_UNARY = {"-": "neg", "~": "not", "!": "lnot"}
_BUILT_IN: dict[str, BuiltIn] = {
    "threadIdx": "tid",
    "blockIdx": "ctaid",
    "blockDim": "ntid",
    "gridDim": "nctaid",
}
_CONSTANTS = {"true": 1, "false": 0, "nullptr": 0, "NULL": 0, "warpSize": 32}


class Reader(Macros):
    """Reads expressions in one frame; calls are followed by the subclass."""

    def __init__(self, unit: Unit, graph: Graph, file: str) -> None:
        super().__init__(unit, graph, file)
        self._kinds: dict[str, Callable[[Node], Value]] = {
            "identifier": self._identifier,
            "number_literal": self._number,
            "parenthesized_expression": self._inner,
            "condition_clause": self._condition,
            "field_expression": self._field,
            "subscript_expression": self._element,
            "pointer_expression": self._dereference,
            "unary_expression": self._unary,
            "binary_expression": self._binary,
            "conditional_expression": self._conditional,
            "assignment_expression": self._assignment,
            "update_expression": self._update,
            "cast_expression": self._cast,
            "call_expression": self.call,
            "comma_expression": self._comma,
            "sizeof_expression": self._sizeof,
            "initializer_list": self._inner,
            "argument_list": self._inner,
        }

    def value(self, node: Node | None) -> Value:
        """What an expression stands for."""
        if node is None:
            return const(1)
        kind = self._kinds.get(node.type)
        if kind is not None:
            return kind(node)
        text = syntax.text(node)
        return const(_CONSTANTS[text]) if text in _CONSTANTS else self._other(node)

    def assign(self, node: Node | None, value: Value, *, compound: bool = False) -> None:
        """Give a variable or a place in memory a value."""
        if node is None:
            return
        pointer = self.place_of(node)
        if pointer is not None:
            self.store(pointer, node, value if isinstance(value, Expr) else None, compound=compound)
            return
        name = syntax.text(node)
        declared = self.frame.types.get(name)
        real = declared is not None and not declared.is_address and (declared.is_float or declared.is_double)
        self.frame.names[name] = self.frame.unknown(name) if real else value

    def _identifier(self, node: Node) -> Value:
        name = syntax.text(node)
        found = self.frame.names.get(name)
        if found is not None:
            return self.load(found, node) if isinstance(found, Pointer) and found.cell else found
        if name in _CONSTANTS:
            return const(_CONSTANTS[name])
        constant = self.unit.constants.get(name)
        if constant is not None and self.may_go_deeper():
            with self.deeper():
                return self.value(constant)
        text = self.expand(name, [])
        value = None if text is None else self.expanded(node, text)
        return self.frame.unknown(name) if value is None else value

    def _number(self, node: Node) -> Value:
        literal = syntax.text(node)
        found = syntax.integer(literal)
        return unknown(literal, varying=False) if found is None else const(found)

    def _inner(self, node: Node) -> Value:
        inner = [child for child in node.named_children if child.type != "comment"]
        return self.value(inner[0]) if len(inner) == 1 else self._other(node)

    def _condition(self, node: Node) -> Value:
        start = syntax.field(node, "initializer")
        if start is not None:
            self._other(start)
        found = syntax.field(node, "value")
        if found is not None and found.type == "declaration":
            name = syntax.declared(syntax.field(found, "declarator"))
            self.frame.names[name] = self.value(syntax.field(found, "value"))
            return self.frame.names[name]
        return self.value(found)

    def _field(self, node: Node) -> Value:
        argument = syntax.field(node, "argument")
        base, axis = syntax.text(argument), syntax.text(syntax.field(node, "field"))
        if base in _BUILT_IN and axis in ("x", "y", "z"):
            return leaf(_BUILT_IN[base], axis)
        known = self.frame.names.get(syntax.text(node))
        if known is not None:
            return known
        pointer = self.place_of(node)
        if pointer is not None:
            return self.load(pointer, node)
        return unknown(
            f"{self.frame.prefix}{syntax.text(node)}", varying=base.split(".")[0] in self.frame.varying
        )

    def _element(self, node: Node) -> Value:
        pointer = self._subscript(node)
        if pointer is None:
            return unknown(f"{self.frame.prefix}{syntax.text(node)}", varying=self._mentions_varying(node))
        return self.load(pointer, node) if pointer.cell else pointer

    def _dereference(self, node: Node) -> Value:
        argument = syntax.field(node, "argument")
        if node.children[0].type == "&":
            pointer = self.place_of(argument)
            if pointer is None:
                found = self.value(argument)
                return found if isinstance(found, Pointer) else unknown(syntax.text(node), varying=True)
            return Pointer(
                pointer.space, pointer.base, pointer.address, pointer.element_bytes, volatile=pointer.volatile
            )
        pointer = self.place_of(node)
        return self._other(node) if pointer is None else self.load(pointer, node)

    def _unary(self, node: Node) -> Value:
        value = self.number(syntax.field(node, "argument"))
        operator = syntax.text(syntax.field(node, "operator"))
        return apply(_UNARY[operator], value) if operator in _UNARY else value

    def _binary(self, node: Node) -> Value:
        left, right = syntax.field(node, "left"), syntax.field(node, "right")
        operator = syntax.text(syntax.field(node, "operator"))
        if operator in ("&&", "||"):
            return self._logical(left, right, operator)
        first, second = self.value(left), self.value(right)
        if isinstance(first, Pointer) and isinstance(second, Expr) and operator in ("+", "-"):
            return first.moved(second if operator == "+" else apply("neg", second))
        if isinstance(second, Pointer) and isinstance(first, Expr) and operator == "+":
            return second.moved(first)
        if (
            not (isinstance(first, Expr) and isinstance(second, Expr))
            or syntax.is_real(left)
            or syntax.is_real(right)
        ):
            return unknown(syntax.text(node), varying=self._mentions_varying(node))
        return apply(_BINARY[operator], first, second) if operator in _BINARY else self._other(node)

    def _logical(self, left: Node | None, right: Node | None, operator: str) -> Value:
        first = self.number(left)
        guard = first if operator == "&&" else negated(first)
        place = self.place(left) if left is not None else Location(file=self.file)
        with self.graph.under(Guard(guard, place)):
            second = self.number(right)
        return apply("land" if operator == "&&" else "lor", first, second)

    def _conditional(self, node: Node) -> Value:
        condition = self.number(syntax.field(node, "condition"))
        chosen, other = syntax.field(node, "consequence"), syntax.field(node, "alternative")
        with self.graph.under(Guard(condition, self.place(node))):
            first = self.value(chosen)
        with self.graph.under(Guard(negated(condition), self.place(node))):
            second = self.value(other)
        if isinstance(first, Expr) and isinstance(second, Expr):
            return apply("select", condition, first, second)
        return first

    def _assignment(self, node: Node) -> Value:
        left, right = syntax.field(node, "left"), syntax.field(node, "right")
        operator = syntax.text(syntax.field(node, "operator"))
        value = self.value(right)
        if operator != "=":
            before = self.value(left)
            value = self._combined(before, value, operator.removesuffix("="), node)
        self.assign(left, value, compound=operator != "=")
        return value

    def _combined(self, before: Value, value: Value, operator: str, node: Node) -> Value:
        if isinstance(before, Pointer) and isinstance(value, Expr) and operator in ("+", "-"):
            return before.moved(value if operator == "+" else apply("neg", value))
        if isinstance(before, Expr) and isinstance(value, Expr) and operator in _BINARY:
            return apply(_BINARY[operator], before, value)
        return unknown(syntax.text(node), varying=True)

    def _update(self, node: Node) -> Value:
        target = syntax.field(node, "argument")
        before = self.value(target)
        step = const(1 if any(child.type == "++" for child in node.children) else -1)
        after = before.moved(step) if isinstance(before, Pointer) else before
        after = apply("add", before, step) if isinstance(before, Expr) else after
        self.assign(target, after, compound=True)
        return before if node.children[0].is_named else after

    def _cast(self, node: Node) -> Value:
        return self.cast(syntax.field(node, "type"), self.value(syntax.field(node, "value")))

    def cast(self, descriptor: Node | None, value: Value) -> Value:
        """A value as another type: only pointers change, to elements of another size."""
        if descriptor is None or not isinstance(value, Pointer):
            return value
        wanted = declared_type(descriptor, syntax.field(descriptor, "declarator"))
        if not wanted.is_address:
            return value
        found = value.cast(wanted.size_bytes)
        if not wanted.extents:
            return found
        inner = tuple(self.number(extent) for extent in wanted.extents)
        return Pointer(found.space, found.base, found.address, found.element_bytes, (None, *inner))

    def _comma(self, node: Node) -> Value:
        values = [self.value(child) for child in node.named_children]
        return values[-1]

    def _sizeof(self, node: Node) -> Value:
        descriptor = syntax.field(node, "type")
        size = None if descriptor is None else declared_type(descriptor, None).size_bytes
        return unknown(syntax.text(node), varying=False) if size is None else const(size)

    def _other(self, node: Node) -> Value:
        if node.type != "lambda_expression":
            for child in node.named_children:
                self.value(child)
        return unknown(f"{self.frame.prefix}{syntax.text(node)[:40]}", varying=self._mentions_varying(node))

    def _mentions_varying(self, node: Node) -> bool:
        names = {syntax.text(child) for child in syntax.walk(node) if child.type == "identifier"}
        return "threadIdx" in names or bool(names & self.frame.varying)
