"""What a profiler runs for a candidate of a workload: the launcher on one visible set, so that its kernels alone run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...building import Build
from ...candidate import Candidate
from ...command import Command
from ...reports.finding import Finding
from ...workbench import Workbench
from .contest import hold
from .entries import Request, entry
from .judge import CANDIDATE
from .sanitizing import launcher_command


@dataclass(frozen=True, slots=True)
class Launchable:
    """A candidate as a profiler takes it: its build and the command to watch, or the findings that forbid it."""

    build: Build | None
    command: Command | None
    findings: Sequence[Finding]


async def launchable(bench: Workbench, candidate: Candidate, request: Request) -> Launchable:
    """Build a candidate, draw inputs of the visible sizes, and say what launches it once on them."""
    entered = entry(candidate, request)
    if not entered.checked.ok:
        return Launchable(None, None, entered.checked.findings)
    outcome = await hold(bench, {CANDIDATE: entered}, replace(request, timing=None))
    if outcome.result is None or entered.build is None:
        told = [fault.finding for fault in outcome.faults.get(CANDIDATE, ())]
        return Launchable(entered.build, None, (*told, *(entered.build.findings if entered.build else ())))
    return Launchable(entered.build, launcher_command(bench, outcome, [0], debug=False), ())
