"""Judge a candidate of a workload: right? faster? by how much, with what certainty?"""

from typing import Literal

from pydantic import Field

from ..errors import InvalidRequest
from ..evaluation.judging.entries import Request
from ..evaluation.judging.judge import Judgement, judge
from ..evaluation.judging.told import checks_run, checks_skipped, hidden_of, measurement_of
from ..evaluation.shipped import find
from ..evaluation.trial import TimingRequest
from ..reports.evaluation import EvaluationAnswer, Measurement
from ..reports.finding import SkippedCheck, ranked
from ..tool import tool
from ..tools_arguments import KernelArgs
from ..workbench import Workbench

Preset = Literal["tiny", "small", "medium", "large", "xl"]


class EvaluateArgs(KernelArgs):
    """The verdict on a kernel of a workload: FAIL, COMPILE, PASS or FAST, checked at hidden sizes, timed against the
    baseline."""

    workload: str = Field(description="Its name, or a workload folder below the root.")
    preset: Preset = Field("tiny", description="The visible sizes, also timed.")
    timing: bool = Field(True, description="Compare with the baseline's time.")
    sanitize: bool = Field(False, description="Also run the four sanitizers; a race is not PASS.")
    hidden_seed: str | None = Field(None, description="Repeat a draw of hidden sizes (marked).")


@tool(title="Judge a kernel", read_only=True, component="evaluation", idempotent=False)
async def evaluate(bench: Workbench, args: EvaluateArgs) -> EvaluationAnswer:
    """The judgement as an answer."""
    workload = find(args.workload, bench.client.roots)
    candidate = await args.candidate(bench)
    if candidate.is_program:
        what = "a candidate of a workload has kernels and a schedule, no main"
        raise InvalidRequest(what, "Remove the host code.")
    devices = bench.services.gpus.devices
    request = Request(
        workload=workload,
        arch=await args.build_arch(bench, candidate),
        preset=args.preset,
        hidden_seed=args.hidden_seed,
        timing=TimingRequest() if args.timing else None,
        timeout_s=args.deadline(60.0),
        memory_bytes=devices[0].memory_bytes if devices else None,
    )
    await bench.progress("building, computing references", 0.1)
    judged = await judge(bench, candidate, request, sanitizer=args.sanitize)
    return _answer(bench, candidate.id, request, judged, asked=args.sanitize)


def _answer(
    bench: Workbench, candidate: str, request: Request, judged: Judgement, *, asked: bool
) -> EvaluationAnswer:
    outcome = judged.outcome
    skipped = [*judged.skipped]
    if outcome is not None and outcome.result is not None:
        skipped += checks_skipped(outcome, sanitized=bool(judged.sanitized))
    if not judged.sanitized:
        why = "only candidates that run are sanitized" if asked else "not asked (sanitize=true)"
        skipped.append(SkippedCheck(check="sanitizers", reason=why))
    return EvaluationAnswer(
        candidate=candidate,
        summary=_summary(request, judged),
        findings=ranked(list(judged.findings)),
        provenance=bench.origin(list(judged.runs)) if judged.runs else None,
        next=_next(judged),
        checks_run=(*(checks_run(outcome) if outcome else ("schedule",)), *judged.sanitized),
        checks_skipped=tuple(skipped),
        verdict=judged.verdict.name,  # type: ignore[arg-type]  # mypy takes an enum's name for any text
        status=judged.status,
        workload=request.workload.name,
        assurance="A",
        speedup=judged.speedup,
        hidden=hidden_of(outcome) if outcome and (outcome.result or outcome.faults) else None,
        measured=measurement_of(outcome) if outcome else Measurement(),
    )


def _summary(request: Request, judged: Judgement) -> str:
    verdict = f"{judged.verdict.name}: {judged.status.replace('_', ' ')}"
    if judged.speedup is None:
        return f"{verdict} ({request.workload.name}, {request.preset})"
    gained = f"{judged.speedup.ratio:.2f}x the baseline of {request.workload.name} at {request.preset}"
    return f"{verdict}, {gained} ({judged.speedup.comparison})"


def _next(judged: Judgement) -> tuple[str, ...]:
    if judged.status in ("compile_error", "schedule_error"):
        return ("mend the first finding, then evaluate again",)
    if judged.status in ("suspect_timing", "below_roofline"):
        return ("evaluate again when the GPU is idle",)
    if judged.status != "correct":
        return ("debug names the line of a bad access",)
    return ("profile says what bounds it",)
