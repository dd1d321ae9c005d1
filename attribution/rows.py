"""One rollout as it stands in a file: its columns, and what makes a row wrong. Reads no files."""

import math
from collections.abc import Mapping
from difflib import get_close_matches
from enum import IntEnum
from typing import NamedTuple

from ..server.errors import InvalidRequest
from .game import EMPTY

REQUIRED = ("checkpoint", "coalition", "verdict")
COLUMNS = (
    "checkpoint",
    "cluster",
    "generation",
    "workload",
    "model",
    "coalition",
    "repetition",
    "verdict",
    "status",
    "speedup",
    "cost",
    "infra_error",
)
_TRUE, _FALSE = {"true", "1", "yes"}, {"", "false", "0", "no", "none", "null"}


class Outcome(IntEnum):
    """How far a rollout came; totally ordered."""

    FAIL = 0
    COMPILE = 1
    PASS = 2
    FAST = 3


class Row(NamedTuple):
    """One validated rollout. `coalition` is as written; `outcome` is None only for an infra error."""

    checkpoint: str
    cluster: str
    generation: int | None
    workload: str
    model: str
    coalition: tuple[str, ...]
    repetition: int | None
    outcome: Outcome | None
    invalid: bool
    speedup: float | None
    cost: float | None
    infra: bool


def check_columns(names: list[str], where: str, required: tuple[str, ...] = REQUIRED) -> list[str]:
    """Return warnings about unknown columns. Raises InvalidRequest for a missing or repeated one."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidRequest(f"{where}: column {twice[0]!r} is there twice")
    for name in required:
        if name not in names:
            close = get_close_matches(name, names, 1)
            guess = f"; is {close[0]!r} meant?" if close else f"; the columns are {', '.join(names)}"
            raise InvalidRequest(
                f"{where}: no column {name!r}{guess}", hint=f"The columns are {', '.join(COLUMNS)}."
            )
    warnings: list[str] = []
    for name in names:
        if name not in COLUMNS:
            close = get_close_matches(name, COLUMNS, 1)
            warnings.append(f"column {name!r} is not used" + (f" (is {close[0]!r} meant?)" if close else ""))
    return warnings


def parse_row(record: Mapping[str, object], where: str) -> Row:
    """Return the rollout in `record`, keyed by `COLUMNS`; absent and empty values are unknown.

    Raises InvalidRequest that begins with `where` for a missing checkpoint, an unknown verdict, a speed-up
    that is not positive and finite, a negative cost, or a number that is none. A verdict may be absent only
    for an `infra_error`, or where the status begins with "invalid": that is invalid model output and counts
    as FAIL.
    """
    checkpoint = _text(record.get("checkpoint"))
    if not checkpoint:
        raise InvalidRequest(f"{where}: no checkpoint")
    infra = _flag(record.get("infra_error"), where)
    status = _text(record.get("status"))
    outcome, invalid = _outcome(record.get("verdict"), status, infra, where)
    speedup = _number(record.get("speedup"), "speedup", where)
    if speedup is not None and speedup <= 0:
        raise InvalidRequest(f"{where}: speedup {speedup:g} is not positive")
    cost = _number(record.get("cost"), "cost", where)
    if cost is not None and cost < 0:
        raise InvalidRequest(f"{where}: cost {cost:g} is negative")
    return Row(
        checkpoint=checkpoint,
        cluster=_text(record.get("cluster")),
        generation=_whole(record.get("generation"), "generation", where),
        workload=_text(record.get("workload")),
        model=_text(record.get("model")),
        coalition=_coalition(record.get("coalition"), where),
        repetition=_whole(record.get("repetition"), "repetition", where),
        outcome=outcome,
        invalid=invalid,
        speedup=speedup,
        cost=cost,
        infra=infra,
    )


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _flag(value: object, where: str) -> bool:
    text = _text(value).lower()
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise InvalidRequest(f"{where}: infra_error {value!r} is neither true nor false")


def _outcome(value: object, status: str, infra: bool, where: str) -> tuple[Outcome | None, bool]:
    if infra:
        return None, False
    text = _text(value).upper()
    if text in Outcome.__members__:
        return Outcome[text], status.startswith("invalid")
    if not text and status.startswith("invalid"):
        return Outcome.FAIL, True
    if not text:
        raise InvalidRequest(f"{where}: no verdict, and infra_error is not set")
    raise InvalidRequest(f"{where}: verdict {value!r} is none of {', '.join(Outcome.__members__)}")


def _number(value: object, column: str, where: str) -> float | None:
    text = _text(value)
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        raise InvalidRequest(f"{where}: {column} {value!r} is not a number") from None
    if not math.isfinite(number):
        raise InvalidRequest(f"{where}: {column} is {text}", hint="Leave an unknown value empty.")
    return number


def _whole(value: object, column: str, where: str) -> int | None:
    number = _number(value, column, where)
    if number is None:
        return None
    if number != int(number) or number < 0:
        raise InvalidRequest(f"{where}: {column} {value!r} is not a whole number from 0")
    return int(number)


def _coalition(value: object, where: str) -> tuple[str, ...]:
    if value is None:
        raise InvalidRequest(
            f"{where}: no coalition", hint="Nothing given is written as an empty list or text."
        )
    if isinstance(value, (list, tuple)):
        names = [_text(name) for name in value]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    else:
        text = _text(value)
        names = [] if text in ("", EMPTY) else [name.strip() for name in text.split("+")]
    if not all(names):
        raise InvalidRequest(f"{where}: coalition {value!r} holds an empty name")
    if len(set(names)) != len(names):
        raise InvalidRequest(f"{where}: coalition {value!r} names a player twice")
    return tuple(names)
