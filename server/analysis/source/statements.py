"""Statements of device code, followed in order: branches, loops, declarations. The result is the flow of one kernel."""

from collections.abc import Callable

from tree_sitter import Node

from ..expressions import Expr, const, negated, unknown
from ..flow import Guard
from . import syntax
from .environment import Frame, Pointer, Value, merged
from .graph import Edge, Graph
from .loops import Loops
from .taint import varying_names
from .types import Type, declared_type
from .unit import Function, Unit, taken

Names = dict[str, Value]
MAX_DEPTH = 6
MAX_CALLS = 300


class Statements(Loops):
    """Follows the statements of one kernel and of the device functions that it calls."""

    def __init__(self, unit: Unit, graph: Graph, file: str) -> None:
        super().__init__(unit, graph, file)
        self._ends: list[list[Edge]] = []
        self._following: list[Function] = []
        self._followed = 0
        self._handlers: dict[str, Callable[[Node], None]] = {
            "compound_statement": self.block,
            "declaration": self._declaration,
            "expression_statement": self._expression,
            "if_statement": self._if,
            "for_statement": self.follow_for,
            "while_statement": self.follow_while,
            "do_statement": self.follow_do,
            "switch_statement": self.follow_switch,
            "return_statement": self._return,
            "break_statement": self.follow_break,
            "continue_statement": self.follow_continue,
            "else_clause": self.block,
            "for_range_loop": self.follow_range,
            "labeled_statement": self.block,
            "case_statement": self.block,
            "attributed_statement": self.block,
            "goto_statement": self._give_up,
            "ERROR": self._give_up,
        }

    def may_follow(self, function: Function) -> bool:
        """Whether it is neither being followed already nor one too many."""
        return (
            function not in self._following
            and len(self._following) < MAX_DEPTH
            and self._followed < MAX_CALLS
        )

    def follow(self, function: Function, given: list[Value], node: Node) -> Value:
        """Walk a device function with these arguments; its return value is unknown where it has several."""
        outer: Frame = self.frame
        file = self.file
        inner = Frame(prefix=f"{function.name}@{node.start_byte}.")
        bind(function, given, inner)
        with self.graph.called_from(self.place(node)), self.graph.scope():
            self.frame, self.file = inner, function.file
            self._following.append(function)
            self._followed += 1
            try:
                self.body(function)
            finally:
                self._following.pop()
                self.frame, self.file = outer, file
        self._forget_references(function, node)
        if len(inner.returned) == 1:
            return inner.returned[0]
        varying = any(isinstance(value, Expr) and value.varying for value in inner.returned)
        return unknown(f"{function.name}()@{node.start_byte}", varying=varying or len(inner.returned) > 1)

    def body(self, function: Function) -> None:
        """Walk a function's body in the present frame."""
        self.frame.varying = _varying(self.unit, function, self.frame)
        loops, self.around = self.around, []
        self._ends.append([])
        self.block(function.body)
        self.around = loops
        self.graph.open = self.graph.open + self._ends.pop()

    def statement(self, node: Node | None) -> None:
        """Follow one statement; what is not known here has no effect."""
        handler = None if node is None else self._handlers.get(node.type)
        if node is not None and handler is not None and self.graph.complete:
            handler(node)

    def block(self, node: Node) -> None:
        """Follow the statements of a block; what it declares hides outer names until its end."""
        declared = {
            name for child in node.named_children if child.type == "declaration" for name in _names(child)
        }
        hidden = {name: self.frame.names[name] for name in declared if name in self.frame.names}
        for child in taken(self.unit, node):
            if child.is_named:
                self.statement(child)
        self.frame.names |= hidden

    def _expression(self, node: Node) -> None:
        inner = next((child for child in node.named_children if child.type != "comment"), None)
        if inner is None or self._statement_macro(inner):
            return
        if inner.type == "gnu_asm_expression":
            self._assembly(inner)
        else:
            self.value(inner)

    def _statement_macro(self, node: Node) -> bool:
        call = node.type == "call_expression"
        if not call and node.type != "identifier":
            return False
        given = [syntax.text(argument) for argument in syntax.arguments(node)] if call else []
        text = self.expand(syntax.called(node) if call else syntax.text(node), given)
        if text is None or syntax.parse_expression(text) is not None:
            return False
        block = syntax.parse_statements(text)
        if block is None:
            return False
        with self.graph.expanding(self.place(node)):
            self.block(block)
        return True

    def _assembly(self, node: Node) -> None:
        code = syntax.text(syntax.field(node, "assembly_code"))
        if "bar.sync" in code or "barrier.sync" in code or "barrier.cta.sync" in code:
            whole = "," not in code.split("sync")[-1]
            self.graph.emit("barrier" if whole else "unknown_call", self.place(node), name="bar.sync")
        elif "bar.warp.sync" in code:
            self.graph.emit("warp_barrier", self.place(node), name="bar.warp.sync")
        elif "shared" in code or "wait" in code or "bulk" in code:
            self.graph.emit("unknown_call", self.place(node), name="asm")
        for child in syntax.walk(node):
            if child.type == "gnu_asm_output_operand":
                name = syntax.text(syntax.field(child, "value"))
                self.frame.names[name] = unknown(f"asm {name}", varying=True)

    def _declaration(self, node: Node) -> None:
        shared = syntax.has_token(node, "__shared__")
        for declarator in syntax.fields(node, "declarator"):
            name = syntax.declared(declarator)
            kind = declared_type(node, declarator)
            self.frame.types[name] = kind
            if shared or kind.extents:
                self.frame.names[name] = self.array(name, kind, shared=shared)
            else:
                self._variable(name, kind, declarator)

    def array(self, name: str, kind: Type, *, shared: bool) -> Pointer:
        """The array (or single shared variable) that a declaration makes."""
        extents = tuple(None if extent is None else self.number(extent) for extent in kind.extents)
        base = f"{self.frame.prefix}{name}"
        cell = not extents
        size = 8 if kind.pointers else kind.size_bytes
        return Pointer(
            "shared" if shared else "local", base, const(0), size, extents, volatile=kind.volatile, cell=cell
        )

    def _variable(self, name: str, kind: Type, declarator: Node) -> None:
        given = syntax.field(declarator, "value")
        if given is None:
            self.frame.names[name] = self.frame.unknown(name)
            return
        if kind.reference:
            place = self.place_of(given)
            if place is not None:
                self.frame.names[name] = place
                return
        value = self.value(given)
        real = not kind.is_address and (kind.is_float or kind.is_double)
        self.frame.names[name] = self.frame.unknown(name) if real else value
        if isinstance(value, Pointer) and kind.volatile:
            self.frame.names[name] = Pointer(
                value.space, value.base, value.address, value.element_bytes, value.extents, volatile=True
            )

    def _if(self, node: Node) -> None:
        clause = syntax.field(node, "condition")
        condition = self.number(clause)
        place = self.place(clause or node)
        before, start = dict(self.frame.names), self.graph.open
        first = self._branch(syntax.field(node, "consequence"), Guard(condition, place), condition)
        ends, self.graph.open, self.frame.names = self.graph.open, start, before
        left = first
        before = dict(before)
        opposite = negated(condition)
        right = self._branch(syntax.field(node, "alternative"), Guard(opposite, place), opposite)
        second, self.graph.open = self.graph.open, ends + self.graph.open
        if not ends:
            self.frame.names = right
            self.graph.guards.append(Guard(opposite, place, exits=True))
        elif not second:
            self.frame.names = left
            self.graph.guards.append(Guard(condition, place, exits=True))
        else:
            self.frame.names = merged(condition, left, right, self.frame)

    def _branch(self, node: Node | None, guard: Guard, condition: Expr) -> Names:
        if condition.op == "const" and not condition.value:
            self.graph.open = []
            return dict(self.frame.names)
        with self.graph.under(guard):
            if node is None and not condition.varying:
                self.graph.emit("join", guard.place)  # the way around a branch that all threads may take
            self.statement(node)
        return dict(self.frame.names)

    def _return(self, node: Node) -> None:
        inner = next(iter(node.named_children), None)
        if inner is not None:
            self.frame.returned.append(self.value(inner))
        if self._ends:
            self._ends[-1] += self.graph.open
        self.graph.open = []

    def _give_up(self, node: Node) -> None:
        self.graph.complete = self.graph.complete and node.type != "goto_statement"

    def _forget_references(self, function: Function, node: Node) -> None:
        for parameter, argument in zip(function.parameters, syntax.arguments(node), strict=False):
            name = syntax.text(argument)
            if (
                parameter.type.reference
                and not parameter.type.const
                and isinstance(self.frame.names.get(name), Expr)
            ):
                self.frame.names[name] = unknown(f"{name}@{node.end_byte}", varying=True)


def bind(function: Function, given: list[Value], frame: Frame) -> None:
    """Give a function's parameters their values and types."""
    for parameter, value in zip(function.parameters, given, strict=False):
        frame.names[parameter.name] = value
        frame.types[parameter.name] = parameter.type


def _varying(unit: Unit, function: Function, frame: Frame) -> frozenset[str]:
    arrays = {name for name, kind in frame.types.items() if kind.is_address} | set(unit.shared)
    for child in function.nodes("declaration"):
        if syntax.has_token(child, "__shared__"):
            arrays |= set(_names(child))
    given: set[str] = set()
    for name, value in frame.names.items():
        varying = (
            value.address.varying if isinstance(value, Pointer) else isinstance(value, Expr) and value.varying
        )
        given |= {name} if varying else set()
    return varying_names(function.body, frozenset(given), frozenset(arrays))


def _names(declaration: Node) -> list[str]:
    return [syntax.declared(declarator) for declarator in syntax.fields(declaration, "declarator")]
