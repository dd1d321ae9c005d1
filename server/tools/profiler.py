"""The tool `profile`: what bounds each kernel of a program, by hardware counters, and what would help most."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema, field_validator
from pydantic.json_schema import SkipJsonSchema

from ..analysis.counters import derived
from ..analysis.performance import profiles
from ..building import Build, build
from ..command import Finished
from ..errors import InvalidRequest, UnreadableOutput
from ..evaluation.judging.entries import Request
from ..evaluation.judging.profiling import launchable
from ..evaluation.shipped import find
from ..profile_files import kept_report, lines_of, vendor_text
from ..profile_findings import admin_only, denied, nothing_ran, program_failed
from ..profiling import Measured, Plan, profile_program, profile_report, relocated, run_plainly
from ..reports.answer import Artifact, Origin
from ..reports.finding import Finding, SkippedCheck
from ..reports.number import Number, unavailable
from ..reports.performance import KernelPerformance, ProfileAnswer, Timing
from ..tool import tool
from ..toolchain.ncu import TIMED_LAUNCHES, ProfileSet, Target
from ..tools_arguments import Flags, KernelArgs
from ..workbench import Workbench

Preset = Literal["tiny", "small", "medium", "large", "xl"]
_SUFFIX = ".ncu-rep"
_DEADLINE_S = 300.0
_MAX_ARGUMENT = 16_384
_NOT_FOR_REPORTS = ("workload", "preset", "set", "args", "arch", "defines", "flags")
_TIMED = "timed in a pass of their own: one launch at a time, warm caches, clocks not fixed"
_OF_REPORT = "times and shares of the report's launches"


class ProfileArgs(KernelArgs):
    """What bounds each kernel, by hardware counters: roofline, stalls, hot lines, memory access per line, ranked advice.

    Takes a program (.cu with main), kernels of a workload, or an existing .ncu-rep, which needs no GPU.
    """

    path: str | SkipJsonSchema[None] = Field(None, description="A .cu or .ncu-rep file below the root.")
    workload: str | SkipJsonSchema[None] = Field(
        None, description="Profile kernels of this workload, without a main."
    )
    preset: Preset = Field("medium", description="The workload's sizes.")
    set: ProfileSet = Field("standard", description="How much is counted.")
    kernel: Annotated[str | None, WithJsonSchema({"type": "string"})] = Field(
        None, min_length=1, max_length=500, description="Only this kernel: its name, or a regular expression."
    )
    launch_skip: int = Field(0, ge=0, description="Launches to skip first.")
    launch_count: Annotated[int | None, WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 64})] = (
        Field(
            None, ge=1, le=64, description="How many to profile; default: first, middle, last of each kernel."
        )
    )
    args: Flags = Field((), max_length=256, description="The program's arguments.")

    @field_validator("args", "kernel")
    @classmethod
    def _plain_text(cls, value: tuple[str, ...] | str | None) -> tuple[str, ...] | str | None:
        for text in (value,) if isinstance(value, str) else value or ():
            if "\0" in text or text != text.encode(errors="replace").decode():
                raise ValueError("text without NUL characters is needed")
            if len(text) > _MAX_ARGUMENT:
                raise ValueError(f"an argument may have {_MAX_ARGUMENT:,} characters")
        return value

    def plan(self) -> Plan:
        """What to profile, and how long each run may take."""
        deadline = self.deadline(_DEADLINE_S)
        return Plan(self.set, self.kernel, self.launch_skip, self.launch_count, self.args, deadline)


@tool(title="Profile a program", read_only=True, component="profiler")
async def profile(bench: Workbench, args: ProfileArgs) -> ProfileAnswer:
    """Build, time, profile and read; or only read, where the path is a report."""
    if args.path is not None and args.path.endswith(_SUFFIX):
        return await _of_report(bench, args, args.path)
    candidate = await args.candidate(bench)
    await bench.progress("building", None)
    arch = await args.build_arch(bench, candidate)
    if candidate.is_program:
        made = await build(bench, candidate, arch)
        target: Target | None = made.executable if made.ok else None
    elif args.workload is not None:
        request = Request(find(args.workload, bench.client.roots), arch, args.preset, timing=None)
        found = await launchable(bench, candidate, replace(request, timeout_s=args.deadline(_DEADLINE_S)))
        if found.build is None or (found.command is None and found.build.ok):
            return _nothing_to_profile(candidate.id, "its schedule has errors", found.findings)
        made, target = found.build, found.command
    else:
        raise InvalidRequest(
            f"{candidate.main} has no main, so nothing launches its kernels",
            "Profile a program, or name the workload; compile and analyze take a kernel alone.",
        )
    if target is None:
        why = f"does not build for {made.arch}"
        return _nothing_to_profile(candidate.id, why, made.findings, bench.origin(list(made.runs)))
    measured = await profile_program(bench, target, candidate.inputs(), args.plan())
    runs = [*made.runs, *measured.runs]
    if measured.denied:
        plain = await run_plainly(bench, target, args.plan())
        answer = _timing_only(measured, plain)
        return answer.model_copy(
            update={"candidate": candidate.id, "provenance": bench.origin([*runs, plain])}
        )
    answer = _answer(bench, measured, args.set, made)
    artifacts = await _artifacts(bench, args, measured)
    common = {"candidate": candidate.id, "provenance": bench.origin(runs), "artifacts": artifacts}
    return answer.model_copy(update=common)


async def _of_report(bench: Workbench, args: ProfileArgs, path: str) -> ProfileAnswer:
    fields = ProfileArgs.model_fields
    wrong = [
        name
        for name in _NOT_FOR_REPORTS
        if getattr(args, name) != fields[name].get_default(call_default_factory=True)
    ]
    if wrong or args.source is not None or args.id is not None:
        told = ", ".join(wrong) or "source and id"
        raise InvalidRequest(
            f"{told} cannot change what a report holds", f"Call profile(path={path!r}) alone."
        )
    report = await kept_report(bench, path)
    try:
        measured = await profile_report(bench, report, args.plan())
    except UnreadableOutput as error:
        raise InvalidRequest(f"{path}: {error.what}", error.hint) from error
    answer = _answer(bench, measured)
    reader = measured.runs[0].environment
    origin = Origin(how="recorded", environment=f"{answer.device or 'an unknown GPU'}, read with {reader}")
    artifacts = await _artifacts(bench, args, measured)
    return answer.model_copy(update={"provenance": origin, "artifacts": artifacts})


async def _artifacts(bench: Workbench, args: ProfileArgs, measured: Measured) -> tuple[Artifact, ...]:
    if args.detail != "raw":
        return ()
    return await vendor_text(bench, measured.reports)


def _answer(
    bench: Workbench, measured: Measured, chosen: str | None = None, made: Build | None = None
) -> ProfileAnswer:
    """The profile of what was measured; where nothing was, a finding that says so and no clean bill."""
    how = _OF_REPORT if made is None else _TIMED
    if not measured.launches:
        finding = nothing_ran(measured)
        timing = _timing(measured, (), how)
        return ProfileAnswer(
            summary=f"Not profiled: {finding.message}.",
            findings=(finding,),
            set=chosen,
            timing=timing,
            checks_skipped=(SkippedCheck(check="hardware counters", reason="no kernel ran"),),
            next=("debug: which launch failed, and why",),
        )
    readings = measured.readings or {}
    spilled: dict[str, int] = {}
    if made is not None:
        readings = relocated(readings, tuple(made.candidate.files), lines_of(bench, made.candidate))
        spilled = {
            one.mangled: one.spill_store_bytes for one in made.kernels if one.spill_store_bytes is not None
        }
    kernels, findings = profiles(measured.launches, readings, spilled)
    timing = _timing(measured, kernels, how)
    return ProfileAnswer(
        summary=_summary(kernels, timing, findings),
        findings=(*program_failed(measured), *findings),
        device=measured.launches[0].device,
        set=chosen,
        timing=timing,
        kernels=kernels,
        checks_run=(f"time of {_count(timing.timed, 'launch', 'es')}", f"counters of {timing.profiled}"),
        checks_skipped=_skipped(measured, timing),
        next=_next(findings, chosen),
    )


def _timing(measured: Measured, kernels: Sequence[KernelPerformance], how: str) -> Timing:
    times = [kernel.total.value for kernel in kernels]
    known = [time for time in times if time is not None]
    whole = None
    if known and len(known) == len(times):
        whole = derived(sum(known), "us", "the sum of the launches' times")
    timed = len(measured.launches)
    counted = measured.table.launched + measured.table.driver_launches if measured.table else None
    complete = timed < TIMED_LAUNCHES and not measured.left_out
    return Timing(
        launches=timed if complete else None if counted is None else max(counted, timed),
        timed=timed,
        profiled=len(measured.readings or {}),
        total=whole or unavailable("us", "gpu__time_duration.sum was not collected"),
        how=how,
    )


def _skipped(measured: Measured, timing: Timing) -> tuple[SkippedCheck, ...]:
    found: list[SkippedCheck] = []
    if (rest := timing.timed - timing.profiled) > 0:
        reason = "first, middle and last launch of each kernel, 16 in all; choose by kernel, launch_skip, launch_count"
        found.append(SkippedCheck(check=f"counters of {rest} more launches", reason=reason))
    if timing.launches is None or timing.launches > timing.timed:
        more = "more" if timing.launches is None else f"{timing.launches - timing.timed:,} more"
        found.append(
            SkippedCheck(check=f"time of {more} launches", reason=f"the first {timing.timed:,} are timed")
        )
    if measured.missed > 0:
        reason = "the program launched differently in the profiling run, or too many runs would be needed"
        found.append(SkippedCheck(check=f"{measured.missed} chosen launches", reason=reason))
    return tuple(found)


def _summary(kernels: Sequence[KernelPerformance], timing: Timing, findings: Sequence[Finding]) -> str:
    bound = [f"{one.kernel} {one.share.value or 0:.3g} % ({_bound(one)})" for one in kernels[:3]]
    more = f" and {len(kernels) - 3} more" if len(kernels) > 3 else ""
    time = "" if timing.total.value is None else f", {timing.total.value:,.5g} us of GPU time"
    head = f"{_count(len(kernels), 'kernel')}, {_count(timing.timed, 'launch', 'es')}{time}: {', '.join(bound)}{more}."
    best = next((one for one in findings if one.evidence.get("gain_pct")), None)
    if best is None:
        return head
    place = f" at {best.location}" if best.location else ""
    return f"{head} Most to gain: {best.rule.removeprefix('profile/')} in {best.kernel}{place}."


def _bound(kernel: KernelPerformance) -> str:
    return (
        f"{kernel.bottleneck.by}-bound"
        if kernel.bottleneck
        else "not profiled"
        if not kernel.profiled
        else "bound unknown"
    )


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number:,} {noun}{plural if number != 1 else ''}"


def _next(findings: Sequence[Finding], chosen: str | None) -> tuple[str, ...]:
    steps: list[str] = []
    if findings:
        first = findings[0]
        steps.append(
            f"mend {first.rule.removeprefix('profile/')} ({first.location or first.kernel}), profile again"
        )
    if chosen == "quick":
        steps.append("set=standard: hot lines, memory access per line, stalls")
    return (*steps, "detail=evidence: every line, access and rule")


def _nothing_to_profile(
    candidate: str, why: str, findings: Sequence[Finding], origin: Origin | None = None
) -> ProfileAnswer:
    missing = unavailable("us", why)
    return ProfileAnswer(
        candidate=candidate,
        summary=f"{why[:1].upper()}{why[1:]}: nothing to profile.",
        findings=tuple(findings),
        provenance=origin,
        timing=Timing(launches=None, timed=0, profiled=0, total=missing, how="nothing ran"),
        checks_skipped=(SkippedCheck(check="hardware counters", reason=why),),
        next=("mend the first error and compile again",),
    )


def _timing_only(measured: Measured, plain: Finished | None) -> ProfileAnswer:
    """What can be said without counters: each launch's time where ncu gave it, else the whole program's wall time."""
    run = measured.runs[-1]
    finding = denied(run, None if run.sandbox == "replayed" else admin_only())
    kernels, _ = profiles(measured.launches, {})
    timing = _timing(measured, kernels, _TIMED)
    told = "each launch was timed"
    if plain is not None:
        whole = "process start, CUDA context and copies included"
        told = f"the whole program took {plain.wall_s:.3g} s ({whole})"
        how = "timing only: wall time of one run without ncu, which times nothing when counters are denied"
        program = Number(value=plain.wall_s, unit="s", reason=whole)
        timing = timing.model_copy(update={"program": program, "how": how})
    return ProfileAnswer(
        summary=f"Timing only, no counters: {told}. What bounds the kernels is unknown.",
        findings=(finding, *program_failed(measured)),
        timing=timing,
        kernels=kernels,
        checks_run=("time only",),
        checks_skipped=(
            SkippedCheck(check="hardware counters", reason=finding.suggestion or finding.message),
        ),
        next=("capabilities: what is off here, and why", "analyze: what can be seen without counters"),
    )
