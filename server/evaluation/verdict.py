"""From facts to a verdict: one ordered verdict, one status by fixed precedence. No measurement happens here."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Literal, get_args

Status = Literal[
    "compile_error",
    "schedule_error",
    "load_error",
    "launch_error",
    "timeout",
    "crashed",
    "out_of_memory",
    "sanitizer_error",
    "wrong_shape",
    "wrong_dtype",
    "unwritten_output",
    "nonfinite",
    "wrong_values",
    "heldout_fail",
    "input_changed",
    "overrun",
    "suspect_timing",
    "below_roofline",
    "correct",
]
PRECEDENCE: tuple[Status, ...] = get_args(Status)
DOUBTED: tuple[Status, ...] = (
    "suspect_timing",
    "below_roofline",
)  # right values, a time that cannot be believed


class Verdict(IntEnum):
    """FAIL: does not build. COMPILE: builds. PASS: right at every visible and hidden size. FAST: and faster."""

    FAIL = 0
    COMPILE = 1
    PASS = 2
    FAST = 3


def primary(statuses: Iterable[Status]) -> Status:
    """The status that explains the most: the first by precedence, `correct` where there is none."""
    found = set(statuses)
    for status in PRECEDENCE:
        if status in found:
            return status
    return "correct"


def verdict(status: Status, comparison: str | None) -> Verdict:
    """The verdict of a status and of the comparison with the baseline (None: not timed)."""
    if status in ("compile_error", "schedule_error"):
        return Verdict.FAIL
    if status in DOUBTED:
        return Verdict.PASS
    if status != "correct":
        return Verdict.COMPILE
    return Verdict.FAST if comparison == "FASTER" else Verdict.PASS
