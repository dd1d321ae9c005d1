"""Findings for updates that need an atomic, for conflicting writes, and for shared memory that is never set."""

from ...reports.finding import Confidence, Finding, Severity
from ..expressions import depends_on_data
from ..flow import Flow
from ..updates import Collision, collisions
from .races import block_text


def update_findings(flow: Flow, *, single_block: bool) -> list[Finding]:
    """At most one finding per line and array."""
    found: dict[object, Finding] = {}
    for collision in collisions(flow, single_block=single_block):
        key = (collision.access.base, collision.node.place.line)
        found.setdefault(
            key, _update(flow, collision) if collision.access.compound else _write(flow, collision)
        )
    return [*found.values(), *_never_set(flow)]


def _update(flow: Flow, collision: Collision) -> Finding:
    access = collision.access
    if collision.threads is not None:
        who = f"threads {collision.threads[0]} and {collision.threads[1]}"
    else:
        who = "blocks" if collision.across_blocks else "threads with equal data"
    decided = collision.threads is not None
    return Finding(
        rule=f"{flow.layer}/missing-atomic",
        severity="error" if decided else "warning",
        confidence="certain" if decided and not flow.block.assumed else "likely",
        message=f"Lost updates: {who} add to the same element of {access.base} with a plain read and write.",
        kernel=flow.kernel,
        location=collision.node.place,
        evidence={"array": access.base, "threads": list(collision.threads or ()), "block": block_text(flow)},
        suggestion="Use atomicAdd(), or reduce within the block first.",
        confirm="debug checks=[racecheck] for shared memory; compare results for global memory",
    )


def _write(flow: Flow, collision: Collision) -> Finding:
    access = collision.access
    known = access.stored is not None and not _by_data(collision)
    severity: Severity = "warning" if known else "note"
    confidence: Confidence = "likely" if known else "possible"
    two = collision.threads
    who = "All blocks" if two is None else f"Threads {two[0]} and {two[1]}"
    return Finding(
        rule=f"{flow.layer}/write-conflict",
        severity=severity,
        confidence=confidence,
        message=f"{who} write the same element of {access.base}: one value wins.",
        kernel=flow.kernel,
        location=collision.node.place,
        evidence={"array": access.base, "threads": list(collision.threads or ()), "block": block_text(flow)},
        suggestion="Let one write, or give each its own element.",
        confirm="debug checks=[racecheck] for shared memory; compare results for global memory",
    )


def _by_data(collision: Collision) -> bool:
    stored = collision.access.stored
    return stored is None or depends_on_data(stored)


def _never_set(flow: Flow) -> list[Finding]:
    if any(node.kind == "unknown_call" for node in flow.nodes):
        return []
    used: dict[str, set[str]] = {}
    for node, access in flow.accesses("shared"):
        used.setdefault(access.base, set()).add("write" if node.name == "atomicExch" else node.kind)
    found: list[Finding] = []
    for node, access in flow.accesses("shared"):
        if "write" in used.pop(access.base, {"write"}):
            continue
        found.append(
            Finding(
                rule=f"{flow.layer}/uninitialized-shared",
                severity="warning",
                confidence="likely",
                message=f"Shared {access.base} is used but never set: shared memory starts undefined.",
                kernel=flow.kernel,
                location=node.place,
                evidence={"array": access.base},
                suggestion="Initialise it and call __syncthreads() before the first use.",
                confirm="debug checks=[initcheck]",
            )
        )
    return found
