"""The judgement of a tier A candidate, from source to verdict: build, references, trials, timing.

Build, baseline and references are made side by side; the hidden sizes are drawn after the candidate is fixed.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio

from .. import candidate as candidates
from ..building import Build, build
from ..candidate import Candidate
from ..command import Finished, Input
from ..errors import ProgramTimedOut, UnreadableOutput
from ..reports.finding import Finding
from ..workbench import Workbench
from . import references, trial
from .limits import device_limits
from .plan import PlanError
from .references import InputSets, SetRequest
from .schedule_check import Checked, check_schedule, define_value
from .sizes import fresh_seed
from .speedup import Speedup, speedup
from .trial import POISONS, LauncherResult, Program, Question, TimingRequest, Trial
from .verdict import Status, Verdict, primary, verdict
from .verification import Fault, faults_of, timed_faults
from .workload import Sizes, Workload

TRUSTED_NAME = "trusted.cu"
LAUNCHER_FOLDER = Path(__file__).resolve().parent.parent / "launcher"


@dataclass(frozen=True, slots=True)
class Request:
    """What is judged and how: `preset` sizes are visible and timed; `timing` None judges without the baseline's time."""

    workload: Workload
    arch: str
    preset: str = "tiny"
    hidden_count: int = 3
    hidden_seed: str | None = None
    timed_sets: int = 8
    timing: TimingRequest | None = field(default_factory=lambda: TimingRequest((0,)))
    timeout_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome with all that it stands on. `phases_s` are seconds, some of them side by side."""

    verdict: Verdict
    status: Status
    findings: tuple[Finding, ...]
    runs: tuple[Finished, ...]
    phases_s: Mapping[str, float]
    seed: str
    hidden: tuple[Sizes, ...] = ()
    speedup: Speedup | None = None
    result: LauncherResult | None = None


class _Clock:
    def __init__(self) -> None:
        self.phases: dict[str, float] = {}
        self._began = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.phases[name] = now - self._began
        self._began = now


async def judge(bench: Workbench, candidate: Candidate, request: Request) -> Judgement:
    """Judge a candidate. Raises BadWorkload, Unavailable and other inabilities, never for what the candidate does."""
    clock = _Clock()
    seed = request.hidden_seed or fresh_seed()
    checked = _checked(candidate, request)
    if not checked.ok:
        return Judgement(
            verdict("schedule_error", None), "schedule_error", checked.findings, (), clock.phases, seed
        )
    hidden = request.workload.hidden_sizes(seed, request.hidden_count)
    made = _Made()
    async with anyio.create_task_group() as group:
        group.start_soon(made.candidate, bench, candidate, checked, request)
        group.start_soon(made.baseline, bench, request)
        group.start_soon(made.trusted, bench, request)
        group.start_soon(made.references, bench, request, hidden)
    clock.lap("build and references")
    assert made.build is not None
    if not made.build.ok:
        runs = tuple(made.build.runs)
        return Judgement(
            verdict("compile_error", None), "compile_error", made.build.findings, runs, clock.phases, seed
        )
    await bench.progress("running", 0.5)
    return await _run(bench, request, checked, made, clock, seed, hidden)


def _checked(candidate: Candidate, request: Request) -> Checked:
    defines = {name: define_value(value) for name, value in candidate.defines.items()}
    limits = device_limits(request.arch)
    return check_schedule(candidate.source, candidate.main, request.workload, limits, defines)


class _Made:
    """What is made side by side before anything runs."""

    def __init__(self) -> None:
        self.build: Build | None = None
        self.programs: dict[str, Program] = {}
        self.cubin: Input | None = None
        self.sets: InputSets | None = None

    async def candidate(
        self, bench: Workbench, candidate: Candidate, checked: Checked, request: Request
    ) -> None:
        """Build the candidate with its schedule's defines."""
        self.build = await _built(bench, candidate, checked, request)
        if self.build.ok:
            self.programs["candidate"] = _program("candidate", self.build, checked)

    async def baseline(self, bench: Workbench, request: Request) -> None:
        """Build the baseline. Raises UnreadableOutput where the workload's own baseline does not build."""
        source = request.workload.baseline()
        baseline = candidates.build("baseline.cu", {"baseline.cu": source.encode()}, {}, (), bench.blobs)
        checked = _checked(baseline, request)
        made = await _built(bench, baseline, checked, request) if checked.ok else None
        if made is None or not made.ok:
            raise UnreadableOutput(
                f"the baseline of {request.workload.name} does not build",
                hint="Mend the workload: `warpwise workload check` names the line.",
            )
        self.programs["baseline"] = _program("baseline", made, checked)

    async def trusted(self, bench: Workbench, request: Request) -> None:
        """Build the launcher's own kernels."""
        source = (LAUNCHER_FOLDER / TRUSTED_NAME).read_bytes()
        kernels = candidates.build(TRUSTED_NAME, {TRUSTED_NAME: source}, {}, (), bench.blobs)
        made = await build(bench, kernels, request.arch)
        if made.cubin is None:
            raise UnreadableOutput("the launcher's own kernels do not build", made.log)
        self.cubin = made.cubin

    async def references(self, bench: Workbench, request: Request, hidden: tuple[Sizes, ...]) -> None:
        """Draw the inputs of all sets and compute their references."""
        visible = [request.workload.presets[request.preset]] * (request.timed_sets if request.timing else 1)
        requests = [SetRequest(sizes, int(fresh_seed()[:15], 16)) for sizes in (*visible, *hidden)]
        asked = references.command(request.workload, requests, bench.blobs, request.timeout_s)
        self.sets = references.parse(await bench.run(asked), request.workload, requests, bench.blobs)


async def _built(bench: Workbench, candidate: Candidate, checked: Checked, request: Request) -> Build:
    assert checked.schedule is not None
    defines = {name: str(value) for name, value in checked.schedule.defines.items()} | dict(candidate.defines)
    return await build(bench, replace(candidate, defines=defines), request.arch)


def _program(name: str, made: Build, checked: Checked) -> Program:
    assert made.cubin is not None
    mangled: dict[str, str] = {}
    for kernel in checked.kernels:
        for built in made.kernels:
            if (
                built.name.partition("(")[0].rpartition("::")[2].split("<")[0] == kernel
                or built.mangled == kernel
            ):
                mangled[kernel] = built.mangled
    return Program(name, made.cubin, checked, mangled)


async def _run(
    bench: Workbench,
    request: Request,
    checked: Checked,
    made: _Made,
    clock: _Clock,
    seed: str,
    hidden: tuple[Sizes, ...],
) -> Judgement:
    assert made.sets is not None
    assert made.cubin is not None
    assert made.build is not None
    count = len(made.sets.sets)
    hidden_from = count - len(hidden)
    verified = (0, *range(hidden_from, count))
    trials = tuple(Trial("candidate", number, poison) for number in verified for poison in POISONS)
    timing = replace(request.timing, sets=tuple(range(hidden_from))) if request.timing else None
    programs = tuple(
        made.programs[name] for name in (("candidate", "baseline") if timing else ("candidate",))
    )
    runs = [*made.build.runs]
    try:
        question = Question(request.workload, programs, made.sets, trials, timing, made.cubin)
        asked = trial.command(question, bench.blobs, request.timeout_s, "exclusive" if timing else "shared")
        finished = await bench.run(asked)
        runs.append(finished)
        result = trial.parse(finished, trials, bench.blobs, request.timeout_s)
    except PlanError as error:
        fault = Finding(
            rule=f"schedule/{error.rule}", severity="error", message=error.what, suggestion=error.hint
        )
        return Judgement(Verdict.COMPILE, "schedule_error", (fault,), tuple(runs), clock.phases, seed, hidden)
    except ProgramTimedOut as error:
        fault = Finding(
            rule="evaluation/timeout",
            severity="error",
            message=error.what,
            suggestion="Look for an endless loop.",
        )
        return Judgement(Verdict.COMPILE, "timeout", (fault,), tuple(runs), clock.phases, seed, hidden)
    clock.lap("run")
    clock.phases["of run: trials"] = result.trials_s
    if result.timing:
        clock.phases["of run: timing"] = result.timing.seconds
    faults = faults_of(request.workload, made.sets, hidden_from, result.trials, "candidate")
    gained, timing_faults = _timed(request, made.sets, result, faults)
    faults += timing_faults
    status = _status(faults)
    clock.lap("compare")
    found = tuple(fault.finding for fault in faults)
    return Judgement(
        verdict(status, gained.comparison if gained else None),
        status,
        (*found, *(finding for finding in checked.findings if finding.severity != "error")),
        tuple(runs),
        clock.phases,
        seed,
        hidden,
        gained,
        result,
    )


def _timed(
    request: Request, sets: InputSets, result: LauncherResult, faults: list[Fault]
) -> tuple[Speedup | None, list[Fault]]:
    timing = result.timing
    if timing is None or faults:
        return None, []
    if timing.error is not None:
        finding = Finding(rule="evaluation/crashed", severity="error", message=f"while timed: {timing.error}")
        return None, [Fault("crashed", False, finding)]
    broken = timed_faults(request.workload, sets, timing.outputs, 0, "baseline")
    if broken:
        raise UnreadableOutput(
            f"the baseline of {request.workload.name} is wrong: {broken[0].finding.message}",
            hint="Mend the workload's baseline.",
        )
    found = timed_faults(request.workload, sets, timing.outputs, timing.mismatches, "candidate")
    if found:
        return None, found
    times = {
        name: [sample.cold_us for sample in timing.samples if sample.program == name]
        for name in ("candidate", "baseline")
    }
    return speedup(times["candidate"], times["baseline"]), []


def _status(faults: list[Fault]) -> Status:
    """`heldout_fail` where everything seen at visible sizes is right, else the first status by precedence."""
    visible: list[Status] = [fault.status for fault in faults if not fault.hidden]
    if faults and not visible:
        every: list[Status] = [fault.status for fault in faults]
        hard = primary(every)
        return hard if hard in ("launch_error", "load_error", "crashed", "out_of_memory") else "heldout_fail"
    return primary(visible)
