"""The flow of one kernel: its memory accesses and barriers in order, whatever they were read from (source or PTX).

Nodes are linked as control can pass; an edge that goes back to a loop's head names the loop. Rules for races, divergence,
access patterns and bounds work on this alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from ..reports.finding import Location
from .evaluation import Block
from .expressions import Expr

Kind = Literal["read", "write", "atomic", "barrier", "warp_barrier", "warp_operation", "unknown_call", "join"]
Space = Literal["shared", "global", "local", "other"]
Layer = Literal["source", "ptx"]


@dataclass(frozen=True, eq=False, slots=True)
class Guard:
    """A condition that holds at a node. `exits`: because threads for which it fails returned or broke out before."""

    condition: Expr
    place: Location
    exits: bool = False
    loop: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Access:
    """Which bytes of which array: `address` is in bytes from the base; `sized` is False where a size is unknown.

    `paths` are the (index, extent) pairs of a source subscript, outermost first; an extent is None where unknown.
    """

    space: Space
    base: str
    address: Expr
    width_bytes: int
    sized: bool = True
    paths: tuple[tuple[Expr, Expr | None], ...] = ()
    stored: Expr | None = None
    volatile: bool = False
    compound: bool = False


@dataclass(eq=False, slots=True)
class Node:
    """One event. `caller` is the line of the kernel's own body where a device function was called; else None."""

    kind: Kind
    place: Location
    guards: tuple[Guard, ...] = ()
    loops: tuple[int, ...] = ()
    access: Access | None = None
    caller: Location | None = None
    name: str = ""
    mask: Expr | None = None
    following: list[tuple["Node", int | None]] = field(default_factory=list["tuple[Node, int | None]"])

    @property
    def conditions(self) -> tuple[Expr, ...]:
        """The conditions of all guards."""
        return tuple(guard.condition for guard in self.guards)

    @property
    def in_kernel(self) -> Location:
        """Its line in the kernel's own body."""
        return self.caller or self.place


@dataclass(frozen=True, slots=True)
class SharedArray:
    """A shared array as declared: `extents` innermost last, empty or None where not known (extern, template)."""

    name: str
    element_bytes: int | None
    extents: tuple[int | None, ...]
    place: Location | None = None

    @property
    def elements(self) -> int | None:
        """How many elements it has, where all extents are known."""
        total = 1
        for extent in self.extents:
            if extent is None:
                return None
            total *= extent
        return total if self.extents else None


@dataclass(slots=True)
class Flow:
    """One kernel's nodes, its shared arrays and the block shapes it is looked at with (most likely first).

    `fits` is False where no assumed shape keeps every subscript inside its array: then threads are not told apart.
    """

    kernel: str
    layer: Layer
    place: Location
    nodes: list[Node]
    arrays: dict[str, SharedArray] = field(default_factory=dict[str, SharedArray])
    blocks: tuple[Block, ...] = (Block(256, assumed=True),)
    fits: bool = True

    @property
    def block(self) -> Block:
        """The block shape that is most likely."""
        return self.blocks[0]

    def accesses(self, space: Space) -> Iterator[tuple[Node, Access]]:
        """The accesses to one memory space, in order."""
        for node in self.nodes:
            if node.access is not None and node.access.space == space:
                yield node, node.access
