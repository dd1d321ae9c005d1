"""What the launcher is asked, and what it answered: job and result as data. Nothing runs and nothing is judged here."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..blobs import Blobs
from ..command import Command, Finished, GpuUse, Input, source_input
from ..errors import ProgramTimedOut, Unavailable, UnreadableOutput
from .dtypes import item_bytes
from .plan import Argument, Launch
from .references import InputSets
from .schedule_check import Checked
from .workload import Workload

POISONS = (0xFF, 0x5A)
Flush = Literal["read", "memset"]


@dataclass(frozen=True, slots=True)
class Program:
    """A built candidate or baseline: its cubin, its checked schedule, and the mangled name of each kernel."""

    name: str
    cubin: Input
    checked: Checked
    mangled: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TimingRequest:
    """How to time: on which sets, for how long (seconds), until which width of the log ratio's interval."""

    sets: tuple[int, ...]
    flush: Flush = "read"
    width: float = 0.01
    min_pairs: int = 30
    max_pairs: int = 120
    max_s: float = 5.0
    block_pairs: int = 10
    places: int = 4


@dataclass(frozen=True, slots=True)
class Trial:
    """One verification run: a program on a set, with its outputs filled with a byte before."""

    program: str
    number: int
    poison: int


@dataclass(frozen=True, slots=True)
class TrialResult:
    """How it went: `error` is the driver's name for what failed, `call` where; outputs are raw bytes."""

    trial: Trial
    status: Literal["ran", "failed", "not_run"]
    error: str | None = None
    call: str | None = None
    outputs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    changed: tuple[str, ...] = ()
    overrun: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed call: microseconds by the GPU's events, with cold caches, and by the host's clock."""

    program: str
    number: int
    place: int
    cold_us: float
    wall_us: float


@dataclass(frozen=True, slots=True)
class TimedOutput:
    """An output seen in timed calls, `count` times by its digest; `repeat` where it differs from the first of its set."""

    program: str
    number: int
    count: int
    repeat: bool
    outputs: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class TimingResult:
    """All samples in order, warm microseconds by program, every distinct output; `mismatches` could not be kept."""

    samples: tuple[Sample, ...] = ()
    warm_us: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    outputs: tuple[TimedOutput, ...] = ()
    mismatches: int = 0
    seconds: float = 0.0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class LauncherResult:
    """Everything that the launcher left: trials in the order asked, timing where asked, its phases in seconds."""

    trials: tuple[TrialResult, ...]
    timing: TimingResult | None
    trials_s: float
    context_s: float


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that the launcher is asked at once; `trusted` is the cubin of its own kernels.

    `debug`: exact, unguarded, unpoisoned arrays, for a sanitizer to watch.
    """

    workload: Workload
    programs: tuple[Program, ...]
    sets: InputSets
    trials: tuple[Trial, ...]
    timing: TimingRequest | None
    trusted: Input
    debug: bool = False


def command(question: Question, blobs: Blobs, timeout_s: float, gpu: GpuUse) -> Command:
    """Ask the launcher. Raises PlanError where a schedule cannot run at the sizes of a set."""
    workload, programs, sets = question.workload, question.programs, question.sets
    trials, timing = question.trials, question.timing
    job = {
        "programs": {program.name: _program(program, sets) for program in programs},
        "sets": [_set(workload, sets, number) for number in range(len(sets.sets))],
        "trials": [
            {"program": trial.program, "set": trial.number, "poison": trial.poison} for trial in trials
        ],
        "timing": _timing(timing),
        "debug": question.debug,
    }
    inputs = {f"{program.name}.cubin": program.cubin for program in programs}
    inputs |= {"trusted.cubin": question.trusted, "inputs.bin": sets.inputs}
    inputs["job.json"] = source_input(blobs.put(json.dumps(job, sort_keys=True).encode()))
    return Command(
        "launcher", (), inputs, ("result.json", "outputs.bin"), kind="run", gpu=gpu, timeout_s=timeout_s
    )


def _timing(timing: TimingRequest | None) -> dict[str, Any] | None:
    if timing is None:
        return None
    names = ("sets", "flush", "width", "min_pairs", "max_pairs", "max_s", "block_pairs", "places")
    return {name: getattr(timing, name) for name in names}


def _sizes_key(sizes: Mapping[str, int]) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted(sizes.items()))


def _set(workload: Workload, sets: InputSets, number: int) -> dict[str, Any]:
    held = sets.sets[number]
    arrays = [
        [
            buffer.name,
            buffer.size_bytes(held.sizes),
            buffer.role,
            held.inputs[buffer.name][0] if buffer.role != "out" else None,
        ]
        for buffer in workload.buffers.values()
    ]
    return {"sizes": _sizes_key(held.sizes), "arrays": arrays, "scalars": dict(held.scalars)}


def _program(program: Program, sets: InputSets) -> dict[str, Any]:
    launches: dict[str, list[dict[str, Any]]] = {}
    scratch: dict[str, dict[str, int]] = {}
    for held in sets.sets:
        key = _sizes_key(held.sizes)
        if key not in launches:
            planned = program.checked.plan(held.sizes)
            launches[key] = [_launch(program, launch) for launch in planned.launches]
            scratch[key] = {
                name: int(np.prod(shape, dtype=np.int64)) * item_bytes(dtype)
                for name, (dtype, shape) in planned.scratch.items()
            }
    return {"cubin": f"{program.name}.cubin", "launches": launches, "scratch": scratch}


def _launch(program: Program, launch: Launch) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "kernel": program.mangled[launch.kernel],
        "grid": list(launch.grid),
        "block": list(launch.block),
        "shared_bytes": launch.shared_bytes,
        "arguments": [_argument(argument) for argument in launch.arguments],
    }
    return spec | ({"cluster": list(launch.cluster)} if launch.cluster else {})


def _argument(argument: Argument) -> list[str]:
    if argument.type == "pointer":
        return ["array", str(argument.value)]
    if isinstance(argument.value, str):
        return ["scalar", argument.value]
    return ["bytes", np.asarray(argument.value, np.dtype(argument.type)).tobytes().hex()]


def parse(finished: Finished, trials: Sequence[Trial], blobs: Blobs, timeout_s: float) -> LauncherResult:
    """The launcher's result. Raises ProgramTimedOut, Unavailable without a usable GPU, UnreadableOutput."""
    if finished.timed_out:
        raise ProgramTimedOut(f"the kernels were still running after {timeout_s:g} s and were ended")
    if finished.exit_code == 3:
        raise Unavailable(
            f"the launcher cannot use the GPU: {finished.stderr.decode('utf-8', 'replace').strip()[:200]}"
        )
    finished.require_end("the launcher")
    if "result.json" not in finished.files:
        raise UnreadableOutput("the launcher ended without a result", finished.stderr[-400:])
    result = json.loads(blobs.read(finished.files["result.json"].digest))
    content = blobs.read(finished.files["outputs.bin"].digest)
    timing = result["timing"]
    return LauncherResult(
        tuple(_trial(trial, held, content) for trial, held in zip(trials, result["trials"], strict=True)),
        None if timing is None else _timed(timing, content),
        float(result.get("trials_s", 0.0)),
        float(result["context_s"]),
    )


def _arrays(held: Mapping[str, Any], content: bytes) -> dict[str, bytes]:
    return {name: content[offset : offset + size] for name, (offset, size) in held.items()}


def _trial(trial: Trial, held: Mapping[str, Any], content: bytes) -> TrialResult:
    return TrialResult(
        trial,
        held["status"],
        held.get("error"),
        held.get("call"),
        _arrays(held.get("outputs", {}), content),
        tuple(held.get("changed", ())),
        tuple(held.get("overrun", ())),
    )


def _timed(held: Mapping[str, Any], content: bytes) -> TimingResult:
    if "error" in held:
        return TimingResult(error=f"{held['call']}")
    return TimingResult(
        tuple(Sample(*sample) for sample in held["samples"]),
        {program: tuple(times) for program, times in held["warm"].items()},
        tuple(
            TimedOutput(
                one["program"], one["set"], one["count"], one["repeat"], _arrays(one["outputs"], content)
            )
            for one in held["outputs"]
        ),
        int(held["mismatches"]),
        float(held["seconds"]),
    )
