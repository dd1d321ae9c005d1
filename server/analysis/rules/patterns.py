"""Findings for access patterns: bank conflicts, uncoalesced and misaligned accesses, one per array, line and kernel."""

from collections.abc import Iterable

from ...reports.finding import Confidence, Finding, Location, Severity
from ..expressions import leaves
from ..flow import Flow
from ..patterns import Pattern, bank_degree, global_patterns, shared_patterns
from .races import block_text

MIN_DEGREE = 2
WARN_DEGREE = 4
WARN_EXCESS = 4.0
NOTE_EXCESS = 2.0


def pattern_findings(flow: Flow) -> list[Finding]:
    """Bank conflicts first, then misaligned and uncoalesced accesses."""
    patterns = global_patterns(flow)
    found = _bank_conflicts(flow, shared_patterns(flow))
    found += [
        _misaligned(flow, pattern) for pattern in _first_of_line(each for each in patterns if each.misaligned)
    ]
    return found + _uncoalesced(flow, [pattern for pattern in patterns if not pattern.misaligned])


def _bank_conflicts(flow: Flow, patterns: list[Pattern]) -> list[Finding]:
    """One finding per array, at its worst line."""
    arrays: dict[str, list[Pattern]] = {}
    for pattern in patterns:
        if bank_degree(pattern) >= MIN_DEGREE:
            arrays.setdefault(pattern.access.base, []).append(pattern)
    return [_bank_conflict(flow, group) for group in arrays.values()]


def _bank_conflict(flow: Flow, group: list[Pattern]) -> Finding:
    pattern = max(group, key=bank_degree)
    degree = bank_degree(pattern)
    steady = pattern.usual == pattern.worst
    severity: Severity = "warning" if degree >= WARN_DEGREE else "note"
    return Finding(
        rule=f"{flow.layer}/bank-conflict",
        severity=severity,
        confidence=_confidence(flow, pattern, steady=steady),
        message=f"{degree}-way bank conflict{'' if steady else ' in some iterations'} on shared {_name(pattern)}.",
        kernel=flow.kernel,
        location=pattern.node.place,
        related=_others(group, pattern),
        evidence={
            "array": _name(pattern),
            "ways": degree,
            "access": pattern.node.kind,
            "width_bytes": pattern.access.width_bytes,
            "block": block_text(flow),
        },
        suggestion=_padding(flow, pattern),
        confirm="profile: l1tex__data_bank_conflicts_pipe_lsu, rule SharedMemoryConflicts",
    )


def _others(group: Iterable[Pattern], shown: Pattern) -> tuple[Location, ...]:
    lines = {(pattern.node.place.file, pattern.node.place.line): pattern.node.place for pattern in group}
    lines.pop((shown.node.place.file, shown.node.place.line), None)
    return tuple(lines.values())


def _padding(flow: Flow, pattern: Pattern) -> str:
    array = flow.arrays.get(pattern.access.base)
    extents = array.extents if array is not None else ()
    if len(extents) >= 2 and extents[-1] is not None:
        rows = "".join(f"[{extent}]" for extent in extents[:-1])
        return f"Pad the rows: {_name(pattern)}{rows}[{extents[-1] + 1}], or swizzle the column with the row (col ^ row)."
    return "Let consecutive threads use consecutive words: change the index, pad each row by one word, or swizzle it."


def _name(pattern: Pattern) -> str:
    return pattern.access.base.rsplit(".", 1)[-1]


def _confidence(flow: Flow, pattern: Pattern, *, steady: bool) -> Confidence:
    guessed = any(op == "uniform" for op, _ in leaves(pattern.access.address))
    if flow.block.assumed or not steady:
        return "likely"
    return "likely" if guessed else "certain"


def _misaligned(flow: Flow, pattern: Pattern) -> Finding:
    width = pattern.access.width_bytes
    return Finding(
        rule=f"{flow.layer}/misaligned-access",
        severity="error",
        confidence="likely",
        message=f"{width}-byte {pattern.node.kind} of {_name(pattern)} at addresses that are no multiples of {width}.",
        kernel=flow.kernel,
        location=pattern.node.place,
        evidence={"array": _name(pattern), "width_bytes": width, "block": block_text(flow)},
        suggestion=f"Start at a multiple of {width} bytes, or access single elements.",
        confirm="debug checks=[memcheck]",
    )


def _uncoalesced(flow: Flow, patterns: list[Pattern]) -> list[Finding]:
    """One finding for the kernel, at its worst line."""
    wasteful = [pattern for pattern in _first_of_line(patterns) if _excess(pattern) >= NOTE_EXCESS]
    return [_uncoalesced_kernel(flow, wasteful)] if wasteful else []


def _excess(pattern: Pattern) -> float:
    return pattern.usual / max(1, pattern.needed)


def _uncoalesced_kernel(flow: Flow, group: list[Pattern]) -> Finding:
    shown = max(group, key=lambda pattern: (_excess(pattern), len(pattern.node.loops)))
    severity: Severity = "warning" if _excess(shown) >= WARN_EXCESS else "note"
    names = sorted({_name(pattern) for pattern in group})
    return Finding(
        rule=f"{flow.layer}/uncoalesced",
        severity=severity,
        confidence=_confidence(flow, shown, steady=True),
        message=f"Uncoalesced: a warp touches {shown.usual} sectors of {listed(names)} where {shown.needed} would do.",
        kernel=flow.kernel,
        location=shown.node.place,
        related=_others(group, shown),
        evidence={
            "arrays": names,
            "sectors": shown.usual,
            "sectors_needed": shown.needed,
            "access": sorted({pattern.node.kind for pattern in group}),
            "width_bytes": shown.access.width_bytes,
            "block": block_text(flow),
        },
        suggestion=_coalescing(shown),
        confirm="profile: l1tex__average_t_sectors_per_request, rule UncoalescedGlobalAccess",
    )


def listed(names: list[str]) -> str:
    """Some names in a sentence, at most three of them."""
    return " and ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]} and {len(names) - 2} more"


def _coalescing(pattern: Pattern) -> str:
    step = pattern.access.address
    strided = any(op == "uniform" for op, _ in leaves(step))
    if strided:
        return "Let threadIdx.x run along the contiguous dimension (swap x and y), or stage through shared memory."
    return "Give consecutive threads consecutive elements (stride by blockDim.x), a vector type, or split the struct."


def _first_of_line(patterns: Iterable[Pattern]) -> list[Pattern]:
    """The first pattern of every (array, line, kind): an unrolled loop repeats one access."""
    found: dict[object, Pattern] = {}
    for pattern in patterns:
        found.setdefault((pattern.access.base, pattern.node.place.line, pattern.node.kind), pattern)
    return list(found.values())
