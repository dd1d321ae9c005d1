"""sentryward: a kernel's PTX and one launch in, a proof or a counterexample out. Version 0.1.

It runs in a child (`sentryward_worker.py`). `unsupported`, a timeout and every failure of its own are no verdict.
"""

import json
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import ValidationError

from ..command import Command, Finished, Input
from ..errors import Unavailable, UnreadableOutput
from ..reports.number import Frozen

PTX_NAME = "kernel.ptx"
REQUEST_NAME = "request.json"
ANSWER_NAME = "proof.json"
_GRACE_S = 5.0
Verdict = Literal["race_free", "potential_race", "not_wellsynced", "invalid_lifecycle"]
_VERDICTS: dict[str, Verdict] = {
    "race_free": "race_free",
    "potential_race": "potential_race",
    "not_wellsynced": "not_wellsynced",
    "invalid_lifecycle": "invalid_lifecycle",
}


class Argument(Frozen):
    """A scalar parameter by its PTX name and type, and the value it is given."""

    parameter: str
    type: str
    value: int | float


class Request(Frozen):
    """One kernel (by its linker name) and the launch it is verified for."""

    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared_bytes: int = 0
    arguments: tuple[Argument, ...] = ()

    def content(self) -> bytes:
        """The request as sentryward reads it (schema spverify.kernel-input/v1)."""
        launch = {
            "grid_dim": list(self.grid),
            "block_dim": list(self.block),
            "dynamic_shared_bytes": self.dynamic_shared_bytes,
        }
        arguments = [argument.model_dump() for argument in self.arguments]
        held = {
            "schema": "spverify.kernel-input/v1",
            "entry": self.entry,
            "launch": launch,
            "arguments": arguments,
        }
        return json.dumps(held, sort_keys=True).encode()


class WitnessAccess(Frozen):
    """One side of a race: its source line, the thread (numbered through all blocks), and what it does."""

    file: str | None = None
    line: int | None = None
    thread: int | None = None
    mode: str | None = None
    bytes: int | None = None


class Witness(Frozen):
    """Two accesses that nothing orders, and the memory they share."""

    first: WitnessAccess
    second: WitnessAccess
    space: str | None = None
    allocation: str | None = None
    offset_bytes: int | None = None
    overlap: str | None = None

    @property
    def is_constant(self) -> bool:
        """Whether the bytes certainly overlap, not only under some values of symbolic addresses."""
        return (self.overlap or "").startswith("constant")


class Blocked(Frozen):
    """Where threads wait for each other for ever."""

    file: str | None = None
    line: int | None = None


class Diagnostic(Frozen):
    """One of the verifier's messages."""

    code: str | None = None
    message: str | None = None


class Proof(Frozen):
    """The answer. `verdict` is None where there is none; then `reason` says why."""

    verdict: Verdict | None
    reason: str
    races: tuple[Witness, ...] = ()
    blocked: Blocked | None = None
    elapsed_s: float | None = None


class _Answer(Frozen):
    result: str
    checks: Any = None
    diagnostics: tuple[Diagnostic, ...] = ()
    races: tuple[Witness, ...] = ()
    blocked: Blocked | None = None
    elapsed_s: float | None = None


def command(ptx: Input, request: Input, budget_s: float) -> Command:
    """Verify one kernel of a PTX file within a time budget, in seconds."""
    return Command(
        "sentryward",
        (PTX_NAME, REQUEST_NAME, f"{budget_s:g}"),
        {PTX_NAME: ptx, REQUEST_NAME: request},
        outputs=(ANSWER_NAME,),
        kind="analyze",
        timeout_s=budget_s + _GRACE_S,
    )


def parse(finished: Finished, answer: bytes | None) -> Proof:
    """Read the child's answer. Raises Unavailable where sentryward cannot be used, UnreadableOutput for nonsense."""
    if finished.timed_out:
        return Proof(verdict=None, reason=f"no verdict within {finished.wall_s:.0f} s")
    ended = finished.require_end("sentryward")
    if ended.exit_code == 3:
        raise Unavailable("sentryward cannot be used here", "pip install 'warpwise[verify]'")
    if ended.exit_code != 0 or answer is None:
        raise UnreadableOutput(
            f"the sentryward worker ended with exit code {ended.exit_code}", ended.stderr[-200:]
        )
    return parse_answer(answer)


def parse_answer(answer: bytes) -> Proof:
    """The same of the answer file alone."""
    try:
        held = _Answer.model_validate_json(answer)
    except ValidationError as error:
        raise UnreadableOutput("an answer of sentryward that is not known", answer) from error
    verdict = _VERDICTS.get(held.result)
    if verdict == "potential_race" and not held.races:
        raise UnreadableOutput("sentryward names a race without its places", answer)
    return Proof(
        verdict=verdict,
        reason=_reason(held.result, held.diagnostics),
        races=held.races,
        blocked=held.blocked,
        elapsed_s=held.elapsed_s,
    )


def _reason(result: str, diagnostics: Sequence[Diagnostic]) -> str:
    told = next((each.code or each.message for each in diagnostics if each.code or each.message), None)
    name = result.replace("_", " ")
    return name if told is None else f"{name}: {told.replace('_', ' ').replace('-', ' ')}"
