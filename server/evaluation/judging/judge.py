"""From a contest to a verdict: a candidate against the baseline. It measures nothing itself."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ...candidate import Candidate
from ...command import Finished
from ...reports.finding import Finding, SkippedCheck
from ...reports.speedup import SpeedupReport
from ...workbench import Workbench
from ..verdict import DOUBTED, Status, Verdict, primary, verdict
from ..verification import Fault
from .contest import Outcome, hold
from .entries import BASELINE, Request, baseline_entry, entry
from .sanitizing import sanitize

CANDIDATE = "candidate"
_HARD: tuple[Status, ...] = (
    "schedule_error",
    "launch_error",
    "load_error",
    "crashed",
    "out_of_memory",
    "timeout",
)
_SANITIZED: tuple[Status, ...] = (
    "correct",
    *DOUBTED,
    "heldout_fail",
    "wrong_values",
    "nonfinite",
    "overrun",
    "crashed",
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with all that it stands on. `outcome` is None where the schedule was wrong and nothing was tried.

    `sanitized` names the sanitizers that came to their end, `skipped` those that did not.
    """

    verdict: Verdict
    status: Status
    findings: tuple[Finding, ...]
    outcome: Outcome | None = None
    speedup: SpeedupReport | None = None
    runs: tuple[Finished, ...] = ()
    sanitized: tuple[str, ...] = ()
    skipped: tuple[SkippedCheck, ...] = ()


async def judge(
    bench: Workbench, candidate: Candidate, request: Request, *, sanitizer: bool = False
) -> Judgement:
    """Judge a candidate. Raises BadWorkload, Unavailable and other inabilities, never for what the candidate does."""
    entered = entry(candidate, request)
    if not entered.checked.ok:
        return Judgement(Verdict.FAIL, "schedule_error", entered.checked.findings)
    entries = {CANDIDATE: entered}
    if request.timing is not None:
        entries[BASELINE] = baseline_entry(bench, request)
    judged = judgement(await hold(bench, entries, request))
    if sanitizer and judged.status in _SANITIZED:
        return await _sanitized(bench, judged)
    return judged


def judgement(outcome: Outcome) -> Judgement:
    """The verdict on the candidate of an outcome."""
    entered = outcome.entries[CANDIDATE]
    faults = outcome.faults.get(CANDIDATE, ())
    if outcome.result is None and not faults:
        findings = entered.build.findings if entered.build else ()
        return Judgement(Verdict.FAIL, "compile_error", findings, outcome, runs=outcome.runs)
    status = status_of(faults)
    gained = outcome.speedup(CANDIDATE, BASELINE) if status in ("correct", *DOUBTED) else None
    level = (
        Verdict.COMPILE
        if status == "schedule_error"
        else verdict(status, gained.comparison if gained else None)
    )
    notes = [finding for finding in entered.checked.findings if finding.severity != "error"]
    notes += outcome.conditions.notes() if outcome.conditions and gained else []
    findings = (*(fault.finding for fault in faults), *notes)
    return Judgement(level, status, findings, outcome, gained, outcome.runs)


async def _sanitized(bench: Workbench, judged: Judgement) -> Judgement:
    """The same judgement after the sanitizers had their say: right values with a race or an overrun are not PASS."""
    assert judged.outcome is not None
    checked = await sanitize(bench, judged.outcome)
    status, level = judged.status, judged.verdict
    if any(finding.severity == "error" for finding in checked.findings):
        status = "sanitizer_error" if level >= Verdict.PASS else status
        level = min(level, Verdict.COMPILE)
    return replace(
        judged,
        verdict=level,
        status=status,
        speedup=judged.speedup if level >= Verdict.PASS else None,
        findings=(*judged.findings, *checked.findings),
        runs=(*judged.runs, *checked.runs),
        sanitized=checked.checks_run,
        skipped=checked.skipped,
    )


def status_of(faults: Iterable[Fault]) -> Status:
    """`heldout_fail` where everything seen at visible sizes is right, else the first status by precedence."""
    found = list(faults)
    visible: list[Status] = [fault.status for fault in found if not fault.hidden]
    if not found or visible:
        return primary(visible)
    every: list[Status] = [fault.status for fault in found]
    return primary(every) if primary(every) in _HARD else "heldout_fail"
