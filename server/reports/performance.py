"""What a profile tells: per kernel and per launch what bounds it, how far from the roof, where the time goes.

Models and the answer only; they are written out by `performance_data` and `performance_lines`, found out in `analysis`.
"""

from typing import Any, ClassVar, Literal

from . import performance_data, performance_lines
from .answer import Answer, Detail
from .number import Frozen, Number

BoundBy = Literal["dram", "l2", "l1", "shared", "compute", "issue", "latency", "launch", "tail"]
Space = Literal["global", "local", "shared"]


class Ceiling(Frozen):
    """One arithmetic of the roofline: achieved GFLOP/s, and its percentage of the device's peak at the measured clock."""

    precision: str
    gflops: Number
    peak_pct: Number


class Roofline(Frozen):
    """Where a kernel stands under the roof of its own DRAM traffic and arithmetic.

    `intensity` is FLOP per DRAM byte. `floor` is the time (us) that the same traffic and arithmetic would take at the
    device's peaks, the slower of the two; `floor_pct` is the part of the duration which that is.
    """

    ceilings: tuple[Ceiling, ...]
    dram: Number
    dram_pct: Number
    intensity: Number
    floor: Number
    floor_pct: Number


class Bottleneck(Frozen):
    """What bounds a kernel, the unit's use in percent of its peak, and the reason in words."""

    by: BoundBy
    unit: str
    used: Number
    why: str


class AchievedOccupancy(Frozen):
    """Resident warps in percent of what the SM can hold: measured and possible, and what limits the possible."""

    achieved: Number
    theoretical: Number
    limited_by: tuple[str, ...]


class Stall(Frozen):
    """A reason for which warps wait, and its share of all warp samples or cycles."""

    reason: str
    share: Number


class HotLine(Frozen):
    """A source line with its share of the kernel's warp samples, why warps waited there, and its hottest instruction."""

    file: str
    line: int
    text: str | None
    share: Number
    samples: int
    stalls: tuple[Stall, ...]
    sass: str | None


class LineAccess(Frozen):
    """Memory instructions of one line: 32-byte sectors (global, local) or wavefronts (shared) per warp instruction.

    `ideal` is the fewest that would do. `excess_pct` is the part of the kernel's traffic of that kind which is more.
    """

    file: str
    line: int
    space: Space
    op: str
    sass: str
    requests: int
    per_request: Number
    ideal: Number
    excess_pct: Number


class RankedRule(Frozen):
    """A vendor's rule with its own estimate (percent of time) and what of that is possible; `why` it was bounded."""

    rule: str
    title: str
    message: str
    estimate: Number
    bounded: Number
    why: str | None = None


class LaunchPerformance(Frozen):
    """One profiled launch: its place in the program's launches of that kernel (from 1), its shape, its main figures."""

    invocation: int
    grid: str
    block: str
    duration: Number
    compute_pct: Number
    memory_pct: Number
    dram_pct: Number
    bound: BoundBy | None


class KernelPerformance(Frozen):
    """One kernel over all its launches: `launches` were timed (us in all, share of all kernels' time), `profiled` read.

    Figures of several launches are means weighted by time. What a report lacks is unavailable, with the reason.
    """

    kernel: str
    signature: str
    launches: int
    profiled: tuple[LaunchPerformance, ...]
    total: Number
    share: Number
    compute_pct: Number
    l1_pct: Number
    l2_pct: Number
    bottleneck: Bottleneck | None = None
    roofline: Roofline | None = None
    occupancy: AchievedOccupancy | None = None
    stalls: tuple[Stall, ...] = ()
    hot_lines: tuple[HotLine, ...] = ()
    accesses: tuple[LineAccess, ...] = ()
    rules: tuple[RankedRule, ...] = ()
    passes: int | None = None


class Timing(Frozen):
    """What is known of time: launches seen and timed, their GPU time (us), and how it was measured."""

    launches: int | None
    timed: int
    profiled: int
    total: Number
    program: Number | None = None
    how: str


class ProfileAnswer(Answer):
    """What bounds each kernel, by hardware counters; the findings are what to change, most to gain first."""

    component: ClassVar[str | None] = "profiler"
    device: str | None = None
    set: str | None = None
    timing: Timing
    kernels: tuple[KernelPerformance, ...] = ()

    def block(self, detail: Detail) -> dict[str, Any]:
        """The kernels by time, compact: units stand in the names, what is unknown is named with its reason."""
        return performance_data.block(self, detail)

    def block_lines(self, detail: Detail) -> list[str]:
        """The same as text, three to seven lines a kernel."""
        return performance_lines.lines(self, detail)
