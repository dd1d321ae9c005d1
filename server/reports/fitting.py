"""How much of a compile answer a reader gets by default: as many findings and kernels as its token limit holds."""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

DEFAULT_TOKENS = 300
_PIECES = re.compile(r"[A-Za-z]+|\d+|[^\sA-Za-z\d_]+")
_LETTERS_PER_TOKEN = 8
_DIGITS_PER_TOKEN = 3
# The estimate is at least 0.86 of the tokens of o200k_base in compile answers as JSON, 0.82 as text.
_JSON_MARGIN = 1.17
_TEXT_MARGIN = 1.22


class Cut(NamedTuple):
    """How many findings are told, how many of them with source line and next step, and how many kernels."""

    findings: int
    full: int
    kernels: int


def cuts() -> Iterator[Cut]:
    """From the most that a default answer tells to the least: details go first, then kernels, then findings."""
    yield from (Cut(6, 6, 6), Cut(6, 1, 6), Cut(6, 1, 4))
    yield from (Cut(count, full, 3) for count in (6, 5, 4, 3, 2, 1) for full in (1, 0))
    yield from (Cut(1, 0, 2), Cut(1, 0, 1))


def fits(told: object, limit: int = DEFAULT_TOKENS) -> bool:
    """Whether a text, or data as compact JSON, keeps a limit of tokens, by a careful estimate."""
    if isinstance(told, str):
        return _estimate(told) * _TEXT_MARGIN <= limit
    compact = json.dumps(told, separators=(",", ":"), ensure_ascii=False)
    return _estimate(compact) * _JSON_MARGIN <= limit


def _estimate(text: str) -> int:
    pieces = _PIECES.findall(text)
    digits = sum(-(-len(piece) // _DIGITS_PER_TOKEN) for piece in pieces if piece.isdecimal())
    return digits + sum(
        1 + (len(piece) - 1) // _LETTERS_PER_TOKEN for piece in pieces if not piece.isdecimal()
    )
