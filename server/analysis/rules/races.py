"""Findings for shared memory that threads touch unordered: a missing barrier, or trust in a warp running in lockstep."""

from collections.abc import Iterable

from ...reports.finding import Confidence, Finding, Location, Severity
from ..expressions import leaves
from ..flow import Flow, Node
from ..races import Conflict, conflicts

_SPLIT = "Put __syncthreads() between the two accesses."


def race_findings(flow: Flow) -> list[Finding]:
    """One finding for every group of conflicts of a kernel that share lines."""
    found = conflicts(flow)
    apart = [conflict for conflict in found if not conflict.same_warp]
    together = [conflict for conflict in found if conflict.same_warp]
    covered = {line for conflict in apart for line in _lines(conflict)}
    findings = [_missing_barrier(flow, group) for group in _groups(apart)]
    warp = [conflict for conflict in together if not _lines(conflict) & covered]
    return findings + [_warp_synchronous(flow, group) for group in _groups(warp)]


def _lines(conflict: Conflict) -> set[tuple[str, int | None]]:
    return {(node.place.file, node.place.line) for node in (conflict.first, conflict.second)}


def _groups(found: list[Conflict]) -> list[list[Conflict]]:
    """Conflicts joined where they share a line."""
    groups: list[tuple[set[tuple[str, int | None]], list[Conflict]]] = []
    for conflict in found:
        lines = _lines(conflict)
        members = [conflict]
        for other in [group for group in groups if group[0] & lines]:
            groups.remove(other)
            lines |= other[0]
            members = other[1] + members
        groups.append((lines, members))
    return [members for _, members in groups]


def _missing_barrier(flow: Flow, group: list[Conflict]) -> Finding:
    shown = min(group, key=lambda conflict: (conflict.loop is not None, not conflict.decided))
    later = max(shown.first, shown.second, key=lambda node: node.place.line or 0)
    where = shown.first if shown.loop is not None else later
    decided = shown.decided
    if shown.loop is None:
        one, other = shown.first.place.line, shown.second.place.line
        fix = f"Put __syncthreads() between line {one} and line {other}." if one != other else _SPLIT
    else:
        fix = f"Put __syncthreads() at the end of the loop body, after line {shown.first.place.line}."
    return Finding(
        rule=f"{flow.layer}/missing-barrier",
        severity="error" if decided and not _polls(group) else "warning",
        confidence=_confidence(flow, shown),
        message=_message(shown),
        kernel=flow.kernel,
        location=where.place,
        related=_related(group, where),
        evidence=_evidence(flow, shown, group),
        suggestion=fix,
        confirm="debug checks=[racecheck], or the proof layer",
    )


def _polls(group: list[Conflict]) -> bool:
    """Whether all there is are plain reads of what others update atomically: a counter that is looked at."""
    return all({conflict.first.kind, conflict.second.kind} == {"read", "atomic"} for conflict in group)


def _message(conflict: Conflict) -> str:
    first, second = conflict.first, conflict.second
    later = " in the next iteration" if conflict.loop is not None else ""
    acts = {"read": "reads", "write": "writes", "atomic": "updates"}
    one = f"thread {conflict.threads[0]} {acts[first.kind]} (line {first.place.line})"
    other = f"thread {conflict.threads[1]} {acts[second.kind]}{later} (line {second.place.line})"
    return f"Race on shared {_short(conflict.array)}: {one} what {other}, no barrier between."


def _short(name: str) -> str:
    """The array as the source calls it, without the function it was declared in."""
    return name.rsplit(".", 1)[-1]


def _warp_synchronous(flow: Flow, group: list[Conflict]) -> Finding:
    shown = min(group, key=lambda conflict: (conflict.second.place.line or 0, conflict.first.place.line or 0))
    volatile = bool(shown.first.access and shown.first.access.volatile)
    within = all(
        conflict.first.kind == "read" and conflict.first.place.line == conflict.second.place.line
        for conflict in group
    )
    severity: Severity = "note" if within else "warning"
    rule = "volatile-shared" if volatile else "warp-synchronous"
    how = (
        "volatile does not order threads"
        if volatile
        else "lanes of a warp need not run in lockstep since Volta"
    )
    return Finding(
        rule=f"{flow.layer}/{rule}",
        severity=severity,
        confidence="possible" if within else _confidence(flow, shown),
        message=f"{_message(shown).removesuffix('.')}, both in one warp: {how}.",
        kernel=flow.kernel,
        location=shown.second.place,
        related=_related(group, shown.second),
        evidence=_evidence(flow, shown, group),
        suggestion="Put __syncwarp() between the two, or reduce with __shfl_down_sync().",
        confirm="debug checks=[racecheck]",
    )


def _confidence(flow: Flow, conflict: Conflict) -> Confidence:
    if not conflict.decided:
        return "possible"
    accesses = [node.access for node in (conflict.first, conflict.second) if node.access is not None]
    expressions = [access.address for access in accesses]
    expressions += [*conflict.first.conditions, *conflict.second.conditions]
    guessed = any(op == "uniform" for each in expressions for op, _ in leaves(each))
    return "likely" if guessed or flow.block.assumed else "certain"


def _related(group: Iterable[Conflict], shown: Node) -> tuple[Location, ...]:
    places: dict[tuple[str, int | None], Location] = {}
    for conflict in group:
        for node in (conflict.first, conflict.second):
            places.setdefault((node.place.file, node.place.line), node.place)
            if node.caller is not None:
                places.setdefault((node.caller.file, node.caller.line), node.caller)
    places.pop((shown.place.file, shown.place.line), None)
    return tuple(places.values())


def _evidence(flow: Flow, shown: Conflict, group: list[Conflict]) -> dict[str, object]:
    return {
        "arrays": sorted({_short(conflict.array) for conflict in group}),
        "threads": list(shown.threads),
        "across_iterations": shown.loop is not None,
        "pairs_of_accesses": len(group),
        "block": block_text(flow),
    }


def block_text(flow: Flow) -> str:
    """The block shape a flow was looked at with, and whether it is assumed."""
    return f"{flow.block} ({'assumed' if flow.block.assumed else 'launched'})"
