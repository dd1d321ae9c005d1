"""Builds the flow of a kernel while its statements are followed: who comes after whom, under which conditions."""

from collections.abc import Generator
from contextlib import contextmanager

from ...reports.finding import Location
from ..expressions import Expr
from ..flow import Access, Guard, Kind, Node

Edge = tuple[Node, int | None]
MAX_NODES = 4000


class Graph:
    """The nodes so far, the open ends that the next node follows, and the conditions and loops around it."""

    def __init__(self, start: Location) -> None:
        self.nodes: list[Node] = []
        self.open: list[Edge] = []
        self.guards: list[Guard] = []
        self.loops: list[int] = []
        self.callers: list[Location] = []
        self.expansions: list[Location] = []
        self.loop_count = 0
        self.complete = True
        self.emit("join", start)

    def emit(
        self,
        kind: Kind,
        place: Location,
        access: Access | None = None,
        name: str = "",
        mask: Expr | None = None,
    ) -> Node:
        """Add an event at the open ends."""
        where = self.expansions[0] if self.expansions else place
        caller = self.callers[0] if self.callers else None
        node = Node(kind, where, tuple(self.guards), tuple(self.loops), access, caller, name, mask)
        self.link(node)
        self.open = [(node, None)]
        if len(self.nodes) < MAX_NODES:
            self.nodes.append(node)
        else:
            self.complete = False
        return node

    def link(self, node: Node) -> None:
        """Let a node follow all open ends."""
        for end, loop in self.open:
            end.following.append((node, loop))

    @contextmanager
    def under(self, *guards: Guard) -> Generator[None]:
        """While conditions hold."""
        count = len(self.guards)
        self.guards += guards
        try:
            yield
        finally:
            del self.guards[count:]

    @contextmanager
    def scope(self) -> Generator[None]:
        """Conditions added inside (by returns and breaks) end with it."""
        with self.under():
            yield

    @contextmanager
    def inside(self, loop: int) -> Generator[None]:
        """Inside a loop's body."""
        self.loops.append(loop)
        try:
            yield
        finally:
            self.loops.pop()

    @contextmanager
    def called_from(self, place: Location) -> Generator[None]:
        """Inside a device function that was called at a place."""
        self.callers.append(self.expansions[0] if self.expansions else place)
        kept, self.expansions = self.expansions, []
        try:
            yield
        finally:
            self.expansions = kept
            self.callers.pop()

    @contextmanager
    def expanding(self, place: Location) -> Generator[None]:
        """Inside a macro that was used at a place."""
        self.expansions.append(place)
        try:
            yield
        finally:
            self.expansions.pop()

    def new_loop(self) -> int:
        """A loop's number."""
        self.loop_count += 1
        return self.loop_count - 1
