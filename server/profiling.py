"""Profiling a built program or an existing report: which runs are needed, in which order, and what they left.

First one cheap run times every launch; then a few launches of each kernel are profiled in depth. What the counters mean
is in `analysis`; what is answered, in the tool.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from .analysis.launch_choice import Place, Selection, choose, places, selections
from .analysis.performance import METRICS
from .command import Command, Finished, Input
from .errors import InvalidRequest, NotFound, ProgramMissing, UnreadableOutput
from .toolchain import launch_probe, ncu, ncu_report
from .toolchain.launch_probe import LaunchTable
from .toolchain.ncu import Log, ProfileSet, Target
from .toolchain.ncu_report import ListedLaunch, Reading, SourceLine
from .workbench import Workbench

_NAMED = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """What to profile: the set of counters, which kernels (a name or an expression), which of their launches."""

    chosen: ProfileSet = "standard"
    kernel: str | None = None
    skip: int = 0
    count: int | None = None
    args: tuple[str, ...] = ()
    timeout_s: float = 300.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What the runs left: launches as timed, readings by launch, and why something is missing.

    `denied`: no counters may be read here. `table` is the launch probe's own count, where the program carries it.
    `missed` are chosen launches that the profiling run did not meet.
    """

    runs: tuple[Finished, ...]
    launches: tuple[ListedLaunch, ...] = ()
    left_out: int = 0
    readings: Mapping[Place, Reading] | None = None
    reports: tuple[Input, ...] = ()
    log: Log | None = None
    table: LaunchTable | None = None
    missed: int = 0

    @property
    def denied(self) -> bool:
        """Whether the driver or the sandbox keeps the counters from us."""
        return self.log is not None and self.log.denied


async def profile_program(
    bench: Workbench, program: Target, sources: Mapping[str, Input], plan: Plan
) -> Measured:
    """Time all launches, then profile the chosen ones. Raises what the runs raise, NotFound for an unknown kernel.

    `sources` are the program's files by name: ncu takes them into its report.
    """
    await bench.progress("timing every launch", None)
    timed, log = await _run_ncu(bench, ncu.timing_command(program, plan.args, plan.timeout_s))
    found = Measured((timed,), log=log, table=_table(bench, timed))
    if log.denied or ncu.REPORT_NAME not in timed.files:
        return found
    listing = ncu_report.list_command(timed.built(ncu.REPORT_NAME), plan.kernel)
    listed_by = await bench.run(listing)
    listed = ncu_report.parse_list(listed_by, _content(bench, listed_by, ncu_report.ANSWER_NAME))
    found = replace(found, launches=listed.launches, left_out=listed.left_out)
    chosen = chosen_launches(listed.launches, plan)
    for number, selection in enumerate(runs := selections(listed.launches, chosen)):
        await bench.progress(
            f"profiling {len(selection.kept)} launches, set {plan.chosen}", number / len(runs)
        )
        found = await _profiled(bench, (program, sources), plan, selection, found)
        if found.denied:
            break
    return replace(found, missed=len(chosen) - len(found.readings or {}))


async def _profiled(
    bench: Workbench,
    program: tuple[Target, Mapping[str, Input]],
    plan: Plan,
    selection: Selection,
    found: Measured,
) -> Measured:
    selected = None if selection.kernels is None else (selection.kernels, selection.invocations)
    plain = ncu.profile_command(program[0], plan.args, plan.chosen, selected, plan.timeout_s)
    command = replace(plain, inputs={**program[1], **plain.inputs})
    finished, log = await _run_ncu(bench, command)
    runs = (*found.runs, finished)
    if log.denied or ncu.REPORT_NAME not in finished.files:
        return replace(found, runs=runs, log=log if log.denied else found.log)
    report = finished.built(ncu.REPORT_NAME)
    readings = await read_report(bench, report, None)
    kept = matched(selection, readings)
    return replace(
        found, runs=runs, readings={**(found.readings or {}), **kept}, reports=(*found.reports, report)
    )


async def profile_report(bench: Workbench, report: Input, plan: Plan) -> Measured:
    """Read an existing report. Raises UnreadableOutput for a damaged one, NotFound for an unknown kernel."""
    finished = await bench.run(ncu_report.list_command(report, plan.kernel))
    listed = ncu_report.parse_list(finished, _content(bench, finished, ncu_report.ANSWER_NAME))
    every = places(listed.launches)
    chosen = set(chosen_launches(listed.launches, plan))
    indices = [index for index, place in enumerate(every) if place in chosen]
    readings = await read_report(bench, report, indices)
    by_place = {every[reading.index]: reading for reading in readings}
    return Measured((finished,), listed.launches, listed.left_out, by_place, (report,))


async def read_report(
    bench: Workbench, report: Input, indices: Sequence[int] | None, metrics: Sequence[str] = METRICS
) -> tuple[Reading, ...]:
    """Some launches of a report (None: all) with their counters. Raises UnreadableOutput."""
    finished = await bench.run(ncu_report.read_command(report, indices, metrics))
    return ncu_report.parse_readings(finished, _content(bench, finished, ncu_report.ANSWER_NAME))


async def run_plainly(bench: Workbench, program: Target, plan: Plan) -> Finished:
    """Run the program alone on the GPU, for its time as a whole, where counters may not be read."""
    if isinstance(program, Command):
        return (await bench.run(replace(program, gpu="exclusive"))).require_end(program.program)
    command = Command(
        program=f"./{ncu.PROGRAM_NAME}",
        arguments=plan.args,
        inputs={ncu.PROGRAM_NAME: program},
        outputs=(launch_probe.TABLE_NAME,),
        kind="run",
        gpu="exclusive",
        timeout_s=plan.timeout_s,
    )
    return (await bench.run(command)).require_end("the program")


def chosen_launches(launches: Sequence[ListedLaunch], plan: Plan) -> list[Place]:
    """The launches to profile. Raises NotFound where the filter takes none, InvalidRequest where the range is empty."""
    wanted = sum(launch.wanted for launch in launches)
    if launches and not wanted:
        names = sorted({launch.name for launch in launches})
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        raise NotFound(
            f"no launch of a kernel {plan.kernel!r}", f"Launched were: {', '.join(names[:_NAMED])}{more}."
        )
    if plan.skip >= wanted:
        raise InvalidRequest(f"launch_skip={plan.skip} leaves none of {wanted} launches", "Skip fewer.")
    return choose(launches, plan.skip, plan.count)


def matched(selection: Selection, readings: Sequence[Reading]) -> dict[Place, Reading]:
    """The readings by launch: in the expected order where the program ran the same, else in each kernel's own order."""
    if [reading.mangled for reading in readings] == [place.mangled for place in selection.expected]:
        pairs = zip(selection.expected, readings, strict=True)
        return {place: reading for place, reading in pairs if place in selection.kept}
    waiting: dict[str, list[Place]] = {}
    for place in selection.expected:
        if place in selection.kept:
            waiting.setdefault(place.mangled, []).append(place)
    found: dict[Place, Reading] = {}
    for reading in readings:
        if left := waiting.get(reading.mangled):
            found[left.pop(0)] = reading
    return found


def relocated(
    readings: Mapping[Place, Reading], names: Sequence[str], line: Callable[[str, int], str | None]
) -> dict[Place, Reading]:
    """The readings with source files named as the candidate names them, whatever folder they were built in.

    `line` gives a line of one of the `names`, for reports that could not take the sources in.
    """
    known: dict[str, str] = {}

    def short(file: str) -> str:
        if file not in known:
            fits = [name for name in names if f"/{file}".endswith(f"/{name}")]
            known[file] = max(fits, key=len, default=file)
        return known[file]

    def named(found: SourceLine) -> SourceLine:
        file = short(found.file)
        text = found.text if found.text is not None or file not in names else line(file, found.line)
        return found.model_copy(update={"file": file, "text": text})

    return {
        place: reading.model_copy(update={"lines": tuple(named(found) for found in reading.lines)})
        for place, reading in readings.items()
    }


async def _run_ncu(bench: Workbench, command: Command) -> tuple[Finished, Log]:
    try:
        finished = await bench.run(command)
    except ProgramMissing:
        bench.services.gpus.require()  # without a GPU that is what is missing first
        raise
    log = ncu.parse_log(finished, _content(bench, finished, ncu.LOG_NAME))
    ncu.require_report(finished, log)
    return finished, log


def _content(bench: Workbench, finished: Finished, name: str) -> bytes | None:
    return bench.blobs.read(finished.files[name].digest) if name in finished.files else None


def _table(bench: Workbench, finished: Finished) -> LaunchTable | None:
    content = _content(bench, finished, launch_probe.TABLE_NAME)
    try:
        return launch_probe.parse(content) if content else None
    except UnreadableOutput:  # the program can write into its own table
        return None
