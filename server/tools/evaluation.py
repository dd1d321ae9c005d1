"""Judge a candidate of a workload: right? faster? by how much, with what certainty?"""

from typing import Literal

from pydantic import Field

from ..errors import InvalidRequest
from ..evaluation.contest import Request
from ..evaluation.judging import Judgement, judge
from ..evaluation.shipped import find
from ..evaluation.trial import TimingRequest
from ..evaluation.workload import Workload
from ..reports.evaluation import EvaluationAnswer, HiddenSizes, SpeedupReport
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
        raise InvalidRequest(
            "a candidate of a workload has kernels and a schedule, no main", "Remove the host code."
        )
    arch = await args.build_arch(bench, candidate)
    request = Request(
        workload=workload,
        arch=arch,
        preset=args.preset,
        hidden_seed=args.hidden_seed,
        timing=TimingRequest((0,)) if args.timing else None,
        timeout_s=args.deadline(60.0),
    )
    await bench.progress("building, computing references", 0.1)
    judgement = await judge(bench, candidate, request, sanitizer=args.sanitize)
    return _answer(bench, candidate.id, workload, request, judgement, args.sanitize)


def _answer(
    bench: Workbench, candidate: str, workload: Workload, request: Request, judged: Judgement, sanitizer: bool
) -> EvaluationAnswer:
    skipped: list[SkippedCheck] = []
    if not judged.sanitized:
        why = "not asked (sanitize=true)" if not sanitizer else "only candidates that run are sanitized"
        skipped.append(SkippedCheck(check="sanitizers", reason=why))
    if request.timing is None:
        skipped.append(SkippedCheck(check="timing", reason="not asked (timing=false)"))
    elif judged.speedup is None:
        skipped.append(SkippedCheck(check="timing", reason="only right candidates are timed"))
    return EvaluationAnswer(
        candidate=candidate,
        summary=_summary(workload, request, judged),
        findings=ranked(list(judged.findings)),
        provenance=bench.origin(list(judged.runs)) if judged.runs else None,
        next=_next(judged),
        checks_run=_checks(judged),
        checks_skipped=tuple(skipped),
        verdict=judged.verdict.name,  # pyright: ignore[reportArgumentType]  # the enum's names are the literal's
        status=judged.status,
        workload=workload.name,
        assurance="A",
        speedup=_speedup(workload, request, judged),
        hidden=HiddenSizes(
            seed=judged.seed,
            repeated=request.hidden_seed is not None,
            sizes=tuple(dict(sizes) for sizes in judged.hidden),
        )
        if judged.seed and judged.hidden
        else None,
        phases_ms={name: round(seconds * 1e3, 1) for name, seconds in (judged.phases_s or {}).items()},
    )


def _summary(workload: Workload, request: Request, judged: Judgement) -> str:
    verdict = f"{judged.verdict.name}: {judged.status.replace('_', ' ')}"
    if judged.speedup is None:
        return f"{verdict} ({workload.name}, {request.preset})"
    return f"{verdict}, {judged.speedup.ratio:.2f}x the baseline of {workload.name} at {request.preset}"


def _checks(judged: Judgement) -> tuple[str, ...]:
    if judged.result is None:
        return ("schedule",) if judged.status == "schedule_error" else ("schedule", "build")
    checks = ["schedule", "build", "values at visible sizes", f"values at {len(judged.hidden)} hidden sizes"]
    checks += ["unwritten outputs", "overruns of arrays", "read-only arrays"]
    checks += ["timing", "every timed output"] if judged.speedup else []
    return (*checks, *judged.sanitized)


def _next(judged: Judgement) -> tuple[str, ...]:
    if judged.status in ("compile_error", "schedule_error"):
        return ("mend the first finding, then evaluate again",)
    if judged.status != "correct":
        return ("debug names the line of a bad access",)
    return ("profile says what bounds it",)


def _speedup(workload: Workload, request: Request, judged: Judgement) -> SpeedupReport | None:
    gained, timing = judged.speedup, judged.result.timing if judged.result else None
    if gained is None or timing is None:
        return None
    medians = {
        name: _median([sample.cold_us for sample in timing.samples if sample.program == name])
        for name in ("candidate", "baseline")
    }
    return SpeedupReport(
        comparison=gained.comparison,
        ratio=round(gained.ratio, 4),
        low=round(gained.low, 4),
        high=round(gained.high, 4),
        pairs=gained.pairs,
        candidate_us=round(medians["candidate"], 3),
        baseline_us=round(medians["baseline"], 3),
        candidate_warm_us=_median(list(timing.warm_us.get("candidate", ()))),
        baseline_warm_us=_median(list(timing.warm_us.get("baseline", ()))),
        sizes=dict(workload.presets[request.preset]),
        flush="persisting L2 reset, memset and read of 2 x L2",
    )


def _median(times: list[float]) -> float:
    ordered = sorted(times)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
