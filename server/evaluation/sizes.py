"""Hidden sizes: drawn by a workload's rule from a seed, so that a draw can be repeated and cannot be foreseen."""

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ..errors import BadWorkload
from .expressions import Expression

SizeKind = Literal["any", "odd", "tail", "prime"]
SIZE_KINDS: tuple[SizeKind, ...] = get_args(SizeKind)
LARGEST_HIDDEN = 1 << 22
TILE = 32
_TRIES = 2000
_FRESH_TRIES = 50


@dataclass(frozen=True, slots=True)
class SizeRule:
    """What one hidden size may be: between `low` and `high`, a multiple of `multiple`, and of one of the `kinds`.

    `odd`, `prime`, and `tail` (no multiple of 32, so that the usual tiles leave a remainder) take turns over the draws.
    """

    low: int
    high: int
    kinds: tuple[SizeKind, ...] = ("any",)
    multiple: int = 1

    def allows(self, value: int, kind: SizeKind) -> bool:
        """Whether a value is in the rule's range, is its multiple, and is of a kind."""
        return self.low <= value <= self.high and value % self.multiple == 0 and _is(value, kind)

    def possible(self, kind: SizeKind) -> bool:
        """Whether any value of this kind exists."""
        return self._from(self.low, kind) is not None

    def pick(self, number: int, kind: SizeKind) -> int:
        """The first fitting value at or after the place in the range that a random number points to."""
        start = self.low + number % (self.high - self.low + 1)
        found = self._from(start, kind)
        found = self._from(self.low, kind) if found is None else found
        if found is None:
            raise BadWorkload(
                f"no size from {self.low} to {self.high} is a {kind} multiple of {self.multiple}"
            )
        return found

    def _from(self, start: int, kind: SizeKind) -> int | None:
        start += -start % self.multiple
        return next((n for n in range(start, self.high + 1, self.multiple) if self.allows(n, kind)), None)

    def __str__(self) -> str:
        kinds = "" if self.kinds == ("any",) else ", " + "/".join(self.kinds)
        multiple = "" if self.multiple == 1 else f", a multiple of {self.multiple}"
        return f"{self.low}..{self.high}{multiple}{kinds}"


def fresh_seed() -> str:
    """A seed from the operating system's entropy, 128 bits in hex."""
    return secrets.token_hex(16)


def draw(
    rules: Mapping[str, SizeRule], require: Sequence[Expression], seed: str, count: int
) -> tuple[dict[str, int], ...]:
    """`count` sets of sizes, different where the rule has enough, each within every `require`.

    Raises BadWorkload where the rule cannot be met.
    """
    numbers = _numbers(seed)
    found: list[dict[str, int]] = []
    for turn in range(count):
        sizes = _one(rules, require, numbers, turn, found)
        if sizes is None:
            raise BadWorkload(
                f"the rule for hidden sizes gave {turn} of {count} sets",
                "Widen [hidden] or loosen `require`.",
            )
        found.append(sizes)
    return tuple(found)


def _one(
    rules: Mapping[str, SizeRule],
    require: Sequence[Expression],
    numbers: Iterator[int],
    turn: int,
    before: list[dict[str, int]],
) -> dict[str, int] | None:
    """A set for this turn, one that was not drawn before where that is found soon; None where none is allowed."""
    repeated: dict[str, int] | None = None
    for tried in range(_TRIES):
        drawn = {
            name: rule.pick(next(numbers), rule.kinds[(turn + place) % len(rule.kinds)])
            for place, (name, rule) in enumerate(rules.items())
        }
        if all(constraint.holds(drawn) for constraint in require):
            if drawn not in before:
                return drawn
            repeated = drawn
        if repeated and tried >= _FRESH_TRIES:
            break
    return repeated


def _numbers(seed: str) -> Iterator[int]:
    """An endless stream of 64-bit numbers, the same for a seed on every machine and Python."""
    counter = 0
    while True:
        yield int.from_bytes(hashlib.sha256(f"{seed}/{counter}".encode()).digest()[:8], "big")
        counter += 1


def _is(value: int, kind: SizeKind) -> bool:
    if kind == "odd":
        return value % 2 == 1
    if kind == "tail":
        return value % TILE != 0
    if kind == "prime":
        return value > 1 and all(value % factor for factor in range(2, int(value**0.5) + 1))
    return True
