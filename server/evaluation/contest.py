"""Put candidates of one workload to trial: build, references, verification, timing, side by side where that is honest.

One candidate is judged against the baseline, two are compared with each other: both are contests. What the results mean
is said elsewhere.
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
from ..errors import UnreadableOutput, WarpwiseError
from ..workbench import Workbench
from . import references, trial
from .limits import device_limits
from .references import InputSets, SetRequest
from .schedule_check import Checked, check_schedule, define_value
from .sizes import fresh_seed
from .trial import POISONS, LauncherResult, Program, Question, TimingRequest, Trial
from .verification import Fault, faults_of, timed_faults
from .workload import Sizes, Workload

TRUSTED_NAME = "trusted.cu"
LAUNCHER_FOLDER = Path(__file__).resolve().parent.parent / "launcher"


@dataclass(frozen=True, slots=True)
class Request:
    """What is tried and how: `preset` sizes are visible and timed; without `timing` only values are checked."""

    workload: Workload
    arch: str
    preset: str = "tiny"
    hidden_count: int = 3
    hidden_seed: str | None = None
    timed_sets: int = 8
    timing: TimingRequest | None = field(default_factory=lambda: TimingRequest((0,)))
    timeout_s: float = 60.0


@dataclass(slots=True)
class Entry:
    """One program of a contest: its source, its checked schedule, its build and, where that is ok, the program."""

    candidate: Candidate
    checked: Checked
    build: Build | None = None
    program: Program | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out: entries by name, faults by name, the launcher's result (None where nothing could be run)."""

    entries: Mapping[str, Entry]
    seed: str
    hidden: tuple[Sizes, ...]
    runs: tuple[Finished, ...]
    phases_s: Mapping[str, float]
    sets: InputSets | None = None
    trusted: Input | None = None
    result: LauncherResult | None = None
    faults: Mapping[str, tuple[Fault, ...]] = field(default_factory=dict[str, tuple[Fault, ...]])

    @property
    def hidden_from(self) -> int:
        """The number of the first set of hidden sizes."""
        return len(self.sets.sets) - len(self.hidden) if self.sets else 0


class Clock:
    """Seconds by phase."""

    def __init__(self) -> None:
        self.phases: dict[str, float] = {}
        self._began = time.perf_counter()

    def lap(self, name: str) -> None:
        """The phase that ends now."""
        now = time.perf_counter()
        self.phases[name] = now - self._began
        self._began = now


def entry(candidate: Candidate, request: Request) -> Entry:
    """A candidate with its schedule checked for the workload and the architecture."""
    defines = {name: define_value(value) for name, value in candidate.defines.items()}
    limits = device_limits(request.arch)
    checked = check_schedule(candidate.source, candidate.main, request.workload, limits, defines)
    return Entry(candidate, checked)


def baseline_entry(bench: Workbench, request: Request) -> Entry:
    """The workload's own baseline. Raises UnreadableOutput where its schedule is wrong."""
    source = {"baseline.cu": request.workload.baseline().encode()}
    found = entry(candidates.build("baseline.cu", source, {}, (), bench.blobs), request)
    if not found.checked.ok:
        raise _bad_baseline(request, "its schedule has errors")
    return found


def _bad_baseline(request: Request, why: str) -> UnreadableOutput:
    hint = "Mend the workload: `warpwise workload check` names the line."
    return UnreadableOutput(f"the baseline of {request.workload.name} cannot be used: {why}", hint=hint)


async def hold(bench: Workbench, entries: Mapping[str, Entry], request: Request) -> Outcome:
    """Try the entries, all of whose schedules are ok. A build that fails ends it; what they do wrong are faults.

    The hidden sizes are drawn here, after the candidates are fixed. Raises PlanError where a schedule cannot run at a
    hidden size, ProgramTimedOut where kernels do not end, BadWorkload, Unavailable and other inabilities.
    """
    clock = Clock()
    seed = request.hidden_seed or fresh_seed()
    hidden = request.workload.hidden_sizes(seed, request.hidden_count)
    made = _Made()
    try:
        async with anyio.create_task_group() as group:
            for name, one in entries.items():
                group.start_soon(_build_entry, bench, name, one, request)
            group.start_soon(made.trusted, bench, request)
            group.start_soon(made.references, bench, request, hidden)
    except* WarpwiseError as errors:
        raise _first(errors) from None
    clock.lap("build and references")
    runs = tuple(run for one in entries.values() if one.build for run in one.build.runs)
    if any(one.program is None for one in entries.values()) or made.sets is None or made.cubin is None:
        if (broken := entries.get("baseline")) is not None and broken.program is None:
            raise _bad_baseline(request, "it does not build")
        return Outcome(entries, seed, hidden, runs, clock.phases)
    await bench.progress("running", 0.5)
    started = Outcome(entries, seed, hidden, runs, clock.phases, made.sets, made.cubin)
    return await _run(bench, request, started, clock)


def _first(errors: BaseExceptionGroup[WarpwiseError]) -> WarpwiseError:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, WarpwiseError)
    return found


async def _build_entry(bench: Workbench, name: str, one: Entry, request: Request) -> None:
    assert one.checked.schedule is not None
    defines = {name: str(value) for name, value in one.checked.schedule.defines.items()}
    scheduled = replace(one.candidate, defines={**defines, **one.candidate.defines})
    one.build = await build(bench, scheduled, request.arch)
    if one.build.ok and one.build.cubin is not None:
        one.program = Program(name, one.build.cubin, one.checked, _mangled(one.build, one.checked))


def _mangled(made: Build, checked: Checked) -> dict[str, str]:
    found: dict[str, str] = {}
    for built in made.kernels:
        plain = built.name.partition("(")[0].partition("<")[0].rpartition("::")[2].rpartition(" ")[2]
        found |= {kernel: built.mangled for kernel in checked.kernels if kernel in (plain, built.mangled)}
    return found


class _Made:
    """What is made beside the builds: the launcher's own kernels, and the inputs with their references."""

    def __init__(self) -> None:
        self.cubin: Input | None = None
        self.sets: InputSets | None = None

    async def trusted(self, bench: Workbench, request: Request) -> None:
        """Build the launcher's own kernels."""
        source = (LAUNCHER_FOLDER / TRUSTED_NAME).read_bytes()
        kernels = candidates.build(TRUSTED_NAME, {TRUSTED_NAME: source}, {}, (), bench.blobs)
        made = await build(bench, kernels, request.arch)
        if made.cubin is None:
            raise UnreadableOutput("the launcher's own kernels do not build", made.log)
        self.cubin = made.cubin

    async def references(self, bench: Workbench, request: Request, hidden: tuple[Sizes, ...]) -> None:
        """Draw the inputs of all sets from the system's entropy and compute their references."""
        visible = [request.workload.presets[request.preset]] * (request.timed_sets if request.timing else 1)
        requests = [SetRequest(sizes, int(fresh_seed()[:15], 16)) for sizes in (*visible, *hidden)]
        asked = references.command(request.workload, requests, bench.blobs, request.timeout_s)
        self.sets = references.parse(await bench.run(asked), request.workload, requests, bench.blobs)


async def _run(bench: Workbench, request: Request, started: Outcome, clock: Clock) -> Outcome:
    assert started.sets is not None
    assert started.trusted is not None
    names = [name for name in started.entries if name != "baseline"]
    verified = (0, *range(started.hidden_from, len(started.sets.sets)))
    trials = tuple(Trial(name, number, poison) for name in names for number in verified for poison in POISONS)
    timing = replace(request.timing, sets=tuple(range(started.hidden_from))) if request.timing else None
    programs = tuple(
        one.program
        for name, one in started.entries.items()
        if one.program is not None and (timing or name != "baseline")
    )
    question = Question(request.workload, programs, started.sets, trials, timing, started.trusted)
    asked = trial.command(question, bench.blobs, request.timeout_s, "exclusive" if timing else "shared")
    finished = await bench.run(asked)
    result = trial.parse(finished, trials, bench.blobs, request.timeout_s)
    clock.lap("run")
    clock.phases["of run: trials"] = result.trials_s
    if result.timing:
        clock.phases["of run: timing"] = result.timing.seconds
    done = replace(started, runs=(*started.runs, finished), result=result)
    faults = {name: tuple(_faults(request, done, name)) for name in names}
    if "baseline" in started.entries and (wrong := _timed_faults(request, done, "baseline")):
        raise _bad_baseline(request, wrong[0].finding.message)
    clock.lap("compare")
    return replace(done, faults=faults, phases_s=clock.phases)


def _faults(request: Request, done: Outcome, name: str) -> list[Fault]:
    assert done.sets is not None
    assert done.result is not None
    found = faults_of(request.workload, done.sets, done.hidden_from, done.result.trials, name)
    return found or _timed_faults(request, done, name)


def _timed_faults(request: Request, done: Outcome, name: str) -> list[Fault]:
    timing = done.result.timing if done.result else None
    if timing is None or done.sets is None:
        return []
    return timed_faults(request.workload, done.sets, timing, name)
