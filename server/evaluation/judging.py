"""From a contest to a verdict: a candidate against the baseline. It measures nothing itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..candidate import Candidate
from ..command import Finished
from ..errors import ProgramTimedOut
from ..reports.finding import Finding
from ..workbench import Workbench
from .contest import Outcome, Request, baseline_entry, entry, hold
from .plan import PlanError
from .sanitizing import sanitize
from .speedup import Speedup, speedup
from .trial import LauncherResult
from .verdict import Status, Verdict, primary, verdict
from .verification import Fault
from .workload import Sizes

_HARD: tuple[Status, ...] = ("launch_error", "load_error", "crashed", "out_of_memory")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome with all that it stands on. `phases_s` are seconds; `sanitized` names the checks that ran."""

    verdict: Verdict
    status: Status
    findings: tuple[Finding, ...]
    runs: tuple[Finished, ...] = ()
    phases_s: Mapping[str, float] | None = None
    seed: str | None = None
    hidden: tuple[Sizes, ...] = ()
    speedup: Speedup | None = None
    result: LauncherResult | None = None
    sanitized: tuple[str, ...] = ()


async def judge(
    bench: Workbench, candidate: Candidate, request: Request, *, sanitizer: bool = False
) -> Judgement:
    """Judge a candidate. Raises BadWorkload, Unavailable and other inabilities, never for what the candidate does."""
    entered = entry(candidate, request)
    if not entered.checked.ok:
        return Judgement(Verdict.FAIL, "schedule_error", entered.checked.findings)
    entries = {"candidate": entered}
    if request.timing is not None:
        entries["baseline"] = baseline_entry(bench, request)
    try:
        outcome = await hold(bench, entries, request)
    except PlanError as error:
        fault = Finding(
            rule=f"schedule/{error.rule}", severity="error", message=error.what, suggestion=error.hint
        )
        return Judgement(Verdict.COMPILE, "schedule_error", (fault,))
    except ProgramTimedOut as error:
        fault = Finding(
            rule="evaluation/timeout",
            severity="error",
            message=error.what,
            suggestion="Look for a loop that does not end, or a barrier that not all threads reach.",
        )
        return Judgement(Verdict.COMPILE, "timeout", (fault,))
    judged = _judged(outcome)
    if not sanitizer or judged.status not in (
        "correct",
        "heldout_fail",
        "wrong_values",
        "overrun",
        "crashed",
    ):
        return judged
    return await _with_sanitizer(bench, request, outcome, judged)


def _judged(outcome: Outcome) -> Judgement:
    entered = outcome.entries["candidate"]
    facts = Judgement(
        Verdict.FAIL,
        "compile_error",
        entered.build.findings if entered.build else (),
        outcome.runs,
        outcome.phases_s,
        outcome.seed,
        outcome.hidden,
        result=outcome.result,
    )
    if outcome.result is None:
        return facts
    faults = outcome.faults["candidate"]
    status = status_of(faults)
    gained = None if faults else speedup_of(outcome.result, "candidate", "baseline")
    notes = (finding for finding in entered.checked.findings if finding.severity != "error")
    return replace(
        facts,
        verdict=verdict(status, gained.comparison if gained else None),
        status=status,
        findings=(*(fault.finding for fault in faults), *notes),
        speedup=gained,
    )


async def _with_sanitizer(
    bench: Workbench, request: Request, outcome: Outcome, judged: Judgement
) -> Judgement:
    """The same judgement after the sanitizers had their say: right values with a race or an overrun are not PASS."""
    checked = await sanitize(bench, request, outcome)
    errors = tuple(finding for finding in checked.findings if finding.severity == "error")
    if errors and judged.verdict >= Verdict.COMPILE:
        status: Status = "sanitizer_error" if judged.status == "correct" else judged.status
        judged = replace(judged, status=status, verdict=min(judged.verdict, Verdict.COMPILE))
    return replace(
        judged,
        findings=(*judged.findings, *checked.findings),
        runs=(*judged.runs, *checked.runs),
        sanitized=checked.checks_run,
    )


def speedup_of(result: LauncherResult, first: str, second: str) -> Speedup | None:
    """How much faster the first program is than the second; None where they were not timed."""
    if result.timing is None or not result.timing.samples:
        return None
    times = {
        name: [sample.cold_us for sample in result.timing.samples if sample.program == name]
        for name in (first, second)
    }
    return speedup(times[first], times[second]) if times[second] else None


def status_of(faults: Iterable[Fault]) -> Status:
    """`heldout_fail` where everything seen at visible sizes is right, else the first status by precedence."""
    found = list(faults)
    visible: list[Status] = [fault.status for fault in found if not fault.hidden]
    if not found or visible:
        return primary(visible)
    every: list[Status] = [fault.status for fault in found]
    return primary(every) if primary(every) in _HARD else "heldout_fail"
