"""Macros, expanded where device code uses them: as a value, or as the name of a place in memory."""

import re
from collections.abc import Generator
from contextlib import contextmanager

from tree_sitter import Node

from . import syntax
from .environment import Pointer, Value
from .graph import Graph
from .places import Places
from .unit import Unit

MAX_DEPTH = 12
MAX_EXPANSIONS = 3000


class Macros(Places):
    """Expands macros, bounded in depth and number: a hostile source must not take for ever."""

    def __init__(self, unit: Unit, graph: Graph, file: str) -> None:
        super().__init__(unit, graph, file)
        self._expanding = 0
        self._expanded = 0

    def may_go_deeper(self) -> bool:
        """Whether one more macro or constant may be entered."""
        return self._expanding <= MAX_DEPTH

    @contextmanager
    def deeper(self) -> Generator[None]:
        """Inside a macro or a constant."""
        self._expanding += 1
        try:
            yield
        finally:
            self._expanding -= 1

    def expand(self, name: str, given: list[str]) -> str | None:
        """The text that a macro stands for at a use; None for what is none (or expands without end)."""
        macro = self.unit.macros.get(name)
        if macro is None or not macro.body or not self.may_go_deeper() or self._expanded > MAX_EXPANSIONS:
            return None
        self._expanded += 1
        return substitute(macro.body, dict(zip(macro.parameters or (), given, strict=False)))

    def macro_place(self, node: Node) -> Pointer | None:
        """The memory that a macro used like a call names."""
        text = self.expand(
            syntax.called(node), [syntax.text(argument) for argument in syntax.arguments(node)]
        )
        tree = None if text is None else syntax.parse_expression(text)
        with self.graph.expanding(self.place(node)):
            return self.place_of(tree)

    def expanded(self, node: Node, text: str) -> Value | None:
        """The value of a macro's text used at a node; None where it is no expression."""
        tree = syntax.parse_expression(text)
        if tree is None:
            return None
        with self.deeper(), self.graph.expanding(self.place(node)):
            return self.value(tree)


def substitute(body: str, values: dict[str, str]) -> str:
    """A macro's body with its parameters replaced."""
    if not values:
        return body
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda match: values.get(match.group(), match.group()), body)
