"""How well each source line uses memory: sectors of global and local accesses, wavefronts of shared ones, and the spills.

From ncu's counters of single instructions (SourceCounters). They count what the instructions ask for, before any cache:
a request of one warp needs a number of 32-byte sectors or of shared-memory wavefronts, and `ideal` would do.
"""

from ..reports.performance import HotLine, LineAccess, Stall
from ..toolchain.ncu_report import Access, SourceLine
from .bottleneck import L1, MEMORY, SHARED
from .counters import Counters, derived, estimated, ratio

_L1_MAX = "l1tex__throughput.max.pct_of_peak_sustained_elapsed"
_SPILLS = ("derived__local_spilling_requests", "sass__inst_executed_register_spilling")
_LOCAL = ("smsp__sass_inst_executed_op_local_ld.sum", "smsp__sass_inst_executed_op_local_st.sum")
FEW_SAMPLES = 100
METRICS = (_L1_MAX, *_SPILLS, *_LOCAL, "memory_l2_theoretical_sectors_*", "memory_l1_wavefronts_shared*")


def hot_lines(counters: Counters) -> tuple[HotLine, ...]:
    """Lines by their share of the warp samples. Lines without a sample are left out."""
    samples = sum(line.samples for line in counters.reading.lines)
    return tuple(_hot_line(line, samples) for line in counters.reading.lines if line.samples)


def _hot_line(line: SourceLine, samples: int) -> HotLine:
    waits = sorted(line.stalls.items(), key=lambda item: (-item[1], item[0]))
    return HotLine(
        file=line.file,
        line=line.line,
        text=line.text,
        share=estimated(100.0 * line.samples / samples, "%", f"{line.samples} of {samples} warp samples"),
        samples=line.samples,
        stalls=tuple(
            Stall(reason=reason, share=estimated(100.0 * count / line.samples, "%", "of the line's samples"))
            for reason, count in waits
            if count
        ),
        sass=line.sass,
    )


def line_accesses(counters: Counters) -> tuple[LineAccess, ...]:
    """Every memory access of every line, those with the most excess first."""
    whole = {space: units(counters, space) for space in ("global", "local", "shared")}
    rows = [(line, row) for line in counters.reading.lines for row in line.accesses]
    rows.sort(key=lambda pair: -pair[1].excess)
    return tuple(_line_access(line, row, whole[row.space]) for line, row in rows)


def _line_access(line: SourceLine, row: Access, whole: int) -> LineAccess:
    unit = "wavefronts/request" if row.space == "shared" else "sectors/request"
    ideal = None if row.ideal is None else row.ideal / row.requests
    excess = None if row.ideal is None else ratio(100.0 * row.excess, whole)
    return LineAccess(
        file=line.file,
        line=line.line,
        space=row.space,
        op=row.op,
        sass=row.sass,
        requests=row.requests,
        per_request=derived(row.units / row.requests, unit, "counted / executed warp instructions"),
        ideal=derived(ideal, unit, "fewest possible / executed warp instructions"),
        excess_pct=derived(excess, "%", f"excess / all {row.space} units"),
    )


def units(counters: Counters, space: str) -> int:
    """All sectors (global, local) or wavefronts (shared) that the kernel's instructions need."""
    return sum(row.units for line in counters.reading.lines for row in line.accesses if row.space == space)


def sectors(counters: Counters) -> int:
    """All sectors, global and local: they pass through L1 together."""
    return units(counters, "global") + units(counters, "local")


def memory_gain_pct(counters: Counters, saved_sectors: int) -> float | None:
    """At most this percent of the time can go with these sectors: their share * the use of the busiest memory unit.

    A unit that is busy for u of the time cannot save more than the part of u spent on them. For a grid that fills only
    a few SMs the busiest L1 counts, not the mean of all.
    """
    share = ratio(saved_sectors, sectors(counters))
    used = [value for name in (MEMORY, L1, _L1_MAX) if (value := counters.get(name)) is not None]
    return None if share is None or not used else share * min(max(used), 100.0)


def shared_gain_pct(counters: Counters, saved_wavefronts: int) -> float | None:
    """At most this percent of the time can go with these wavefronts: their share * the pipe's time on shared memory."""
    share, used = ratio(saved_wavefronts, units(counters, "shared")), counters.first(SHARED, L1)
    return None if share is None or used is None else share * min(used, 100.0)


def spilled(counters: Counters) -> float | None:
    """Executed warp instructions that spill or refill registers; None where this ncu does not count them."""
    return counters.first(*_SPILLS)


def local_instructions(counters: Counters) -> float | None:
    """Executed warp instructions on local memory: spills and indexed arrays."""
    counts = [counters.get(name) for name in _LOCAL]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
