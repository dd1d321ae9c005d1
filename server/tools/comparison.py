"""Compare two candidates of a workload: interleaved timing, and an input on which they differ."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from ..candidate import Candidate
from ..errors import InvalidRequest
from ..evaluation.contest import Outcome, Request, entry, hold
from ..evaluation.judging import speedup_of, status_of
from ..evaluation.shipped import find
from ..evaluation.speedup import Speedup
from ..evaluation.trial import TimingRequest
from ..evaluation.verification import sizes_text
from ..evaluation.workload import Workload
from ..reports.answer import Detail
from ..reports.comparison import ComparisonAnswer
from ..reports.evaluation import HiddenSizes, SpeedupReport
from ..reports.finding import Finding, ranked
from ..tool import Args, tool
from ..toolchain.flags import checked_arch
from ..workbench import Workbench

Preset = Literal["tiny", "small", "medium", "large", "xl"]


class CompareArgs(Args):
    """Two kernels of one workload: which is right, which is faster and how surely, where they differ."""

    workload: str = Field(description="Its name, or a workload folder below the root.")
    a: str = Field(description="A .cu file below the root, or a candidate (c-...).")
    b: str = Field(description="The other one.")
    preset: Preset = Field("tiny", description="The visible sizes, also timed.")
    arch: str | SkipJsonSchema[None] = Field(None, description="Build target; default: this GPU's.")
    detail: Detail = Field("summary", description="How much to tell.")
    timeout_s: Annotated[float, Field(gt=0, le=3600, description="Deadline of each run, seconds.")] = 60.0
    wait_s: Annotated[float, Field(ge=0, le=600, description="Seconds before the answer becomes a job.")] = (
        45.0
    )


@tool(title="Compare two kernels", read_only=True, component="evaluation", idempotent=False)
async def compare(bench: Workbench, args: CompareArgs) -> ComparisonAnswer:
    """Both on the same inputs at the same addresses, in random order."""
    workload = find(args.workload, bench.client.roots)
    both = {"a": await _candidate(bench, args.a), "b": await _candidate(bench, args.b)}
    if both["a"].id == both["b"].id:
        raise InvalidRequest(f"a and b are the same candidate {both['a'].id}", "Name two different versions.")
    arch = await bench.arch(checked_arch(args.arch) if args.arch is not None else None, both["a"])
    request = Request(workload, arch, args.preset, timing=TimingRequest((0,)), timeout_s=args.timeout_s)
    entries = {name: entry(candidate, request) for name, candidate in both.items()}
    for name, one in entries.items():
        if not one.checked.ok:
            return _unable(both, workload, name, "schedule error", one.checked.findings)
    outcome = await hold(bench, entries, request)
    if outcome.result is None:
        name, one = next((name, one) for name, one in outcome.entries.items() if one.program is None)
        return _unable(both, workload, name, "compile error", one.build.findings if one.build else ())
    return _answer(bench, args, workload, both, outcome)


async def _candidate(bench: Workbench, named: str) -> Candidate:
    if named.startswith("c-") and not named.endswith((".cu", ".cuh")):
        return await bench.candidate(path=None, source=None, id=named)
    return await bench.candidate(path=named, source=None, id=None)


def _unable(
    both: dict[str, Candidate], workload: Workload, name: str, status: str, findings: tuple[Finding, ...]
) -> ComparisonAnswer:
    """One of the two does not build: nothing was run."""
    return ComparisonAnswer(
        summary=f"Not compared: {name} has a {status}.",
        findings=ranked(list(findings)),
        next=("mend it, then compare again",),
        workload=workload.name,
        a=both["a"].id,
        b=both["b"].id,
        a_status=status if name == "a" else "not run",
        b_status=status if name == "b" else "not run",
    )


def _answer(
    bench: Workbench, args: CompareArgs, workload: Workload, both: dict[str, Candidate], outcome: Outcome
) -> ComparisonAnswer:
    statuses = {name: status_of(outcome.faults[name]).replace("_", " ") for name in ("a", "b")}
    right = [name for name, status in statuses.items() if status == "correct"]
    assert outcome.result is not None
    gained = speedup_of(outcome.result, "a", "b") if len(right) == 2 else None
    findings = [fault.finding for name in ("a", "b") for fault in outcome.faults[name]]
    return ComparisonAnswer(
        summary=_summary(statuses, right, gained, args.preset),
        findings=tuple(findings),
        provenance=bench.origin(list(outcome.runs)),
        next=("profile says why",) if gained else ("debug names the line of a bad access",),
        checks_run=(
            "values at visible and hidden sizes",
            *(("timing", "every timed output") if gained else ()),
        ),
        workload=workload.name,
        a=both["a"].id,
        b=both["b"].id,
        a_status=statuses["a"],
        b_status=statuses["b"],
        speedup=_report(gained, outcome, workload, args.preset) if gained else None,
        difference=_difference(workload, outcome),
        hidden=HiddenSizes(
            seed=outcome.seed, repeated=False, sizes=tuple(dict(sizes) for sizes in outcome.hidden)
        ),
    )


def _summary(statuses: dict[str, str], right: list[str], gained: Speedup | None, preset: str) -> str:
    if gained is not None:
        told = {"FASTER": "A is faster", "SLOWER": "B is faster", "SAME": "equally fast"}
        return f"Both right; {told.get(gained.comparison, 'no certain difference')} at {preset}: {gained.ratio:.3f}x."
    if not right:
        return f"Both are wrong: A {statuses['a']}, B {statuses['b']}."
    return f"Only {right[0].upper()} is right: A {statuses['a']}, B {statuses['b']}."


def _difference(workload: Workload, outcome: Outcome) -> str | None:
    """The smallest set on which an output of the two differs by more than both may be off together."""
    if outcome.result is None or outcome.sets is None:
        return None
    held = {
        (one.trial.program, one.trial.number): one.outputs
        for one in outcome.result.trials
        if one.status == "ran"
    }
    numbers = sorted({number for _, number in held}, key=lambda number: _elements(workload, outcome, number))
    for number in numbers:
        sizes = outcome.sets.sets[number].sizes
        for buffer in workload.outputs:
            left, other = (held.get((name, number), {}).get(buffer.name) for name in ("a", "b"))
            if left is None or other is None or buffer.tolerance is None:
                continue
            first = outcome.sets.given(number, buffer.name, left).astype(np.float64)
            second = outcome.sets.given(number, buffer.name, other).astype(np.float64)
            allowed = buffer.tolerance.allowance(buffer.dtype, sizes)
            scale = float(
                np.sqrt(np.mean(np.square(outcome.sets.reference(number, buffer.name).astype(np.float64))))
            )
            limit = 2 * (allowed.relative * np.abs(first) + allowed.absolute * scale)
            apart = ~(np.abs(first - second) <= limit) & ~(np.isnan(first) & np.isnan(second))
            if np.any(apart):
                index = tuple(int(part) for part in np.argwhere(apart)[0])
                values = f"A {first[index]:.6g}, B {second[index]:.6g}"
                at = sizes_text(sizes, number >= outcome.hidden_from)
                return f"{buffer.name}{list(index)} {at}: {values} ({int(apart.sum()):,} of {apart.size:,} elements)"
    return None


def _elements(workload: Workload, outcome: Outcome, number: int) -> int:
    assert outcome.sets is not None
    return workload.memory_bytes(outcome.sets.sets[number].sizes)


def _report(gained: Speedup, outcome: Outcome, workload: Workload, preset: str) -> SpeedupReport:
    assert outcome.result is not None
    assert outcome.result.timing is not None
    medians = {
        name: float(np.median([one.cold_us for one in outcome.result.timing.samples if one.program == name]))
        for name in ("a", "b")
    }
    return SpeedupReport(
        comparison=gained.comparison,
        ratio=round(gained.ratio, 4),
        low=round(gained.low, 4),
        high=round(gained.high, 4),
        pairs=gained.pairs,
        candidate_us=round(medians["a"], 3),
        baseline_us=round(medians["b"], 3),
        sizes=dict(workload.presets[preset]),
        flush="persisting L2 reset, memset and read of 2 x L2",
    )
