"""What names stand for while a function is followed: integer values, pointers into arrays, groups of threads."""

from dataclasses import dataclass, field, replace
from typing import Literal

from ..expressions import Expr, add, apply, const, mul, unknown
from ..flow import Access, Space
from .types import Type

NOMINAL_BYTES = 4
GroupKind = Literal["block", "tile", "grid", "other"]


@dataclass(frozen=True, eq=False, slots=True)
class Pointer:
    """A place in an array: `address` in bytes from `base`. `extents` are those below it; empty for a plain pointer.

    `cell` marks a single variable: its name means what it holds, not where it is.
    """

    space: Space
    base: str
    address: Expr
    element_bytes: int | None
    extents: tuple[Expr | None, ...] = ()
    paths: tuple[tuple[Expr, Expr | None], ...] = ()
    volatile: bool = False
    cell: bool = False

    @property
    def step_bytes(self) -> int:
        """What one element counts in an address; a nominal number where its size is unknown."""
        return self.element_bytes or NOMINAL_BYTES

    def moved(self, count: Expr) -> "Pointer":
        """The pointer `count` elements (or rows, of an array of arrays) on."""
        step = const(self.step_bytes)
        for extent in self.extents[1:]:
            step = mul(step, extent or const(1))
        return replace(self, address=add(self.address, mul(count, step)), paths=())

    def at(self, index: Expr) -> "Pointer":
        """What a subscript names: the element, or the row where rows remain."""
        extent = self.extents[0] if self.extents else None
        moved = self.moved(index)
        return replace(
            moved, extents=self.extents[1:], paths=(*self.paths, (index, extent)), cell=len(self.extents) <= 1
        )

    def cast(self, element_bytes: int | None) -> "Pointer":
        """The pointer read as one to elements of another size."""
        return replace(self, element_bytes=element_bytes, extents=(), paths=(), cell=False)

    def access(self, stored: Expr | None = None, *, compound: bool = False) -> Access:
        """The access to the element it names."""
        return Access(
            self.space,
            self.base,
            self.address,
            self.step_bytes,
            self.element_bytes is not None,
            self.paths,
            stored,
            self.volatile,
            compound,
        )


@dataclass(frozen=True, slots=True)
class Group:
    """A cooperative group: who takes part in its `sync`."""

    kind: GroupKind
    size: int | None = None


Value = Expr | Pointer | Group


@dataclass(slots=True)
class Frame:
    """One function being followed: its names, their types, and which of them may differ between threads."""

    names: dict[str, Value] = field(default_factory=dict[str, Value])
    types: dict[str, Type] = field(default_factory=dict[str, Type])
    varying: frozenset[str] = frozenset()
    returned: list[Value] = field(default_factory=list[Value])
    prefix: str = ""

    def unknown(self, name: str) -> Expr:
        """A value of this name that cannot be followed."""
        return unknown(f"{self.prefix}{name}", varying=name in self.varying)


def merged(
    condition: Expr, left: dict[str, Value], right: dict[str, Value], frame: Frame
) -> dict[str, Value]:
    """The names after an if: chosen by the condition where both sides have integer values, else unknown."""
    result: dict[str, Value] = {}
    for name in left.keys() & right.keys():
        first, second = left[name], right[name]
        if first is second:
            result[name] = first
        elif isinstance(first, Expr) and isinstance(second, Expr):
            result[name] = apply("select", condition, first, second)
        elif isinstance(first, Pointer) and isinstance(second, Pointer) and first.base == second.base:
            result[name] = replace(first, address=apply("select", condition, first.address, second.address))
        elif isinstance(first, Expr) or isinstance(second, Expr):
            result[name] = frame.unknown(name)
    return result
