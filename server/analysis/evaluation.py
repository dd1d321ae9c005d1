"""Numbers for symbolic values: every thread of a block, under several guesses for what is unknown, at once.

A guess (a sample) fixes each unknown uniform value, the block's place in the grid, and the iteration of every loop. The
first half of the samples takes round sizes (multiples of 512), the second half awkward ones. What depends on loaded
per-thread data has no number: None.
"""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .expressions import Expr, Phi

Array = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
SAMPLES = 12
ROUND_SAMPLES = 6
MAX_ITERATION = 3
_ROUND = (1024, 2048, 512, 4096, 1536)
_AWKWARD = (1000, 37, 777, 100, 5, 333, 63, 1, 2047, 17)


@dataclass(frozen=True, slots=True)
class Block:
    """The block that threads are taken from; `assumed` when nothing in the source says its shape."""

    x: int
    y: int = 1
    z: int = 1
    assumed: bool = False

    @property
    def size(self) -> int:
        """Threads in it."""
        return self.x * self.y * self.z

    def __str__(self) -> str:
        shape = (self.x, self.y, self.z)
        used = 3 if self.z > 1 else 2 if self.y > 1 else 1
        return "x".join(str(extent) for extent in shape[:used])


class Evaluator:
    """Evaluates values for the threads of a block; arrays are (samples, threads) or broadcast to it.

    `ahead` looks at a later iteration of a loop; `facts` gives unknowns their true number, by "op:name".
    """

    def __init__(
        self, block: Block, ahead: Mapping[int, int] | None = None, facts: Mapping[str, int] | None = None
    ) -> None:
        self.block = block
        self.threads = block.size
        self._facts: Mapping[str, int] = facts or {}
        self._ahead = dict(ahead or {})
        self._memo: dict[int, Array | None] = {}
        self._bound: dict[int, Array | None] = {}
        self._states: dict[int, list[dict[int, Array | None]]] = {}
        self._phis: dict[int, dict[int, Phi]] = {}
        self._kept: list[Expr] = []

    def values(self, expr: Expr) -> Array | None:
        """The value at every (sample, thread), or None where it depends on per-thread data."""
        key = id(expr)
        if key not in self._memo:
            self._kept.append(expr)
            self._memo[key] = self._compute(expr)
        return self._memo[key]

    def full(self, expr: Expr) -> Array | None:
        """The same, spread to the full (samples, threads) shape."""
        found = self.values(expr)
        return None if found is None else np.broadcast_to(found, (SAMPLES, self.threads))

    def active(self, guards: tuple[Expr, ...]) -> tuple[Mask, bool]:
        """(which threads pass all the guards that have numbers, whether all have)."""
        mask = np.ones((SAMPLES, self.threads), dtype=np.bool_)
        decided = True
        for guard in guards:
            found = self.values(guard)
            if found is None:
                decided = False
            else:
                mask &= found != 0
        return mask, decided

    def _compute(self, expr: Expr) -> Array | None:
        if expr.op == "phi":
            return self._carried(expr)
        if not expr.args:
            return self._leaf(expr)
        if expr.op == "select":
            return self._select(expr)
        operands = [self.values(arg) for arg in expr.args]
        known = [operand for operand in operands if operand is not None]
        if len(known) < len(operands):
            return None
        if len(known) == 1:
            return _UNARY[expr.op](known[0])
        return _BINARY[expr.op](known[0], known[1])

    def _select(self, expr: Expr) -> Array | None:
        chosen, left, right = (self.values(arg) for arg in expr.args)
        if chosen is None or left is None or right is None:
            return None
        return np.where(chosen != 0, left, right)

    def _leaf(self, expr: Expr) -> Array | None:
        linear = np.arange(self.threads, dtype=np.int64)[None, :]
        block = self.block
        axes = {"x": linear % block.x, "y": linear // block.x % block.y, "z": linear // (block.x * block.y)}
        extents = {"x": block.x, "y": block.y, "z": block.z}
        if expr.op == "const":
            return np.array([[expr.value]], dtype=np.int64)
        if expr.op == "tid":
            return axes[str(expr.value)]
        if expr.op == "lane":
            return linear % 32
        if expr.op == "ntid":
            return np.array([[extents[str(expr.value)]]], dtype=np.int64)
        if expr.op == "symbol":
            return np.zeros((1, 1), dtype=np.int64)
        fact = self._facts.get(f"{expr.op}:{expr.value}")
        if fact is not None:
            return np.array([[fact]], dtype=np.int64)
        return None if expr.op == "opaque" else _guesses(expr)

    def _carried(self, expr: Expr) -> Array | None:
        phi = expr.phi
        if phi is None:
            return None
        if id(phi) in self._bound:
            return self._bound[id(phi)]
        states = self._run(phi)
        wanted = self.iterations(phi.loop)
        result: Array | None = None
        for step, state in enumerate(states):
            found = state.get(id(phi))
            if found is None and np.any(wanted == step):
                return None
            if found is not None:
                result = found if result is None else np.where(wanted == step, found, result)
        return result

    def iterations(self, loop: int) -> Array:
        """Which iteration of a loop each sample looks at, counted from 0; (samples, 1)."""
        sample = np.arange(SAMPLES, dtype=np.int64)[:, None]
        return (sample * (2 * (loop % 2) + 1) + loop // 2) % MAX_ITERATION + self._ahead.get(loop, 0)

    def _run(self, phi: Phi) -> list[dict[int, Array | None]]:
        phis = self._phis.setdefault(phi.loop, {})
        if id(phi) not in phis:
            phis |= _together(phi)
            self._states[phi.loop] = self._iterate(phi.loop, list(phis.values()))
        return self._states[phi.loop]

    def _iterate(self, loop: int, phis: list[Phi]) -> list[dict[int, Array | None]]:
        states: list[dict[int, Array | None]] = [{id(phi): self.values(phi.init) for phi in phis}]
        for _ in range(int(self.iterations(loop).max())):
            step = Evaluator(self.block, self._ahead, self._facts)
            step._bound = self._bound | states[-1]
            states.append({id(phi): _following(step, phi) for phi in phis})
        return states


def _following(step: Evaluator, phi: Phi) -> Array | None:
    return None if phi.following is None else step.values(phi.following)


def _together(phi: Phi) -> dict[int, Phi]:
    """The phi and all others of its loop that its next value is made of."""
    found: dict[int, Phi] = {}
    waiting = [phi]
    while waiting:
        current = waiting.pop()
        if id(current) in found or current.loop != phi.loop:
            continue
        found[id(current)] = current
        if current.following is not None:
            waiting += _phis_in(current.following)
    return found


def _phis_in(expr: Expr) -> list[Phi]:
    found: list[Phi] = []
    seen: set[int] = set()
    waiting = [expr]
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if current.phi is not None:
            found.append(current.phi)
        waiting += current.args
    return found


def _guesses(expr: Expr) -> Array:
    sample = np.arange(SAMPLES, dtype=np.int64)[:, None]
    if expr.op == "ctaid":
        return (sample + (0 if expr.value == "x" else 1)) % 3
    if expr.op == "nctaid":
        return np.full((SAMPLES, 1), 8, dtype=np.int64)
    seed = zlib.crc32(str(expr.value).encode())
    return np.array([[_guess(seed, index)] for index in range(SAMPLES)], dtype=np.int64)


def _guess(seed: int, index: int) -> int:
    pool = _ROUND if index < ROUND_SAMPLES else _AWKWARD
    return pool[(seed + index * 7) % len(pool)]


def _divide(left: Array, right: Array) -> Array:
    divisor: Array = np.where(right == 0, 1, right)
    sign: Array = np.where((left < 0) == (divisor < 0), 1, -1)
    quotient: Array = sign * (np.abs(left) // np.abs(divisor))
    return quotient


def _low(value: Array, bits: int = 32) -> Array:
    return value & ((1 << bits) - 1)


def _number(value: Mask) -> Array:
    return value.astype(np.int64)


_UNARY: dict[str, Callable[[Array], Array]] = {
    "not": np.invert,
    "neg": np.negative,
    "abs": np.abs,
    "low16": lambda value: _low(value, 16),
    "low32": _low,
    "lnot": lambda value: _number(value == 0),
}
_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "mulhi": lambda left, right: _low(left) * _low(right) >> 32,
    "mulhi_signed": lambda left, right: left * right >> 32,
    "div": _divide,
    "rem": lambda left, right: left - _divide(left, right) * right,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": lambda left, right: left << np.clip(right, 0, 62),
    "shr": lambda left, right: left >> np.clip(right, 0, 62),
    "min": np.minimum,
    "max": np.maximum,
    "lt": lambda left, right: _number(left < right),
    "le": lambda left, right: _number(left <= right),
    "gt": lambda left, right: _number(left > right),
    "ge": lambda left, right: _number(left >= right),
    "eq": lambda left, right: _number(left == right),
    "ne": lambda left, right: _number(left != right),
    "land": lambda left, right: _number((left != 0) & (right != 0)),
    "lor": lambda left, right: _number((left != 0) | (right != 0)),
}
