"""Put programs of one workload to trial: build, references, verification, timing, side by side where that is honest.

One candidate is judged against the baseline, two are compared with each other: both are contests. What the results mean
is said elsewhere.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import anyio.to_thread

from ... import candidate as candidates
from ...building import build
from ...command import Finished, GpuUse, Input
from ...errors import BadWorkload, Unavailable, UnreadableOutput, WarpwiseError
from ...gpu_state import GpuState, gpu_state
from ...reports.finding import Finding, Location
from ...reports.speedup import SpeedupReport
from ...workbench import Workbench
from .. import launched, references, speedup, trial
from ..conditions import Conditions, doubts
from ..launched import LauncherResult
from ..references import InputSets, SetRequest
from ..sizes import fresh_seed
from ..trial import POISONS, Program, Question, Trial, Unplannable
from ..verification import Fault, faults_of
from ..workload import Sizes
from .entries import BASELINE, Entry, Request, bad_baseline, build_entry

TRUSTED_NAME = "trusted.cu"
LAUNCHER_FOLDER = Path(__file__).resolve().parents[2] / "launcher"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out: entries and faults by name, the launcher's result (None where nothing could be run).

    `phases_s` are seconds by phase. `trusted` is the cubin of the launcher's own kernels.
    """

    request: Request
    entries: Mapping[str, Entry]
    seed: str
    hidden: tuple[Sizes, ...]
    phases_s: Mapping[str, float] = field(default_factory=dict[str, float])
    runs: tuple[Finished, ...] = ()
    sets: InputSets | None = None
    trusted: Input | None = None
    result: LauncherResult | None = None
    faults: Mapping[str, tuple[Fault, ...]] = field(default_factory=dict[str, tuple[Fault, ...]])
    conditions: Conditions | None = None

    @property
    def candidates(self) -> tuple[str, ...]:
        """The names of the programs that are on trial: all but the baseline."""
        return tuple(name for name in self.entries if name != BASELINE)

    @property
    def built(self) -> tuple[str, ...]:
        """The candidates that could be built."""
        return tuple(name for name in self.candidates if self.entries[name].program is not None)

    def speedup(self, first: str, second: str) -> SpeedupReport | None:
        """How much faster the first program is than the second; None where they were not timed."""
        timing, asked = self.result.timing if self.result else None, self.request.timing
        if timing is None or asked is None:
            return None
        return speedup.report(timing, first, second, self.request.sizes, asked.flush)


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


async def hold(bench: Workbench, entries: Mapping[str, Entry], request: Request) -> Outcome:
    """Try the entries, all of whose schedules are ok; those that do not build stay without a program.

    The hidden sizes are drawn here, after the candidates are fixed. Raises BadWorkload, Unavailable, other inabilities.
    """
    clock = Clock()
    seed = request.seed()
    hidden = request.workload.hidden_sizes(seed, request.hidden_count)
    made = _Made()
    try:
        async with anyio.create_task_group() as group:
            for name, one in entries.items():
                group.start_soon(build_entry, bench, name, one, request.arch)
            group.start_soon(made.trusted, bench, request)
            group.start_soon(made.references, bench, request, hidden)
    except* WarpwiseError as errors:
        raise _first(errors) from None
    clock.lap("build and references")
    runs = tuple(run for one in entries.values() if one.build for run in one.build.runs)
    started = Outcome(request, entries, seed, hidden, clock.phases, runs, sets=made.sets, trusted=made.cubin)
    if (broken := entries.get(BASELINE)) is not None and broken.program is None:
        raise bad_baseline(request.workload, "it does not build")
    if not started.built:
        return started
    await bench.progress("running", 0.5)
    return await _Trial(bench, started, clock).run()


def _first(errors: BaseExceptionGroup[WarpwiseError]) -> WarpwiseError:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, WarpwiseError)
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
        visible = [request.sizes] * request.visible_sets
        requests = [SetRequest(sizes, int(fresh_seed()[:15], 16)) for sizes in (*visible, *hidden)]
        asked = references.command(request.workload, requests, bench.blobs, request.timeout_s)
        finished = await bench.run(asked)
        if finished.timed_out:
            what = f"the oracle of {request.workload.name} took longer than {request.timeout_s:g} s"
            raise BadWorkload(what, "Use a smaller preset, or raise timeout_s.")
        self.sets = await anyio.to_thread.run_sync(
            references.parse, finished, request.workload, requests, len(visible), bench.blobs
        )


class _Trial:
    """The part of a contest that runs on the GPU, and the comparison of what it left."""

    def __init__(self, bench: Workbench, started: Outcome, clock: Clock) -> None:
        assert started.sets is not None
        assert started.trusted is not None
        self.bench, self.started, self.clock = bench, started, clock
        self.request, self.sets, self.trusted = started.request, started.sets, started.trusted
        self.runs = list(started.runs)

    async def run(self) -> Outcome:
        """Run it all. Raises BadWorkload where the baseline is wrong, Unavailable where the GPU is too small."""
        before = await self._state()
        names = self.started.built
        timed = self.request.timing is not None and names == self.started.candidates
        try:
            result = await self._launch([*self.started.entries] if timed else names, names, timed=timed)
            while left := [name for name in names if all(one.status == "not_run" for one in result.of(name))]:
                # a program that lost the context, or never ended, took the trials of the later ones with it
                result = _merged(result, await self._launch(left, left, timed=False))
        except Unplannable as error:
            fault = _unplannable(error, self.started.entries[error.program])
            if error.program == BASELINE:
                raise bad_baseline(self.request.workload, fault.finding.message) from error
            return replace(self.started, phases_s=self.clock.phases, faults={error.program: (fault,)})
        self._require_room(result)
        after = await self._state()
        faults = await anyio.to_thread.run_sync(self._faults, result, after)
        self.clock.lap("compare")
        return replace(
            self.started,
            runs=tuple(self.runs),
            phases_s=self.clock.phases,
            result=result,
            faults=faults,
            conditions=Conditions(before, after) if timed else None,
        )

    async def _state(self) -> GpuState:
        devices = self.bench.services.gpus.devices
        if self.request.timing is None or not devices:
            return GpuState()
        return await anyio.to_thread.run_sync(gpu_state, devices[0].uuid)

    async def _launch(self, programs: Sequence[str], tried: Sequence[str], *, timed: bool) -> LauncherResult:
        verified = (0, *self.sets.hidden_numbers)
        trials = tuple(
            Trial(name, number, poison) for name in tried for number in verified for poison in POISONS
        )
        timing = self.request.timing if timed else None
        question = Question(
            self.request.workload, self._built(programs), self.sets, trials, timing, self.trusted
        )
        gpu: GpuUse = "exclusive" if timed else "shared"
        asked = await anyio.to_thread.run_sync(
            trial.command, question, self.bench.blobs, self.request.timeout_s, gpu
        )
        self.clock.lap("plan")
        finished = await self.bench.run(asked)
        self.runs.append(finished)
        result = await anyio.to_thread.run_sync(launched.parse, finished, trials, self.bench.blobs)
        self.clock.lap("run")
        self.clock.phases["of run: trials"] = result.trials_s
        if result.timing:
            self.clock.phases["of run: timing"] = result.timing.seconds
        return result

    def _built(self, names: Sequence[str]) -> tuple[Program, ...]:
        programs = (self.started.entries[name].program for name in names)
        return tuple(program for program in programs if program is not None)

    def _require_room(self, result: LauncherResult) -> None:
        timing = result.timing
        if timing is not None and timing.error is not None and timing.failed is None:
            raise Unavailable(
                f"the GPU cannot hold what is needed for timing: {timing.error}",
                "Use a smaller preset, or timing=false.",
            )

    def _faults(self, result: LauncherResult, state: GpuState) -> dict[str, tuple[Fault, ...]]:
        workload = self.request.workload
        names = (*self.started.built, *({BASELINE} & self.started.entries.keys()))
        found = {name: faults_of(workload, self.sets, result, name) for name in names}
        wrong = found.pop(BASELINE, [])
        if wrong and not any(found.values()):
            raise bad_baseline(workload, wrong[0].finding.message)
        if result.timing and result.timing.samples:
            doubted = doubts(result.timing, found, workload, self.request.sizes, state)
            for name, (status, finding) in doubted.items():
                found[name].append(Fault(status, False, finding))
        return {name: tuple(faults) for name, faults in found.items()}


def _merged(result: LauncherResult, later: LauncherResult) -> LauncherResult:
    """The result with the trials that some of its programs had later."""
    again = {one.trial.program for one in later.trials}
    others = tuple(one for one in result.trials if one.trial.program not in again)
    return replace(result, trials=(*others, *later.trials))


def _unplannable(unplannable: Unplannable, one: Entry) -> Fault:
    error, schedule = unplannable.error, one.checked.schedule
    listed = ", ".join(f"{name} = {value}" for name, value in unplannable.sizes.items())
    finding = Finding(
        rule=f"schedule/{error.rule}",
        severity="error",
        message=f"{error.what} (at {listed})",
        location=Location(file=one.candidate.main, line=schedule.line) if schedule else None,
        suggestion=error.hint,
    )
    return Fault("schedule_error", True, finding)
