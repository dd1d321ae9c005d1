"""Which accesses to one array two threads of a block make with no barrier between, on the flow of a kernel.

A pair is looked for along the control flow from one access to the next, barriers stopping the search; a loop's back edge
may be taken once, the second access then being of the next iteration. Whether the two touch the same bytes is computed
for every thread of the block under several guesses of what is unknown (`evaluation`); a pair that depends on per-thread
data is left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from .evaluation import ROUND_SAMPLES, SAMPLES, Array, Block, Evaluator, Mask
from .expressions import leaves
from .flow import Access, Flow, Node

MAX_PAIRS = 600
_STOPS = ("barrier", "unknown_call")


@dataclass(frozen=True, eq=False, slots=True)
class Conflict:
    """Two threads that touch the same bytes unordered: `first` then `second`; `loop` when through a back edge.

    `same_warp`: only threads of one warp do. `decided`: every condition on the way had a number.
    """

    first: Node
    second: Node
    threads: tuple[int, int]
    loop: int | None
    same_warp: bool
    decided: bool

    @property
    def array(self) -> str:
        """The array's name."""
        return self.first.access.base if self.first.access else ""


@dataclass(frozen=True, eq=False, slots=True)
class _Pair:
    first: Node
    second: Node
    loop: int | None
    warp_ordered: bool


def conflicts(flow: Flow) -> list[Conflict]:
    """Every unordered pair of accesses to shared memory that conflicts under some guess, once per pair of nodes.

    Of assumed block shapes all must show it.
    """
    never = _never_reached(flow)
    ordered = list(islice(_pairs(flow, never), MAX_PAIRS))
    siblings = list(islice(_siblings(flow, ordered, never), MAX_PAIRS)) if len(ordered) < MAX_PAIRS else []
    found = _judged(flow.block, ordered, siblings)
    for block in flow.blocks[1:] if flow.block.assumed and found else ():
        also = {(id(each.first), id(each.second)) for each in _judged(block, ordered, siblings)}
        found = [each for each in found if (id(each.first), id(each.second)) in also]
    return found


def _judged(block: Block, ordered: list[_Pair], siblings: list[_Pair]) -> list[Conflict]:
    evaluators = _Evaluators(block)
    found = [evaluators.judge(pair) for pair in ordered]
    found += [each for each in map(evaluators.judge, siblings) if each is not None and each.decided]
    return [conflict for conflict in found if conflict is not None]


def _never_reached(flow: Flow) -> frozenset[int]:
    """Nodes that no thread reaches under any round guess: ways around conditions that always hold."""
    evaluator = Evaluator(flow.block)
    found: set[int] = set()
    for node in flow.nodes:
        if (
            node.kind == "join"
            and node.guards
            and not any(condition.varying for condition in node.conditions)
        ):
            active, _ = evaluator.active(node.conditions)
            if not active[:ROUND_SAMPLES].any():
                found.add(id(node))
    return frozenset(found)


def _pairs(flow: Flow, never: frozenset[int]) -> Iterator[_Pair]:
    for node, access in flow.accesses("shared"):
        best: dict[tuple[int, int | None], _Pair] = {}
        for pair in _reached(node, never):
            key = (id(pair.second), pair.loop)
            if key not in best or best[key].warp_ordered > pair.warp_ordered:
                best[key] = pair
        yield from (pair for pair in best.values() if _may_conflict(access, pair.first.kind, pair.second))


def _siblings(flow: Flow, ordered: list[_Pair], never: frozenset[int]) -> Iterator[_Pair]:
    """Pairs on different ways through one stretch between barriers: threads that part at a branch run side by side."""
    known = {(id(pair.first), id(pair.second)) for pair in ordered}
    for start in [flow.nodes[0], *(node for node in flow.nodes if node.kind in _STOPS)] if flow.nodes else []:
        found = [pair.second for pair in _reached(start, never) if pair.loop is None]
        shared = [node for node in found if node.access is not None and node.access.space == "shared"]
        for index, first in enumerate(shared):
            for second in shared[index + 1 :]:
                key = (id(first), id(second))
                access = first.access
                if (
                    access is None
                    or key in known
                    or key[::-1] in known
                    or first.kind == second.kind == "read"
                ):
                    continue
                known.add(key)
                if _may_conflict(access, first.kind, second):
                    yield _Pair(first, second, None, warp_ordered=False)


def _may_conflict(access: Access, kind: str, second: Node) -> bool:
    other = second.access
    if other is None or other.space != access.space or other.base != access.base:
        return False
    kinds = {kind, second.kind}
    if kinds in ({"read"}, {"atomic"}):
        return False
    same = access.stored is not None and access.stored is other.stored and not access.stored.varying
    return not same


def _reached(start: Node, never: frozenset[int]) -> Iterator[_Pair]:
    """The accesses that can follow a node before a barrier, taking at most one loop's back edge once."""
    seen: set[tuple[int, int | None, bool]] = set()
    waiting: list[tuple[Node, int | None, bool]] = [(node, loop, False) for node, loop in start.following]
    while waiting:
        node, loop, ordered = waiting.pop()
        key = (id(node), loop, ordered)
        if key in seen or node.kind in _STOPS or id(node) in never:
            continue
        seen.add(key)
        ordered = ordered or node.kind == "warp_barrier"
        if node.access is not None:
            yield _Pair(start, node, loop, ordered)
        for following, back in node.following:
            if back is None or loop is None:
                waiting.append((following, loop if back is None else back, ordered))


class _Evaluators:
    """Evaluators of a block shape, one for each loop that is a step ahead, kept because pairs share them."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._now = Evaluator(block)
        self._ahead: dict[int, Evaluator] = {}

    def judge(self, pair: _Pair) -> Conflict | None:
        """The conflict of a pair, if two threads touch the same bytes."""
        first, second = pair.first.access, pair.second.access
        if first is None or second is None:
            return None
        later = self._now if pair.loop is None else self._later(pair.loop)
        one, other = self._now.full(first.address), later.full(second.address)
        if one is None or other is None:
            return None
        active, decided = self._now.active(pair.first.conditions)
        then, also = later.active(pair.second.conditions)
        unit = max(1, min(first.width_bytes, second.width_bytes))
        left = _Touched(one // unit, active, max(1, first.width_bytes // unit))
        right = _Touched(other // unit, then, max(1, second.width_bytes // unit))
        guessed = any(op == "uniform" for each in (first, second) for op, _ in leaves(each.address))
        witness = _meeting(left, right, same_warp_ordered=pair.warp_ordered, every_guess=guessed)
        if witness is None:
            return None
        threads, same_warp = witness
        return Conflict(pair.first, pair.second, threads, pair.loop, same_warp, decided and also)

    def _later(self, loop: int) -> Evaluator:
        if loop not in self._ahead:
            self._ahead[loop] = Evaluator(self._block, ahead={loop: 1})
        return self._ahead[loop]


@dataclass(frozen=True, slots=True)
class _Touched:
    units: Array
    active: Mask
    width: int

    def keys(self) -> tuple[Array, Array]:
        """(sample and unit in one number, thread) of everything touched; round guesses only."""
        units, active = self.units[:ROUND_SAMPLES], self.active[:ROUND_SAMPLES]
        sample, thread = np.nonzero(active)
        spread = units[sample, thread][:, None] + np.arange(self.width)[None, :]
        keys = (spread << 4) + sample[:, None]
        threads = np.broadcast_to(thread[:, None], keys.shape)
        return keys.ravel(), threads.ravel().astype(np.int64)


def _meeting(
    left: _Touched, right: _Touched, *, same_warp_ordered: bool, every_guess: bool
) -> tuple[tuple[int, int], bool] | None:
    """((thread, other thread), only within warps) of a meeting; threads of one warp count only when not ordered.

    `every_guess`: the bytes depend on guessed sizes, so that a meeting counts only when it happens under each of them.
    """
    keys, threads = left.keys()
    others, partners = right.keys()
    if keys.size == 0 or others.size == 0:
        return None
    order = np.lexsort((threads, keys))
    keys, threads = keys[order], threads[order]
    start = np.searchsorted(keys, others, side="left")
    end = np.searchsorted(keys, others, side="right")
    met = end > start
    low = threads[np.where(met, start, 0)]
    high = threads[np.where(met, end - 1, 0)]
    wanted = np.intersect1d(keys & 15, others & 15) if every_guess else None
    for across in (True, False):
        if same_warp_ordered and not across:
            continue
        apart = [_apart(candidate, partners, across=across) & met for candidate in (low, high)]
        hits = np.flatnonzero(apart[0] | apart[1])
        if hits.size == 0 or (wanted is not None and not np.isin(wanted, others[hits] & 15).all()):
            continue
        hit = int(hits[0])
        return (int(low[hit] if apart[0][hit] else high[hit]), int(partners[hit])), not across
    return None


def _apart(threads: Array, partners: Array, *, across: bool) -> Mask:
    different: Mask = threads // 32 != partners // 32 if across else threads != partners
    return different


assert SAMPLES <= 16, "a sample must fit in the low four bits of a key"
