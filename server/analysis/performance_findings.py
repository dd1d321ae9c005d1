"""From one kernel's counters to what should be changed in it: located findings, each with the most that it can give.

A gain is an upper bound in percent of the kernel's time (`accesses` and `rule_ranking` say how it is bounded), never a
promise. What cannot matter (less than 1 % of the traffic it belongs to) is not told.
"""

from collections.abc import Iterator

from ..reports.finding import Finding, Location, Severity
from ..reports.performance import Bottleneck, HotLine, RankedRule
from ..toolchain.ncu_report import Access, SourceLine
from . import accesses, bottleneck
from .counters import Counters, ratio
from .performance_advice import ARRAY, BOUND_ADVICE, COALESCE, REGROUP, SPILL, STALL_ADVICE, UNBANK

WORTHWHILE_PCT = 5.0
_NOTICED = 0.01
_LANES = "smsp__thread_inst_executed_per_inst_executed.ratio"
_LOW_LANES = 24.0
_LOW_OCCUPANCY_PCT = 50.0
_EXCERPT = 120
METRICS = (_LANES,)


def findings(
    kernel: str,
    counters: Counters,
    bound: Bottleneck | None,
    rules: tuple[RankedRule, ...],
    hot: tuple[HotLine, ...],
) -> list[Finding]:
    """Everything found in one kernel, in no particular order; `evidence["gain_pct"]` is the bound, where there is one."""
    found = [*_uncoalesced(counters), *_conflicts(counters), *_local(counters)]
    explained = any(finding.severity == "warning" for finding in found)
    found += [*_occupancy(counters, bound, rules), *_divergence(counters)]
    if bound is not None and (bound.by in ("launch", "tail") or not explained):
        found.append(_bound_by(counters, bound, hot))
    return [
        finding.model_copy(update={"kernel": kernel, "message": f"{kernel}: {finding.message}"})
        for finding in found
    ]


def _severity(gain_pct: float | None) -> Severity:
    return "warning" if gain_pct is not None and gain_pct >= WORTHWHILE_PCT else "note"


def _at(line: SourceLine | HotLine) -> Location | None:
    return Location(file=line.file, line=line.line or None) if line.file else None


def _excerpt(line: SourceLine | HotLine) -> str | None:
    """The source line, cut where it is very long."""
    text = line.text
    return text if text is None or len(text) <= _EXCERPT else f"{text[:_EXCERPT]} ..."


def _wasteful(counters: Counters, space: str) -> Iterator[tuple[SourceLine, Access, int]]:
    """(line, its worst access, all excess units) of each line and kind that asks for 1.5 times what would do, or more."""
    whole = accesses.units(counters, space)
    for line in counters.reading.lines:
        rows = [
            row for row in line.accesses if row.space == space and row.ideal and row.units >= 1.5 * row.ideal
        ]
        for op in dict.fromkeys(row.op for row in rows):
            same = sorted((row for row in rows if row.op == op), key=lambda row: -row.excess)
            excess = sum(row.excess for row in same)
            if excess >= _NOTICED * whole:
                yield line, same[0], excess


def _uncoalesced(counters: Counters) -> Iterator[Finding]:
    for line, row, excess in _wasteful(counters, "global"):
        gain = accesses.memory_gain_pct(counters, excess)
        now, ideal = row.units / row.requests, (row.ideal or 0) / row.requests
        share = ratio(100.0 * excess, accesses.sectors(counters)) or 0.0
        yield Finding(
            rule="profile/uncoalesced-access",
            severity=_severity(gain),
            message=f"uncoalesced global {row.op}: each warp needs {now:.3g} sectors where {ideal:.3g} would do; "
            f"{share:.0f} % of the kernel's sectors are excess{_at_most(gain)}",
            location=_at(line),
            excerpt=_excerpt(line),
            evidence={
                "access": row.op,
                "sectors_per_request": round(now, 2),
                "ideal_sectors_per_request": round(ideal, 2),
                "excess_sectors": excess,
                "excess_pct": round(share, 2),
                "sass": row.sass,
                **_gain(gain),
            },
            suggestion=COALESCE.do,
            confirm=f"sectors per request at this line: {now:.3g} falls towards {ideal:.3g}",
        )


def _conflicts(counters: Counters) -> Iterator[Finding]:
    for line, row, excess in _wasteful(counters, "shared"):
        gain = accesses.shared_gain_pct(counters, excess)
        ways = row.units / (row.ideal or 1)
        yield Finding(
            rule="profile/bank-conflict",
            severity=_severity(gain),
            message=f"{ways:.3g}-way bank conflict on a shared {row.op}: {row.units:,} wavefronts where "
            f"{row.ideal:,} would do{_at_most(gain)}",
            location=_at(line),
            excerpt=_excerpt(line),
            evidence={
                "access": row.op,
                "ways": round(ways, 2),
                "wavefronts": row.units,
                "ideal_wavefronts": row.ideal,
                "excess_wavefronts": excess,
                "sass": row.sass,
                **_gain(gain),
            },
            suggestion=UNBANK.do,
            confirm=f"wavefronts per ideal wavefront at this line: {ways:.3g} falls towards 1",
        )


def _local(counters: Counters) -> Iterator[Finding]:
    """Spills, or arrays in local memory: one finding, at the line with the most traffic, the others beside it."""
    lines = [
        (sum(row.units for row in line.accesses if row.space == "local"), line)
        for line in counters.reading.lines
    ]
    lines = sorted((pair for pair in lines if pair[0]), key=lambda pair: -pair[0])
    spills, executed = accesses.spilled(counters), accesses.local_instructions(counters)
    local = accesses.units(counters, "local")
    if not local and not spills:
        return
    gain = accesses.memory_gain_pct(counters, local)
    share = ratio(100.0 * local, accesses.sectors(counters))
    spilling = spills or (spills is None and counters.spilled_bytes)
    advice = SPILL if spilling or spills is None else ARRAY
    what = (
        "register spills"
        if spilling
        else "an array in local memory"
        if spills == 0
        else "spills or an indexed array"
    )
    counted = f"{local:,} sectors"
    if spills and executed:
        counted = f"{spills:,.0f} of {executed:,.0f} local-memory instructions"
    of_all = "" if share is None else f", {share:.0f} % of the sectors through L1"
    yield Finding(
        rule="profile/register-spill" if spilling else "profile/local-memory",
        severity=_severity(gain),
        confidence="likely" if spills is None else "certain",
        message=f"{what}: {counted}{of_all}{_at_most(gain)}",
        location=_at(lines[0][1]) if lines else None,
        related=tuple(place for _, line in lines[1:5] if (place := _at(line))),
        excerpt=_excerpt(lines[0][1]) if lines else None,
        evidence={
            "spill_instructions": spills,
            "ptxas_spilled_bytes": counters.spilled_bytes,
            "local_instructions": executed,
            "local_sectors": local,
            "sectors_by_line": {f"{line.file}:{line.line}": units for units, line in lines[:8]},
            **_gain(gain),
        },
        suggestion=advice.do,
        confirm=advice.confirm,
    )


def _occupancy(
    counters: Counters, bound: Bottleneck | None, rules: tuple[RankedRule, ...]
) -> Iterator[Finding]:
    held = bottleneck.occupancy(counters)
    if held is None or held.theoretical.value is None or not bottleneck.occupancy_matters(counters):
        return
    if (
        held.theoretical.value > _LOW_OCCUPANCY_PCT
        or not held.limited_by
        or bound is None
        or bound.by != "latency"
    ):
        return
    rule = next((rule for rule in rules if rule.rule == "TheoreticalOccupancy"), None)
    gain = rule.bounded.value if rule else bottleneck.headroom_pct(counters)
    limits = " and ".join(held.limited_by)
    yield Finding(
        rule="profile/low-occupancy",
        severity=_severity(gain),
        confidence="possible",
        message=f"{limits} limit occupancy to {held.theoretical.value:.0f} % while warps wait{_at_most(gain)}",
        evidence={
            "theoretical_pct": held.theoretical.value,
            "limited_by": list(held.limited_by),
            **_gain(gain),
        },
        suggestion=f"Use less of {limits} per block, or give each thread more independent work.",
        confirm="achieved occupancy rises and the kernel's duration falls",
    )


def _divergence(counters: Counters) -> Iterator[Finding]:
    lanes = counters.get(_LANES)
    if lanes is None or lanes >= _LOW_LANES:
        return
    yield Finding(
        rule="profile/divergent-warps",
        severity="note",
        message=f"on average only {lanes:.1f} of 32 threads of a warp take part in an instruction",
        evidence={"threads_per_instruction": round(lanes, 2)},
        suggestion=REGROUP.do,
        confirm=REGROUP.confirm,
    )


def _bound_by(counters: Counters, bound: Bottleneck, hot: tuple[HotLine, ...]) -> Finding:
    """What bounds it, at the hottest line, with what helps against that; told where no wasteful access explains it."""
    waiting = next(
        (one for one in bottleneck.stalls(counters) if one.reason not in bottleneck.NOT_WAITING), None
    )
    gain = _launch_gain(counters, bound)
    located = bound.by not in ("launch", "tail") and bool(hot)
    advice = BOUND_ADVICE[bound.by]
    if bound.by == "latency" and waiting is not None:
        advice = STALL_ADVICE.get(waiting.reason, advice)
    return Finding(
        rule=f"profile/{bound.by}-bound",
        severity=_severity(gain),
        confidence="likely",
        message=f"{bound.why}{_at_most(gain)}",
        location=_at(hot[0]) if located else None,
        excerpt=_excerpt(hot[0]) if located else None,
        evidence={
            "unit": bound.unit,
            "used_pct": None if bound.used.value is None else round(bound.used.value, 1),
            "top_stall": waiting.reason if waiting else None,
            **_gain(gain),
        },
        suggestion=advice.do,
        confirm=advice.confirm,
    )


def _launch_gain(counters: Counters, bound: Bottleneck) -> float | None:
    """A grid that leaves SMs idle can gain their share; a tail what its empty part wastes. Others: unknown."""
    if bound.by == "launch" and bound.used.value is not None:
        return 100.0 - bound.used.value
    return bottleneck.tail_pct(counters) if bound.by == "tail" else None


def _gain(gain: float | None) -> dict[str, float]:
    return {} if gain is None else {"gain_pct": round(gain, 1)}


def _at_most(gain: float | None) -> str:
    return "" if gain is None else f" (at most {gain:.2g} % of its time)"
