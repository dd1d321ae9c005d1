"""From the evidence of a debugging session to its answer: findings in order, what was checked, and one verdict.

Nothing is called clean that did not run, and no exit code alone decides anything.
"""

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..reports.compilation import KernelResources
from ..reports.debugging import CheckRecords, Verdict
from ..reports.finding import Finding, Location, SkippedCheck, ranked
from ..toolchain.sanitizer import CHECKS, Check, tools_for
from . import run_findings
from .debug_evidence import PLAIN_RUN, CheckResult, Evidence
from .fault_clusters import Fault
from .fault_findings import (
    crash_evidence,
    crash_finding,
    crash_location,
    fault_findings,
    unread_crash_finding,
    without_consequences,
)

Excerpt = Callable[[Location | None], str | None]
_NO_TOOL = SkippedCheck(check="global-memory races", reason="no tool finds them")
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The judged evidence: what the answer is made of."""

    verdict: Verdict
    summary: str
    findings: tuple[Finding, ...]
    checks_run: tuple[str, ...]
    checks_skipped: tuple[SkippedCheck, ...]
    records: tuple[CheckRecords, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """What is known of the program before it ran: its main file and source, architecture and kernels."""

    main: str
    source: str
    arch: str
    kernels: Sequence[KernelResources]


def diagnose(evidence: Evidence, asked: Sequence[Check], program: Program, excerpt: Excerpt) -> Diagnosis:
    """Judge the evidence."""
    findings = _run_findings(evidence, program, excerpt) + _launch_findings(evidence, program, excerpt)
    faults = _faults(evidence)
    found = fault_findings([fault for fault in faults if not _is_told(fault, evidence)], excerpt)
    findings += _with_crash(found, evidence, excerpt)
    ordered = _each_line_once(ranked(findings))
    verdict = _verdict(evidence, ordered, asked)
    return Diagnosis(
        verdict=verdict,
        summary=_summary(verdict, ordered, evidence),
        findings=ordered,
        checks_run=_checks_run(evidence, asked),
        checks_skipped=(*evidence.skipped, *_not_asked(asked), _NO_TOOL),
        records=tuple(_records(result) for result in evidence.checks.values()),
    )


def _run_findings(evidence: Evidence, program: Program, excerpt: Excerpt) -> list[Finding]:
    """How the processes ended, where that is worth a word."""
    found: list[Finding] = []
    plain = evidence.plain
    if plain is not None:
        number = run_findings.ending_signal(plain)
        if plain.timed_out:
            also = [tool for tool, result in evidence.checks.items() if result.finished.timed_out]
            names = ", ".join((PLAIN_RUN, *also))
            found.append(
                run_findings.unfinished(
                    names, plain, evidence.launches, program.source, program.main, excerpt
                )
            )
        elif number is not None and not evidence.died_of_gpu:
            found.append(run_findings.ended_by_signal("the program", plain, number))
        elif plain.exit_code and number is None:
            found.append(run_findings.exit_note(plain))
        if plain.stdout_dropped or plain.stderr_dropped:
            found.append(run_findings.dropped_output(plain))
    hung = plain is not None and plain.timed_out
    for tool, result in evidence.checks.items():
        found += _check_end(tool, result, is_told=hung)
    return found


def _check_end(tool: str, result: CheckResult, *, is_told: bool) -> list[Finding]:
    finished, found = result.finished, list[Finding]()
    if finished.timed_out and not is_told:
        found.append(
            Finding(
                rule="run.check-unfinished",
                severity="warning",
                message=f"{tool} did not finish within {finished.wall_s:.0f} s: what it had not reached is not checked",
                suggestion="Raise timeout_s, or debug a smaller problem.",
            )
        )
    elif not finished.timed_out and (finished.signal is not None or finished.was_killed):
        number = finished.signal or signal.SIGKILL
        found.append(run_findings.ended_by_signal(f"the program under {tool}", finished, number))
    if result.report.log.internal_error:
        found.append(
            Finding(
                rule=f"{tool}.internal",
                severity="warning",
                message=f"{tool}: {result.report.log.internal_error}",
            )
        )
    if result.left_out:
        found.append(
            Finding(
                rule=f"{tool}.left-out",
                severity="note",
                message=f"{result.left_out:,} further records were left out",
            )
        )
    return found


def _launch_findings(evidence: Evidence, program: Program, excerpt: Excerpt) -> list[Finding]:
    if evidence.launches is None or (evidence.plain and evidence.plain.timed_out):
        return []
    return run_findings.launch_findings(evidence.launches, program.arch, program.kernels, excerpt)


def _faults(evidence: Evidence) -> list[Fault]:
    return [fault for result in evidence.checks.values() for fault in without_consequences(result.faults)[0]]


def _is_told(fault: Fault, evidence: Evidence) -> bool:
    """A failed launch that the probe saw too: it knows the configuration, so its finding says more."""
    if (
        fault.kind != "Api"
        or not fault.fields.get("api", "").startswith("cudaLaunch")
        or evidence.launches is None
    ):
        return False
    site = fault.site
    for named in evidence.launches.failed:
        same_place = site is not None and named.site.address == site.address
        same_line = (
            site is not None
            and site.file is not None
            and (named.site.file, named.site.line) == (site.file, site.line)
        )
        unplaced = site is None or (site.file is None and named.name == fault.kernel)
        if same_place or same_line or unplaced:
            return True
    return False


def _with_crash(found: list[Finding], evidence: Evidence, excerpt: Excerpt) -> list[Finding]:
    """The crash joins the fault of the same line, which knows more; else it is a finding of its own, first of all."""
    crash = evidence.crash
    if crash is None:
        return [unread_crash_finding(), *found] if evidence.died_of_gpu else found
    location = crash_location(crash, evidence.source_of)
    for index, finding in enumerate(found):
        if location is not None and finding.location == location and finding.rule.startswith("memcheck."):
            joined = finding.model_copy(
                update={
                    "message": f"{finding.message}; the plain run dies of it ({crash.exception})",
                    "evidence": {**finding.evidence, **crash_evidence(crash)},
                }
            )
            return [joined, *found[:index], *found[index + 1 :]]
    return [crash_finding(crash, evidence.source_of, excerpt), *found]


def _checks_run(evidence: Evidence, asked: Sequence[Check]) -> tuple[str, ...]:
    ran = [PLAIN_RUN] if evidence.plain is not None else []
    for check in CHECKS:
        tool = tools_for([check])[0]
        result = evidence.checks.get(tool)
        if result and result.report.log.started and (check in asked or check == tool):
            ran.append(check)
    return tuple(ran)


def _not_asked(asked: Sequence[Check]) -> list[SkippedCheck]:
    run = {*asked, *tools_for(asked)}
    missing = [check for check in CHECKS if check not in run]
    return [SkippedCheck(check=", ".join(missing), reason="not asked")] if missing else []


def _records(result: CheckResult) -> CheckRecords:
    report = result.report
    return CheckRecords(check=report.tool, shown=report.shown, total=report.total, truncated=report.truncated)


def _verdict(evidence: Evidence, findings: Sequence[Finding], asked: Sequence[Check]) -> Verdict:
    plain, launches = evidence.plain, evidence.launches
    rules = {finding.rule for finding in findings if finding.severity != "note"}
    if plain is not None and (plain.timed_out or "run.killed" in rules):
        return "unfinished"
    if launches is not None and not launches.table.ran_anything and not evidence.died_of_gpu:
        return "not run"
    if any(not _is_inconclusive(rule) for rule in rules):
        return "faults"
    wanted = tools_for(asked)
    complete = [tool for tool in wanted if tool in evidence.checks and evidence.checks[tool].report.complete]
    if launches is None or plain is None or not wanted or len(complete) < len(wanted):
        return "undecided"
    return "clean"


def _each_line_once(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The excerpt of a line stands with its first finding only."""
    seen: set[str] = set()
    told: list[Finding] = []
    for finding in findings:
        place = str(finding.location)
        told.append(finding.model_copy(update={"excerpt": None}) if place in seen else finding)
        seen.add(place)
    return tuple(told)


def _summary(verdict: Verdict, findings: Sequence[Finding], evidence: Evidence) -> str:
    told = [finding for finding in findings if finding.severity != "note"]
    if verdict == "clean":
        runs = evidence.launches.runs if evidence.launches else ()
        ran = sum(1 for run in runs if run.launches or run.captured)
        return f"Clean: {_counted(ran, 'kernel') if ran else 'the program'} ran, and no check found a fault."
    if verdict == "not run":
        refused = any(finding.rule.startswith("launch.failed") for finding in findings)
        how = "every launch was refused" if refused else "no kernel was launched"
        return f"NOT RUN: {how}, so nothing on the GPU was checked."
    if verdict == "undecided":
        return "Undecided: no fault found, but not every check could run to its end (see below)."
    head = "DID NOT FINISH. " if verdict == "unfinished" else ""
    leaks = [finding for finding in told if finding.rule == "leakcheck.leak"]
    open_ends = [finding for finding in told if _is_inconclusive(finding.rule)]
    others = [finding for finding in told if finding not in leaks and finding not in open_ends]
    lost = [f"{_counted(len(leaks), 'leak')}{_places(leaks)}"] if leaks else []
    if leaks and not others and not open_ends:
        return f"{head}Clean but for {lost[0]}."
    parts = [f"{_counted(len(others), 'fault')}: {_named(others)}"] if others else []
    parts += [*lost, *([f"{_counted(len(open_ends), 'check')} unfinished"] if open_ends else [])]
    return f"{head}{'; '.join(parts)}."


def _is_inconclusive(rule: str) -> bool:
    """Whether a finding tells of a check that failed, not of the program."""
    return rule == "run.check-unfinished" or rule.endswith(".internal")


def _named(findings: Sequence[Finding]) -> str:
    names: list[str] = []
    for finding in findings:
        name = finding.rule.partition(".")[2] + (f" at {finding.location}" if finding.location else "")
        if name not in names:
            names.append(name)
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _places(findings: Sequence[Finding]) -> str:
    places = sorted({str(finding.location) for finding in findings if finding.location})
    return f" ({', '.join(places[:_NAMED])}{' …' if len(places) > _NAMED else ''})" if places else ""


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s'[: count != 1]}"
