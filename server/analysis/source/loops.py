"""Loops and switches of device code: what they carry from one iteration to the next, and how they are left."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Literal

from tree_sitter import Node

from ..expressions import Expr, Phi, apply, carried, unknown
from ..flow import Guard
from . import syntax
from .calls import Calls
from .environment import Pointer
from .graph import Edge, Graph
from .unit import Unit, taken


@dataclass(slots=True)
class Around:
    """The ends that leave a loop or switch early, and the names at each `continue`."""

    breaks: list[Edge] = field(default_factory=list[Edge])
    continues: list[Edge] = field(default_factory=list[Edge])
    kind: Literal["loop", "switch"] = "loop"


class Loops(Calls):
    """Follows loops and switches; other statements are the subclass's."""

    def __init__(self, unit: Unit, graph: Graph, file: str) -> None:
        super().__init__(unit, graph, file)
        self.around: list[Around] = []

    @abstractmethod
    def statement(self, node: Node | None) -> None:
        """Follow one statement."""

    @abstractmethod
    def block(self, node: Node) -> None:
        """Follow the statements of a block."""

    def follow_for(self, node: Node) -> None:
        """A `for`: its condition guards the body, its update ends it."""
        start = syntax.field(node, "initializer")
        if start is not None:
            self.statement(start) if start.type == "declaration" else self.value(start)
        body = [syntax.field(node, "body"), syntax.field(node, "update")]
        self._loop(node, syntax.field(node, "condition"), body)

    def follow_while(self, node: Node) -> None:
        """A `while`."""
        self._loop(node, syntax.field(node, "condition"), [syntax.field(node, "body")])

    def follow_range(self, node: Node) -> None:
        """A `for` over a range: nothing is known of its variable."""
        name = syntax.declared(syntax.field(node, "declarator"))
        self.frame.names[name] = self.frame.unknown(name)
        self._loop(node, None, [syntax.field(node, "body")])

    def follow_do(self, node: Node) -> None:
        """A `do`: its condition ends the body."""
        self._loop(node, None, [syntax.field(node, "body"), syntax.field(node, "condition")])

    def _loop(self, node: Node, condition: Node | None, parts: list[Node | None]) -> None:
        loop = self.graph.new_loop()
        phis = self._carry(node, loop)
        head = self.graph.emit("join", self.place(node))
        around = Around()
        self.around.append(around)
        with self.graph.inside(loop), self.graph.scope():
            value = self.number(condition)
            if condition is not None:
                self.graph.guards.append(Guard(value, self.place(condition), loop=True))
            skips = list(self.graph.open) if value.varying else []
            self.statement(parts[0])
            self.graph.open = self.graph.open + around.continues
            for part in parts[1:]:
                self.value(part)
        self.around.pop()
        for end, _ in self.graph.open:
            end.following.append((head, loop))
        self._close(phis)
        endless = condition is None or (value.op == "const" and bool(value.value))
        leaves = [] if endless and node.type not in ("do_statement", "for_range_loop") else self.graph.open
        self.graph.open = leaves + around.breaks + skips
        self.graph.emit("join", self.place(node))

    def _carry(self, node: Node, loop: int) -> dict[str, Phi]:
        """Make every name that the loop assigns a loop-carried value."""
        phis: dict[str, Phi] = {}
        for name in _assigned(node):
            found = self.frame.names.get(name)
            varying = name in self.frame.varying
            if isinstance(found, Expr):
                phis[name] = Phi(loop, found, name)
                self.frame.names[name] = carried(phis[name], varying=varying)
            elif isinstance(found, Pointer) and not found.cell and found.space != "local":
                phis[name] = Phi(loop, found.address, name)
                address = carried(phis[name], varying=varying)
                self.frame.names[name] = Pointer(
                    found.space,
                    found.base,
                    address,
                    found.element_bytes,
                    found.extents,
                    volatile=found.volatile,
                )
        return phis

    def _close(self, phis: dict[str, Phi]) -> None:
        """The names are known after one iteration: what the loop carries is closed, and unknown behind the loop."""
        for name, phi in phis.items():
            after = self.frame.names.get(name)
            if isinstance(after, Expr):
                phi.following = after
                self.frame.names[name] = self.frame.unknown(name)
            elif isinstance(after, Pointer):
                phi.following = after.address
                self.frame.names.pop(name)

    def follow_switch(self, node: Node) -> None:
        """A `switch`: each case may be entered, and fallen into from the one before."""
        value = self.number(syntax.field(node, "condition"))
        body = syntax.field(node, "body")
        around = Around(kind="switch")
        self.around.append(around)
        before, start = dict(self.frame.names), self.graph.open
        default = False
        for case in [] if body is None else taken(self.unit, body):
            if case.type != "case_statement":
                continue
            label = syntax.field(case, "value")
            default |= label is None
            self.graph.open = self.graph.open + start
            condition = (
                unknown("default", varying=value.varying) if label is None else self._matches(value, label)
            )
            with self.graph.under(Guard(condition, self.place(case))):
                self.block(case)
        self.around.pop()
        self.graph.open = self.graph.open + around.breaks + ([] if default else start)
        changed = {name for name in before if self.frame.names.get(name) is not before[name]}
        self.frame.names |= {name: self.frame.unknown(name) for name in changed}

    def _matches(self, value: Expr, label: Node) -> Expr:
        return apply("eq", value, self.number(label))

    def follow_break(self, node: Node) -> None:
        """Leave the innermost loop or switch."""
        if self.around:
            self.around[-1].breaks += self.graph.open
        self.graph.open = []

    def follow_continue(self, node: Node) -> None:
        """End this iteration of the innermost loop."""
        loop = next((loop for loop in reversed(self.around) if loop.kind == "loop"), None)
        if loop is not None:
            loop.continues += self.graph.open
        self.graph.open = []


def _assigned(loop: Node) -> list[str]:
    """The names that a loop assigns, in order of their first assignment."""
    found: dict[str, None] = {}
    for node in syntax.walk(loop):
        target: Node | None = None
        if node.type == "assignment_expression":
            target = syntax.field(node, "left")
        elif node.type == "update_expression" or (
            node.type == "pointer_expression" and node.children[0].type == "&"
        ):
            target = syntax.field(node, "argument")
        if target is not None and target.type == "identifier":
            found[syntax.text(target)] = None
    return list(found)
