"""Which blocks and threads a fault touched, and at which addresses, in bounded memory and in few words."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..toolchain.sanitizer_log import Allocation

Dim3 = tuple[int, int, int]
_MAX_KEPT = 10_000


@dataclass(slots=True)
class Indices:
    """A set of block or thread indices, exact up to a bound; beyond it only the box around them is known."""

    held: set[Dim3] = field(default_factory=set[Dim3])
    low: Dim3 = (1 << 31, 1 << 31, 1 << 31)
    high: Dim3 = (-1, -1, -1)
    overflowed: bool = False

    def add(self, index: Dim3) -> None:
        """Take one index in."""
        x, y, z = index
        self.low = (min(self.low[0], x), min(self.low[1], y), min(self.low[2], z))
        self.high = (max(self.high[0], x), max(self.high[1], y), max(self.high[2], z))
        if len(self.held) < _MAX_KEPT:
            self.held.add(index)
        elif index not in self.held:
            self.overflowed = True

    def __str__(self) -> str:
        """`3`, `232-255`, `(0,0)-(31,15)`; scattered ones as `24 of 0-255`."""
        axes = 3 if self.high[2] else 2 if self.high[1] else 1
        if len(self.held) == 1:
            return _name(self.low, axes)
        volume = 1
        for low, high in zip(self.low, self.high, strict=True):
            volume *= high - low + 1
        box = f"{_name(self.low, axes)}-{_name(self.high, axes)}"
        if self.overflowed:
            return f"over {len(self.held):,} of {box}"
        return box if len(self.held) == volume else f"{len(self.held):,} of {box}"


@dataclass(slots=True)
class Spread:
    """The blocks and threads of a fault's records."""

    blocks: Indices = field(default_factory=Indices)
    threads: Indices = field(default_factory=Indices)

    def add(self, block: Dim3 | None, thread: Dim3 | None) -> None:
        """Take one record in."""
        if block:
            self.blocks.add(block)
        if thread:
            self.threads.add(thread)

    def __str__(self) -> str:
        """`block 3, threads 232-255`, or nothing where no record named any."""
        named = (("block", self.blocks), ("thread", self.threads))
        return ", ".join(f"{word}{'s'[: len(held.held) > 1]} {held}" for word, held in named if held.held)


@dataclass(frozen=True, slots=True)
class Reach:
    """Addresses of a fault beside one allocation, lowest and highest, and how many there were."""

    allocation: Allocation
    low: int
    high: int
    count: int

    def __str__(self) -> str:
        """How far from the allocation, in the tool's own measure (the first byte past the end is 1 past)."""
        size = f"a {self.allocation.size_bytes:,}-byte allocation"
        end = self.allocation.start + self.allocation.size_bytes
        if self.low >= end:
            return f"{_bytes(self.low - end + 1, self.high - end + 1)} past the end of {size}"
        if self.high < self.allocation.start:
            return (
                f"{_bytes(self.allocation.start - self.high, self.allocation.start - self.low)} before {size}"
            )
        if self.high < end:
            return f"inside {size}"
        return f"across the end of {size}"

    @property
    def is_far(self) -> bool:
        """Whether no allocation can be meant: more than 1 GiB away from the nearest."""
        end = self.allocation.start + self.allocation.size_bytes
        return self.low - end > 1 << 30 or self.allocation.start - self.high > 1 << 30


@dataclass(slots=True)
class Addresses:
    """The addresses of a fault's records with the allocation that the tool named nearest to each."""

    held: dict[int, Allocation | None] = field(default_factory=dict[int, Allocation | None])
    low: int | None = None
    high: int | None = None

    def add(self, address: int, nearest: Allocation | None) -> None:
        """Take one address in."""
        self.low = address if self.low is None else min(self.low, address)
        self.high = address if self.high is None else max(self.high, address)
        if len(self.held) < _MAX_KEPT:
            self.held[address] = nearest

    def reaches(self) -> list[Reach]:
        """Grouped by allocation, most addresses first.

        An address that the tool names as before one allocation, because that is nearer, is counted past the end of the
        one that the fault's other addresses run over: they are one overrun.
        """
        owners = {near for address, near in self.held.items() if near and address >= near.start}
        groups: dict[Allocation, list[int]] = {}
        for address, near in self.held.items():
            below = [owner for owner in owners if owner.start <= address]
            owner = max(below, key=lambda owner: owner.start) if below else near
            if owner:
                groups.setdefault(owner, []).append(address)
        found = [Reach(owner, min(held), max(held), len(held)) for owner, held in groups.items()]
        return sorted(found, key=lambda reach: (-reach.count, reach.low))


def _name(index: Dim3, axes: int) -> str:
    return str(index[0]) if axes == 1 else f"({','.join(str(value) for value in index[:axes])})"


def index_name(index: Dim3) -> str:
    """One index in as few words as say it: `232`, `(3,1)`, `(0,0,2)`."""
    return _name(index, 3 if index[2] else 2 if index[1] else 1)


def _bytes(low: int, high: int) -> str:
    return f"{low:,} byte{'s'[: low > 1]}" if low == high else f"{low:,} to {high:,} bytes"


def hex_list(values: Iterable[int]) -> str:
    """Numbers as `0x90, 0xa0`, at most eight of them."""
    held = sorted(values)
    shown = ", ".join(hex(value) for value in held[:8])
    return shown + (f" and {len(held) - 8} more" if len(held) > 8 else "")
