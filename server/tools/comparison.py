"""Compare two candidates of a workload: interleaved timing, and an input on which they differ."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from ..candidate import Candidate
from ..errors import InvalidRequest
from ..evaluation.difference import difference
from ..evaluation.judging.contest import Outcome, hold
from ..evaluation.judging.entries import Request, entry
from ..evaluation.judging.judge import status_of
from ..evaluation.judging.told import checks_run, checks_skipped, hidden_of, measurement_of
from ..evaluation.shipped import find
from ..evaluation.verdict import DOUBTED, Status
from ..evaluation.workload import Workload
from ..reports.answer import Detail
from ..reports.comparison import ComparisonAnswer
from ..reports.finding import Finding, ranked
from ..reports.speedup import SpeedupReport
from ..tool import Args, tool
from ..toolchain.flags import checked_arch
from ..workbench import Workbench

Preset = Literal["tiny", "small", "medium", "large", "xl"]
_RIGHT: tuple[Status, ...] = ("correct", *DOUBTED)


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
    devices = bench.services.gpus.devices
    memory = devices[0].memory_bytes if devices else None
    request = Request(workload, arch, args.preset, timeout_s=args.timeout_s, memory_bytes=memory)
    entries = {name: entry(candidate, request) for name, candidate in both.items()}
    for name, one in entries.items():
        if not one.checked.ok:
            return _unable(both, workload, name, "schedule error", one.checked.findings)
    outcome = await hold(bench, entries, request)
    if outcome.result is not None:
        return _answer(bench, args, workload, both, outcome)
    if outcome.faults:
        name, faults = next(iter(outcome.faults.items()))
        return _unable(both, workload, name, "schedule error", tuple(fault.finding for fault in faults))
    broken = [finding for one in entries.values() if one.build for finding in one.build.findings]
    return _unable(both, workload, "both", "compile error", tuple(broken))


async def _candidate(bench: Workbench, named: str) -> Candidate:
    if named.startswith("c-") and not named.endswith((".cu", ".cuh")):
        return await bench.candidate(path=None, source=None, id=named)
    return await bench.candidate(path=named, source=None, id=None)


def _unable(
    both: dict[str, Candidate], workload: Workload, name: str, status: str, findings: tuple[Finding, ...]
) -> ComparisonAnswer:
    """One of the two cannot be run: nothing was."""
    return ComparisonAnswer(
        summary=f"Not compared: {'both have' if name == 'both' else f'{name.upper()} has'} a {status}.",
        findings=ranked(list(findings)),
        next=("mend it, then compare again",),
        workload=workload.name,
        a=both["a"].id,
        b=both["b"].id,
        a_status=status if name in ("a", "both") else "not run",
        b_status=status if name in ("b", "both") else "not run",
    )


def _answer(
    bench: Workbench, args: CompareArgs, workload: Workload, both: dict[str, Candidate], outcome: Outcome
) -> ComparisonAnswer:
    assert outcome.result is not None
    assert outcome.sets is not None
    statuses: dict[str, Status] = {
        name: status_of(outcome.faults[name]) if name in outcome.built else "compile_error"
        for name in ("a", "b")
    }
    right = [name for name, status in statuses.items() if status in _RIGHT]
    gained = outcome.speedup("a", "b") if len(right) == 2 else None
    told = {name: status.replace("_", " ") for name, status in statuses.items()}
    findings = [fault.finding for name in outcome.built for fault in outcome.faults[name]]
    builds = (one.build for name, one in outcome.entries.items() if name not in outcome.built)
    findings += [finding for made in builds if made for finding in made.findings]
    findings += outcome.conditions.notes() if outcome.conditions and gained else []
    return ComparisonAnswer(
        summary=_summary(told, right, gained, args.preset),
        findings=ranked(findings),
        provenance=bench.origin(list(outcome.runs)),
        next=("profile says why",) if gained else ("debug names the line of a bad access",),
        checks_run=checks_run(outcome),
        checks_skipped=tuple(checks_skipped(outcome, sanitized=False)),
        workload=workload.name,
        a=both["a"].id,
        b=both["b"].id,
        a_status=told["a"],
        b_status=told["b"],
        speedup=gained,
        difference=difference(workload, outcome.sets, outcome.result, "a", "b"),
        hidden=hidden_of(outcome),
        measured=measurement_of(outcome),
    )


def _summary(told: dict[str, str], right: list[str], gained: SpeedupReport | None, preset: str) -> str:
    if gained is not None:
        said = {"FASTER": "A is faster", "SLOWER": "B is faster", "SAME": "equally fast"}
        verdict = said.get(gained.comparison, "no certain difference")
        return f"Both right; {verdict} at {preset}: {gained.ratio:.3f}x."
    if not right:
        return f"Both are wrong: A {told['a']}, B {told['b']}."
    if len(right) == 2:
        return f"Both right, not timed: A {told['a']}, B {told['b']}."
    return f"Only {right[0].upper()} is right: A {told['a']}, B {told['b']}."
