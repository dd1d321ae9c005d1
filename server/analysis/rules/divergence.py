"""Findings for barriers and warp operations that some of their threads do not reach."""

from ...reports.finding import Confidence, Finding, Severity
from ..divergence import Divergence, divergent_barriers, divergent_warp_operations
from ..flow import Flow, Guard
from .races import block_text

# Results of these come from other lanes; a lane that has left gives none.
_EXCHANGES = ("__shfl", ".shfl", "__reduce", "__match")


def divergence_findings(flow: Flow) -> list[Finding]:
    """One finding for every barrier or warp operation that diverges, at most one per line."""
    found = [_barrier(flow, each) for each in divergent_barriers(flow) if each.guard.place.line is not None]
    warps = (each for each in divergent_warp_operations(flow) if each.guard.place.line is not None)
    operations = (_warp_operation(flow, divergence) for divergence in warps)
    found += [finding for finding in operations if finding is not None]
    lines: dict[object, Finding] = {}
    for finding in found:
        lines.setdefault((finding.rule, str(finding.location).rsplit(":", 1)[0]), finding)
    return list(lines.values())


def _barrier(flow: Flow, divergence: Divergence) -> Finding:
    node, guard = divergence.node, divergence.guard
    doubtful = guard.exits or divergence.by_data
    whole_warps_left = guard.exits and not divergence.splits_warp
    severity: Severity = "note" if whole_warps_left else "warning" if doubtful else "error"
    confidence: Confidence = "possible" if whole_warps_left else "likely"
    return Finding(
        rule=f"{flow.layer}/divergent-barrier",
        severity=severity,
        confidence=confidence if doubtful or flow.block.assumed else "certain",
        message=f"{node.name}() is {_who(divergence)} of its block: {_why(guard)}.",
        kernel=flow.kernel,
        location=node.place,
        related=(guard.place,) if guard.place.line != node.place.line else (),
        evidence=_evidence(flow, divergence),
        suggestion=_fix(guard),
        confirm="debug checks=[synccheck], or the proof layer",
    )


def _who(divergence: Divergence) -> str:
    if divergence.threads is None:
        return "not reached by every thread"
    return f"reached by thread {divergence.threads[0]} but not by thread {divergence.threads[1]}"


def _why(guard: Guard) -> str:
    line = guard.place.line
    if guard.exits:
        return f"threads leave at line {line}"
    return (
        f"the loop at line {line} ends earlier for some"
        if guard.loop
        else f"the condition at line {line} differs"
    )


def _fix(guard: Guard) -> str:
    if guard.exits:
        return "Let every thread reach the barrier: guard the loads and stores instead of returning early."
    if guard.loop:
        return "Give all threads the same number of iterations and guard the body, or move the barrier out."
    return "Move the barrier out of the branch."


def _warp_operation(flow: Flow, divergence: Divergence) -> Finding | None:
    node, guard = divergence.node, divergence.guard
    if guard.exits and not node.name.startswith(_EXCHANGES):
        return None  # a barrier does not wait for lanes that have exited
    doubtful = guard.exits or guard.loop or divergence.by_data
    severity: Severity = "note" if guard.exits else "warning" if doubtful else "error"
    return Finding(
        rule=f"{flow.layer}/divergent-warp-sync",
        severity=severity,
        confidence="possible" if guard.exits else "likely" if doubtful or flow.block.assumed else "certain",
        message=f"{node.name}() names lanes that do not come: it is {_who(divergence)} of its warp ({_why(guard)}).",
        kernel=flow.kernel,
        location=node.place,
        related=(guard.place,) if guard.place.line != node.place.line else (),
        evidence=_evidence(flow, divergence),
        suggestion="Call it where the whole warp arrives, or make the mask before the branch with __ballot_sync().",
        confirm="debug checks=[synccheck]",
    )


def _evidence(flow: Flow, divergence: Divergence) -> dict[str, object]:
    evidence: dict[str, object] = {"block": block_text(flow), "condition_line": divergence.guard.place.line}
    if divergence.threads is not None:
        evidence["threads"] = list(divergence.threads)
    if divergence.by_data:
        evidence["depends_on"] = "per-thread data"
    return evidence
