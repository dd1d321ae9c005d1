"""What the launcher answered, as data. Nothing runs and nothing is judged here."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..blobs import Blobs
from ..command import Finished
from ..errors import ProgramTimedOut, Unavailable, UnreadableOutput
from .trial import DOING, TIMING, Trial


@dataclass(frozen=True, slots=True)
class TrialResult:
    """How it went: `error` is the driver's name for what failed, `call` where; outputs are raw bytes.

    `hung`: the program was running, in this trial or in timing (then `call` is `timing`), when the deadline came.
    """

    trial: Trial
    status: Literal["ran", "failed", "hung", "not_run"]
    error: str | None = None
    call: str | None = None
    outputs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    changed: tuple[str, ...] = ()
    overrun: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed call with cold caches: microseconds by the GPU's events."""

    program: str
    number: int
    place: int
    cold_us: float


@dataclass(frozen=True, slots=True)
class WarmCall:
    """One call on an idle GPU with warm caches: microseconds by the GPU's events, and by the host's clock around it."""

    event_us: float
    wall_us: float


@dataclass(frozen=True, slots=True)
class TimedOutput:
    """One of the distinct outputs of a program's timed calls on a set, and how many calls left it."""

    program: str
    number: int
    count: int
    outputs: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class TimingResult:
    """All samples in order, warm calls by program, every distinct output of timed calls.

    `changed`: arrays that were only to be read and that a program's timed calls changed. `tampered`: the launcher's own
    memory was written to. `stopped`: width, pairs, time or outputs. `error` is what failed, in the program `failed`.
    """

    samples: tuple[Sample, ...] = ()
    warm: Mapping[str, tuple[WarmCall, ...]] = field(default_factory=dict[str, tuple[WarmCall, ...]])
    outputs: tuple[TimedOutput, ...] = ()
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    tampered: bool = False
    stopped: str = ""
    seconds: float = 0.0
    error: str | None = None
    failed: str | None = None

    def cold_us(self, program: str) -> list[float]:
        """The cold times of a program in the order of the pairs."""
        return [sample.cold_us for sample in self.samples if sample.program == program]


@dataclass(frozen=True, slots=True)
class LauncherResult:
    """Everything that the launcher left: trials in the order asked, timing where asked, its phases in seconds."""

    trials: tuple[TrialResult, ...]
    timing: TimingResult | None
    trials_s: float = 0.0
    context_s: float = 0.0

    def of(self, program: str) -> list[TrialResult]:
        """The trials of a program."""
        return [result for result in self.trials if result.trial.program == program]


def parse(finished: Finished, trials: Sequence[Trial], blobs: Blobs) -> LauncherResult:
    """The launcher's result. Raises ProgramTimedOut where it never began, Unavailable, UnreadableOutput."""
    if finished.timed_out:
        return _hung(finished, trials, blobs)
    if finished.exit_code == 3:
        reason = finished.stderr.decode("utf-8", "replace").strip()[:200]
        raise Unavailable(f"the launcher cannot use the GPU: {reason}")
    finished.require_end("the launcher")
    if "result.json" not in finished.files:
        raise UnreadableOutput("the launcher ended without a result", finished.stderr[-400:])
    result = json.loads(blobs.read(finished.files["result.json"].digest))
    content = blobs.read(finished.files["outputs.bin"].digest)
    return LauncherResult(
        tuple(_trial(trial, held, content) for trial, held in zip(trials, result["trials"], strict=True)),
        _timed(result["timing"], content),
        float(result["trials_s"]),
        float(result["context_s"]),
    )


def _hung(finished: Finished, trials: Sequence[Trial], blobs: Blobs) -> LauncherResult:
    """What is known after the deadline: which program was running (while timed, any of them); the others did not run."""
    if DOING not in finished.files:
        raise ProgramTimedOut(f"the launcher had not begun after {finished.wall_s:.0f} s")
    doing = blobs.read(finished.files[DOING].digest).decode()
    results = [
        TrialResult(trial, "hung" if doing in (trial.program, TIMING) else "not_run", call=doing)
        for trial in trials
    ]
    return LauncherResult(tuple(results), None)


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


def _timed(held: Mapping[str, Any] | None, content: bytes) -> TimingResult | None:
    if held is None:
        return None
    if "error" in held:
        return TimingResult(error=f"{held['call']}", failed=held["program"])
    return TimingResult(
        tuple(Sample(*sample) for sample in held["samples"]),
        {program: tuple(WarmCall(*one) for one in calls) for program, calls in held["warm"].items()},
        tuple(
            TimedOutput(one["program"], one["set"], one["count"], _arrays(one["outputs"], content))
            for one in held["outputs"]
        ),
        {program: tuple(names) for program, names in held["changed"].items()},
        bool(held["tampered"]),
        str(held["stopped"]),
        float(held["seconds"]),
    )
