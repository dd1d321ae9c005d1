"""Which memory an lvalue of the source names, and the reads and writes of it as nodes of the flow."""

from abc import ABC, abstractmethod

from tree_sitter import Node

from ...reports.finding import Location
from ..expressions import Expr, add, const, unknown
from . import syntax
from .environment import Frame, Pointer, Value
from .graph import Graph
from .unit import Unit, location


class Places(ABC):
    """Names places in memory, in one frame; how an expression gets its value is the subclass's."""

    def __init__(self, unit: Unit, graph: Graph, file: str) -> None:
        self.unit = unit
        self.graph = graph
        self.file: str = file
        self.frame: Frame = Frame()

    @abstractmethod
    def value(self, node: Node | None) -> Value:
        """What an expression stands for."""

    @abstractmethod
    def call(self, node: Node) -> Value:
        """What a call returns."""

    @abstractmethod
    def macro_place(self, node: Node) -> Pointer | None:
        """The memory that a macro used like a call names."""

    def place(self, node: Node) -> Location:
        """Where a node stands."""
        return location(self.file, node)

    def number(self, node: Node | None) -> Expr:
        """The same as an integer value; a pointer or a group is unknown."""
        found = self.value(node)
        if isinstance(found, Expr):
            return found
        return self.frame.unknown(syntax.text(node))

    def place_of(self, node: Node | None) -> Pointer | None:
        """The memory that an lvalue names, None for a plain variable or what cannot be followed."""
        if node is None:
            return None
        if node.type == "parenthesized_expression":
            return self.place_of(next(iter(node.named_children), None))
        if node.type == "identifier":
            found = self.frame.names.get(syntax.text(node))
            return found if isinstance(found, Pointer) and found.cell else None
        if node.type == "subscript_expression":
            return self._subscript(node)
        if node.type == "field_expression":
            return self._field_place(node)
        if node.type == "pointer_expression" and node.children[0].type == "*":
            found = self.value(syntax.field(node, "argument"))
            return found.at(const(0)) if isinstance(found, Pointer) else None
        return self.macro_place(node) if node.type == "call_expression" else None

    def load(self, pointer: Pointer, node: Node) -> Expr:
        """Read memory: a node of the flow, and an unknown value that varies as its address does."""
        if pointer.space == "local":
            return unknown(f"{pointer.base}[]", varying=True)
        self.graph.emit("read", self.place(node), pointer.access())
        return unknown(f"{pointer.base}@{len(self.graph.nodes)}", varying=pointer.address.varying)

    def store(self, pointer: Pointer, node: Node, stored: Expr | None, *, compound: bool = False) -> None:
        """Write memory."""
        if pointer.space != "local":
            self.graph.emit("write", self.place(node), pointer.access(stored, compound=compound))

    def _field_place(self, node: Node) -> Pointer | None:
        argument = syntax.field(node, "argument")
        if any(child.type == "->" for child in node.children):
            value = self.value(argument)
            found = value.at(const(0)) if isinstance(value, Pointer) else None
        else:
            found = self.place_of(argument)
        if found is None or found.space == "local":
            return None
        return _member(found, syntax.text(syntax.field(node, "field")))

    def _subscript(self, node: Node) -> Pointer | None:
        array = self.value(syntax.field(node, "argument"))
        indices = syntax.field(node, "indices")
        index = self.number(None if indices is None else next(iter(indices.named_children), None))
        return array.at(index) if isinstance(array, Pointer) else None


def _member(pointer: Pointer, name: str) -> Pointer:
    offset = {"x": 0, "y": 1, "z": 2, "w": 3}.get(name)
    size = pointer.element_bytes
    if offset is None or size is None or size not in (8, 12, 16):
        return pointer
    return Pointer(pointer.space, pointer.base, add(pointer.address, const(offset * 4)), 4, cell=True)
