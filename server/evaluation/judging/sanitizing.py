"""The sanitizer step of a judgement: the trusted launcher under all four sanitizers, on exact, unguarded arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio
import anyio.to_thread

from ...analysis.debug_answer import Excerpt
from ...analysis.debug_evidence import PLAIN_RUN, Evidence, gather
from ...analysis.debug_evidence import Outcome as RunOutcome
from ...analysis.fault_findings import fault_findings, without_consequences
from ...command import DELEGATE, Command, Finished
from ...errors import NotRecorded, WarpwiseError
from ...reports.finding import Finding, Location, SkippedCheck
from ...toolchain import sanitizer
from ...toolchain.sanitizer import Tool
from ...workbench import Workbench
from .. import trial
from ..trial import Question, Trial
from .contest import Outcome

TOOLS: tuple[Tool, ...] = ("memcheck", "racecheck", "initcheck", "synccheck")


@dataclass(frozen=True, slots=True)
class Sanitized:
    """What the sanitizers found in the candidate, which came to their end, which ran, and why others did not."""

    findings: tuple[Finding, ...]
    complete: tuple[Tool, ...]
    checks_run: tuple[str, ...]
    skipped: tuple[SkippedCheck, ...]
    runs: tuple[Finished, ...]


async def sanitize(bench: Workbench, outcome: Outcome, tools: Sequence[Tool] = TOOLS) -> Sanitized:
    """Run the candidate once on each of the two smallest sets under each sanitizer, side by side."""
    outcomes: dict[Tool, RunOutcome] = {}

    async def run(tool: Tool) -> None:
        try:
            outcomes[tool] = await bench.run(command(bench, outcome, tool))
        except WarpwiseError as error:
            outcomes[tool] = error

    async with anyio.create_task_group() as group:
        for tool in tools:
            group.start_soon(run, tool)
    if all(isinstance(one, WarpwiseError) for one in outcomes.values()):
        missing = (
            SkippedCheck(check=tool, reason=one.what)
            for tool, one in outcomes.items()
            if isinstance(one, WarpwiseError)
        )
        return Sanitized((), (), (), tuple(missing), ())
    entered = outcome.entries["candidate"]
    kernels = entered.build.kernels if entered.build else ()
    names = tuple(entered.candidate.files)
    plain = NotRecorded("a judgement has no plain run")
    evidence = await anyio.to_thread.run_sync(gather, bench.blobs, names, kernels, plain, None, outcomes)
    lines = entered.candidate.source.splitlines()

    def excerpt(location: Location | None) -> str | None:
        if location is None or location.line is None or location.file != entered.candidate.main:
            return None
        return lines[location.line - 1].strip()[:160] if location.line <= len(lines) else None

    return Sanitized(
        tuple(_findings(evidence, excerpt)),
        tuple(tool for tool, result in evidence.checks.items() if result.report.complete),
        tuple(evidence.checks),
        tuple(skipped for skipped in evidence.skipped if skipped.check != PLAIN_RUN),
        tuple(one for one in outcomes.values() if isinstance(one, Finished)),
    )


def command(bench: Workbench, outcome: Outcome, tool: Tool) -> Command:
    """One sanitizer over the launcher, which runs the candidate once on each of the two smallest sets."""
    assert outcome.sets is not None
    request = outcome.request
    sets = outcome.sets

    def size(number: int) -> int:
        return request.workload.memory_bytes(sets.sets[number].sizes)

    smallest = sorted((0, *sets.hidden_numbers), key=size)[:2]
    plain = launcher_command(bench, outcome, smallest, debug=True)
    over = sanitizer.over(tool, (DELEGATE,), plain.inputs, timeout_s=request.timeout_s)
    return replace(over, delegate="launcher", outputs=(*over.outputs, *plain.outputs))


def launcher_command(bench: Workbench, outcome: Outcome, numbers: Sequence[int], *, debug: bool) -> Command:
    """The launcher that runs the candidate once on each of these sets, for a tool to watch: no other kernel runs."""
    program = outcome.entries["candidate"].program
    assert program is not None
    assert outcome.sets is not None
    assert outcome.trusted is not None
    trials = tuple(Trial("candidate", number, 0) for number in numbers)
    request = outcome.request
    question = Question(request.workload, (program,), outcome.sets, trials, None, outcome.trusted, debug)
    return trial.command(question, bench.blobs, request.timeout_s, "shared")


def _findings(evidence: Evidence, excerpt: Excerpt) -> list[Finding]:
    found: list[Finding] = []
    for result in evidence.checks.values():
        faults, _ = without_consequences(result.faults)
        found += fault_findings(faults, excerpt)
    return found
