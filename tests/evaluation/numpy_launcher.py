"""A stand-in for the GPU: it answers the launcher's command by the oracle's arithmetic on the job's own inputs.

Behaviours plant what a wrong, slow or hostile kernel would leave. Everything else (schedules, builds, references,
comparison, verdicts) is the product's own.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpwise.server.blobs import Blobs
from warpwise.server.command import Command, Environment, File, Finished
from warpwise.server.evaluation.dtypes import numpy_dtype
from warpwise.server.evaluation.oracle import Case, load_oracle
from warpwise.server.evaluation.trial import DOING
from warpwise.server.evaluation.workload import Workload
from warpwise.server.runner import Runner
from warpwise.server.workbench import Workbench

Outputs = dict[str, NDArray[Any]]
_CLEAN: dict[str, Any] = {"status": "ran", "changed": [], "overrun": []}


@dataclass(frozen=True)
class Call:
    """One call of a program: its set, the poison (None when timed), its data, and what the oracle gives."""

    program: str
    number: int
    poison: int | None
    case: Case
    want: Outputs


Behaviour = Callable[[Call], Mapping[str, Any]]


def honest(call: Call) -> Mapping[str, Any]:
    """What a right kernel leaves."""
    return {"outputs": call.want}


@dataclass
class NumpyLauncher:
    """A Runner. `behaviours` by program; `times_us` by program are the cold times in order, repeated.

    `timing` replaces parts of the timing's result; `hangs` names a program (or `timing`) that never ends.
    """

    inner: Runner
    blobs: Blobs
    workload: Workload
    behaviours: dict[str, Behaviour] = field(default_factory=dict[str, Behaviour])
    times_us: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    timing: dict[str, Any] = field(default_factory=dict[str, Any])
    pairs: int = 30
    hangs: str | None = None
    commands: list[Command] = field(default_factory=list[Command])
    bench: Workbench | None = None

    async def run(self, command: Command) -> Finished:
        if command.program != "launcher":
            return await self.inner.run(command)
        self.commands.append(command)
        job: dict[str, Any] = json.loads(self.blobs.read(command.inputs["job.json"].digest))
        content = bytearray()
        if self.hangs is not None and self.hangs in [
            *job["programs"],
            *(["timing"] if job["timing"] else []),
        ]:
            return self._finished(command, {DOING: self.hangs.encode()}, timed_out=True)
        result: dict[str, Any] = {
            "context_s": 0.1,
            "trials": self._trials(command, job, content),
            "trials_s": 0.0,
        }
        failed = any(trial["status"] == "failed" for trial in result["trials"])
        result["timing"] = self._timing(command, job, content) if job["timing"] and not failed else None
        files = {"result.json": json.dumps(result).encode(), "outputs.bin": bytes(content)}
        return self._finished(command, files)

    def _finished(self, command: Command, files: dict[str, bytes], *, timed_out: bool = False) -> Finished:
        held = {name: File(self.blobs.put(content), len(content)) for name, content in files.items()}
        return Finished(
            exit_code=None if timed_out else 0,
            signal=None,
            timed_out=timed_out,
            stdout=b"",
            stderr=b"",
            stdout_dropped=0,
            stderr_dropped=0,
            files=held,
            wall_s=0.1,
            question=command.question,
            environment=Environment({"GPU": "numpy"}),
            sandbox="none",
            measured_at=0.0,
        )

    def _call(
        self, command: Command, job: dict[str, Any], program: str, number: int, poison: int | None
    ) -> Mapping[str, Any]:
        held = job["sets"][number]
        sizes = {name: int(value) for name, value in (pair.split("=") for pair in held["sizes"].split(","))}
        data = self.blobs.read(command.inputs["inputs.bin"].digest)
        arrays: Outputs = {}
        for name, size, _, offset in held["arrays"]:
            buffer = self.workload.buffers[name]
            if offset is not None:
                kind = numpy_dtype(buffer.dtype)
                arrays[name] = np.frombuffer(data[offset : offset + size], kind).reshape(buffer.shape(sizes))
        scalars = {
            name: float(np.frombuffer(bytes.fromhex(value), numpy_dtype(self.workload.scalars[name]))[0])
            for name, value in held["scalars"].items()
        }
        case = Case(sizes, arrays, scalars)
        expected = load_oracle(self.workload).expected(case)
        want = {
            name: value.astype(numpy_dtype(self.workload.buffers[name].dtype))
            for name, value in expected.items()
        }
        return self.behaviours.get(program, honest)(Call(program, number, poison, case, want))

    def _trials(self, command: Command, job: dict[str, Any], content: bytearray) -> list[dict[str, Any]]:
        done: list[dict[str, Any]] = []
        lost: set[str] = set()
        for trial in job["trials"]:
            if lost & {trial["program"], "*"}:
                done.append({"status": "not_run"})
                continue
            left = dict(self._call(command, job, trial["program"], trial["set"], trial["poison"]))
            sticky = left.pop("sticky", False)
            result: dict[str, Any] = {**_CLEAN, **left}
            if result["status"] == "failed":
                lost.add("*" if sticky else trial["program"])
            else:
                result["outputs"] = _written(result["outputs"], content)
            done.append(result)
        return done

    def _timing(self, command: Command, job: dict[str, Any], content: bytearray) -> dict[str, Any]:
        programs = list(job["programs"])
        samples = [
            [program, job["timing"]["sets"][0], 0, self._time(program, pair)]
            for pair in range(self.pairs)
            for program in programs
        ]
        outputs = [
            {
                "program": program,
                "set": number,
                "count": 3,
                "outputs": _written(self._call(command, job, program, number, None)["outputs"], content),
            }
            for program in programs
            for number in job["timing"]["sets"]
        ]
        warm = {
            program: [[self._time(program, 0) / 2, self._time(program, 0) / 2 + 20]] for program in programs
        }
        timing: dict[str, Any] = {
            "samples": samples,
            "warm": warm,
            "outputs": outputs,
            "changed": {},
            "tampered": False,
        }
        return timing | {"stopped": "width", "seconds": 0.01} | self.timing

    def _time(self, program: str, pair: int) -> float:
        times = self.times_us.get(program, [10.0])
        return times[pair % len(times)]


def _written(outputs: Mapping[str, Any], content: bytearray) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for name, value in outputs.items():
        held = value if isinstance(value, bytes) else np.ascontiguousarray(value).tobytes()
        places[name] = [len(content), len(held)]
        content += held
    return places
