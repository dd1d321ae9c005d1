"""Debug a candidate of a workload: the launcher under the sanitizers, on exact, unguarded, unpoisoned arrays."""

from collections.abc import Sequence
from dataclasses import replace

from ...candidate import Candidate
from ...reports.debugging import DebugAnswer, Verdict
from ...reports.finding import Finding, SkippedCheck, ranked
from ...toolchain.sanitizer import Check, tools_for
from ...workbench import Workbench
from ..verdict import Status
from .contest import Outcome, hold
from .entries import Request, entry
from .judge import CANDIDATE
from .sanitizing import Sanitized, sanitize

_ENDINGS: tuple[Status, ...] = (
    "schedule_error",
    "load_error",
    "launch_error",
    "timeout",
    "crashed",
    "out_of_memory",
)
_LEAKS = SkippedCheck(check="leakcheck", reason="a candidate of a workload allocates nothing itself")


async def debug_candidate(
    bench: Workbench, candidate: Candidate, request: Request, checks: Sequence[Check]
) -> DebugAnswer:
    """What the sanitizers say of its kernels, on the visible set and the smallest hidden one or the two smallest."""
    entered = entry(candidate, request)
    if not entered.checked.ok:
        return _does_not_build(candidate, entered.checked.findings)
    outcome = await hold(bench, {CANDIDATE: entered}, replace(request, timing=None))
    ended = [fault for fault in outcome.faults.get(CANDIDATE, ()) if fault.status in _ENDINGS]
    if outcome.result is None:
        told = entered.build.findings if entered.build else ()
        return _does_not_build(candidate, (*(fault.finding for fault in ended), *told))
    tools = tools_for([check for check in checks if check != "leakcheck"])
    found = await sanitize(bench, outcome, tools)
    findings = ranked([*found.findings, *(fault.finding for fault in ended)])
    verdict = _verdict(
        findings, found, hung=any(fault.status == "timeout" for fault in ended), asked=len(tools)
    )
    return DebugAnswer(
        candidate=candidate.id,
        summary=_summary(verdict, findings, outcome),
        findings=findings,
        provenance=bench.origin([*outcome.runs, *found.runs]),
        next=("profile",) if verdict == "clean" else ("Mend the first finding, then debug again.",),
        checks_run=found.checks_run,
        checks_skipped=(*found.skipped, *((_LEAKS,) if "leakcheck" in checks else ())),
        verdict=verdict,
    )


def _does_not_build(candidate: Candidate, findings: Sequence[Finding]) -> DebugAnswer:
    return DebugAnswer(
        candidate=candidate.id,
        summary="Cannot be run: see the first finding.",
        findings=ranked(list(findings)),
        next=("Mend it, then debug again.",),
        verdict="does not build",
    )


def _verdict(findings: Sequence[Finding], found: Sanitized, *, hung: bool, asked: int) -> Verdict:
    if hung:
        return "unfinished"
    if any(finding.severity != "note" for finding in findings):
        return "faults"
    return "clean" if asked and len(found.complete) == asked else "undecided"


def _summary(verdict: Verdict, findings: Sequence[Finding], outcome: Outcome) -> str:
    at = f"{outcome.request.workload.name}, the two smallest sets"
    if verdict == "clean":
        return f"Clean on {at}: no check found a fault."
    if verdict == "undecided":
        return f"Undecided on {at}: no fault found, but not every check came to its end."
    head = "DID NOT FINISH. " if verdict == "unfinished" else ""
    count = sum(finding.severity != "note" for finding in findings)
    return f"{head}{count} fault{'s'[: count != 1]} on {at}; first: {findings[0].message}"
