"""The reader of Nsight Compute reports: what to ask of the child process that loads one, and its checked answer.

Metrics keep the vendor's names and units; nothing is derived here. The library runs in a child (`ncu_report_worker.py`)
since it crashes on some damaged reports.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError

from ..command import Command, Finished, Input
from ..errors import InvalidRequest, ProgramMissing, UnreadableOutput
from ..reports.number import Frozen

REPORT_NAME = "report.ncu-rep"
ANSWER_NAME = "profile.json"
READ_TIMEOUT_S = 120.0
_CRASHES = frozenset({4, 6, 7, 8, 11})  # ILL, ABRT, BUS, FPE, SEGV: the library's death, not somebody's kill
_HINT = "Record it again, or read it with the ncu that wrote it."

Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Sides = tuple[Count, Count, Count]
Space = Literal["global", "local", "shared"]
Operation = Literal["load", "store", "atomic", "copy"]


class Head(Frozen):
    """What identifies a launch in a report, and its time on the GPU in nanoseconds."""

    index: Count
    name: Annotated[str, Field(min_length=1)]
    demangled: str
    mangled: Annotated[str, Field(min_length=1)]
    device: str | None
    grid: Sides | None
    block: Sides | None
    duration_ns: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None


class ListedLaunch(Head):
    """A launch of a report; `wanted` says whether the call's kernel filter takes it."""

    wanted: bool


class Access(Frozen):
    """Memory instructions of one source line that behave alike.

    `requests` are executed warp instructions; `units` are 32-byte sectors (global, local) or wavefronts (shared) they
    need, `ideal` the fewest that would do for the bytes asked; None where the vendor does not count it.
    """

    space: Space
    op: Operation
    sass: str
    instructions: Count
    requests: Annotated[int, Field(ge=1, lt=1 << 63)]
    units: Count
    ideal: Count | None

    @property
    def excess(self) -> int:
        """Sectors or wavefronts beyond the fewest possible."""
        return 0 if self.ideal is None else max(self.units - self.ideal, 0)


class SourceLine(Frozen):
    """What one source line's instructions did: warp samples by stall reason, executed warp instructions, accesses."""

    file: str
    line: Count
    text: str | None
    samples: Count
    stalls: Mapping[str, Count]
    instructions: Count
    sass: str | None
    accesses: tuple[Access, ...]


class VendorRule(Frozen):
    """What a rule of ncu says; its estimate is in percent of the kernel's time (global) or of one unit's (local)."""

    rule: str
    title: str
    message: str
    estimate_pct: Finite | None
    scope: Literal["global", "local"] | None


class Reading(Head):
    """One launch as read: asked-for metrics by the vendor's name, rules, and source lines, hottest first."""

    metrics: Mapping[str, Finite | int | str]
    units: Mapping[str, str]
    rules: tuple[VendorRule, ...]
    lines: tuple[SourceLine, ...]
    lines_left_out: Count

    def number(self, name: str) -> float | None:
        """A metric's number, or None where the report lacks it."""
        value = self.metrics.get(name)
        return None if value is None or isinstance(value, str) else float(value)


class LaunchList(Frozen):
    """Every launch of a report in order; `left_out` more were not listed."""

    launches: tuple[ListedLaunch, ...]
    left_out: Count


class _Readings(Frozen):
    readings: tuple[Reading, ...]


class _Error(Frozen):
    kind: Literal["report", "filter", "launch", "library"]
    what: str


class _Failure(Frozen):
    error: _Error


_Answer = TypeVar("_Answer", bound=Frozen)


def list_command(report: Input, kernel: str | None) -> Command:
    """Ask for all launches of a report, marking those that a kernel name or regular expression takes."""
    return _command(report, {"mode": "list", "kernel": kernel})


def read_command(report: Input, launches: Sequence[int] | None, metrics: Sequence[str]) -> Command:
    """Ask for some launches by index (None: all), with the metrics whose names match the glob patterns."""
    chosen = None if launches is None else list(launches)
    return _command(report, {"mode": "read", "launches": chosen, "metrics": list(metrics)})


def _command(report: Input, request: Mapping[str, object]) -> Command:
    return Command(
        program="ncu-report",
        inputs={REPORT_NAME: report},
        outputs=(ANSWER_NAME,),
        stdin=json.dumps({**request, "report": REPORT_NAME}, sort_keys=True).encode(),
        kind="analyze",
        timeout_s=READ_TIMEOUT_S,
    )


def parse_list(finished: Finished, content: bytes | None) -> LaunchList:
    """The launches of a report. Raises UnreadableOutput for a damaged one, InvalidRequest for a bad kernel filter."""
    return _parse(finished, content, LaunchList)


def parse_readings(finished: Finished, content: bytes | None) -> tuple[Reading, ...]:
    """The launches that were read. Raises UnreadableOutput where the report or the answer is damaged."""
    return _parse(finished, content, _Readings).readings


def _parse(finished: Finished, content: bytes | None, model: type[_Answer]) -> _Answer:
    if finished.signal in _CRASHES or (finished.exit_code or 0) - 128 in _CRASHES:
        raise UnreadableOutput("the report is damaged: reading it crashed ncu_report", hint=_HINT)
    finished.require_end("the report reader")
    if content is None:
        raise UnreadableOutput("the report reader left no answer", finished.stderr[-200:], hint=_HINT)
    try:
        return model.model_validate_json(content, strict=True)
    except ValidationError as wrong:
        raise _failure(content, wrong) from wrong


def _failure(content: bytes, wrong: ValidationError) -> UnreadableOutput | InvalidRequest | ProgramMissing:
    try:
        error = _Failure.model_validate_json(content, strict=True).error
    except ValidationError:
        first = wrong.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        return UnreadableOutput(
            f"the report reader's answer is wrong at {place or 'its start'}", first["msg"]
        )
    if error.kind == "filter":
        return InvalidRequest(
            f"kernel: {error.what}", "Give a kernel's name, or a regular expression on its signature."
        )
    if error.kind == "library":
        return ProgramMissing(error.what, "Install it: pip install 'warpwise[ncu]'.")
    return UnreadableOutput(f"not a readable Nsight Compute report: {error.what}", hint=_HINT)
