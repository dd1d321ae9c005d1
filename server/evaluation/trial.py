"""What the launcher is asked, as data. Nothing runs and nothing is judged here."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from ..blobs import Blobs
from ..command import Command, GpuUse, Input, source_input
from .dtypes import item_bytes
from .plan import Argument, Launch, PlanError
from .references import InputSets
from .schedule_check import Checked
from .workload import Sizes, Workload

POISONS = (0xFF, 0x5A)
DOING, TIMING = "doing.txt", "timing"
OUTPUTS = ("result.json", "outputs.bin", DOING)
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
    """How to time: for how long (seconds), until which width of the log ratio's interval, at how many places."""

    flush: Flush = "read"
    width: float = 0.01
    min_pairs: int = 30
    max_pairs: int = 120
    max_s: float = 5.0
    places: int = 4


@dataclass(frozen=True, slots=True)
class Trial:
    """One verification run: a program on a set, with its outputs filled with a byte before."""

    program: str
    number: int
    poison: int


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


class Unplannable(Exception):
    """A program's schedule cannot run at the sizes of a set, as `error` says."""

    def __init__(self, program: str, sizes: Sizes, error: PlanError) -> None:
        super().__init__(error.what)
        self.program, self.sizes, self.error = program, sizes, error


def command(question: Question, blobs: Blobs, timeout_s: float, gpu: GpuUse) -> Command:
    """Ask the launcher. Raises Unplannable where a schedule cannot run at the sizes of a set."""
    workload, programs, sets = question.workload, question.programs, question.sets
    trials, timing = question.trials, question.timing
    job = {
        "programs": {program.name: _program(program, sets) for program in programs},
        "sets": [_set(workload, sets, number) for number in range(len(sets.sets))],
        "trials": [
            {"program": trial.program, "set": trial.number, "poison": trial.poison} for trial in trials
        ],
        "timing": _timing(timing, sets),
        "debug": question.debug,
    }
    inputs = {f"{program.name}.cubin": program.cubin for program in programs}
    inputs |= {"trusted.cubin": question.trusted, "inputs.bin": sets.inputs}
    inputs["job.json"] = source_input(blobs.put(json.dumps(job, sort_keys=True).encode()))
    return Command("launcher", (), inputs, OUTPUTS, kind="run", gpu=gpu, timeout_s=timeout_s)


def _timing(timing: TimingRequest | None, sets: InputSets) -> dict[str, Any] | None:
    return None if timing is None else {"sets": list(range(sets.visible)), **asdict(timing)}


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
            try:
                planned = program.checked.plan(held.sizes)
            except PlanError as error:
                raise Unplannable(program.name, held.sizes, error) from error
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
