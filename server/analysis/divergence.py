"""Barriers and warp operations that not all of their threads reach, on the flow of a kernel.

A condition on the way counts as divergent when it has numbers and differs between threads of a block (for a warp
operation: of a warp) under some guess, or when it depends on per-thread data.
"""

from dataclasses import dataclass

import numpy as np

from .evaluation import Array, Evaluator, Mask
from .expressions import leaves
from .flow import Flow, Guard, Node

FULL_MASK = 0xFFFFFFFF
WARP = 32


@dataclass(frozen=True, eq=False, slots=True)
class Divergence:
    """A barrier or warp operation that only some threads reach, and the guard that keeps the others away.

    `threads`: one that reaches it and one that does not, where both are known; `by_data`: per-thread data decides;
    `splits_warp`: some warp comes in part.
    """

    node: Node
    guard: Guard
    threads: tuple[int, int] | None
    by_data: bool
    splits_warp: bool = True


def divergent_barriers(flow: Flow) -> list[Divergence]:
    """Every block-wide barrier that some threads of a block can miss."""
    found: list[Divergence] = []
    evaluator = Evaluator(flow.block)
    for node in flow.nodes:
        if node.kind == "barrier":
            divergence = _first(evaluator, node, evaluator.threads)
            if divergence is not None:
                found.append(divergence)
    return found


def divergent_warp_operations(flow: Flow) -> list[Divergence]:
    """Every warp operation whose mask names lanes that do not reach it, or that lanes reach which it does not name."""
    found: list[Divergence] = []
    evaluator = Evaluator(flow.block)
    for node in flow.nodes:
        if node.kind not in ("warp_barrier", "warp_operation") or node.mask is None:
            continue
        divergence = _masked(evaluator, node)
        if divergence is not None:
            found.append(divergence)
    return found


def _first(evaluator: Evaluator, node: Node, width: int) -> Divergence | None:
    """The outermost guard that splits a group of `width` threads."""
    reached = np.ones((1, evaluator.threads), dtype=np.bool_)
    for guard in node.guards:
        if not guard.condition.varying:
            continue
        values = evaluator.full(guard.condition)
        if values is None:
            return Divergence(node, guard, None, by_data=True)
        passing = values != 0
        threads = _split(reached, passing, width)
        if threads is not None:
            within = _split(reached, passing, WARP) is not None
            return Divergence(node, guard, threads, by_data=False, splits_warp=within)
        reached = reached & passing
    return None


def _split(reached: Mask, passing: Mask, width: int) -> tuple[int, int] | None:
    """A thread that passes and one of its group that does not, among those that came so far."""
    here, gone = _grouped(reached & passing, width), _grouped(reached & ~passing, width)
    samples, groups = np.nonzero(here.any(axis=2) & gone.any(axis=2))
    if samples.size == 0:
        return None
    sample, group = int(samples[0]), int(groups[0])
    first = int(np.argmax(here[sample, group])) + group * width
    return first, int(np.argmax(gone[sample, group])) + group * width


def _grouped(mask: Mask, width: int) -> Mask:
    """(samples, groups, width), the last group filled with False."""
    samples, threads = mask.shape
    groups = -(-threads // width)
    padded = np.zeros((samples, groups * width), dtype=np.bool_)
    padded[:, :threads] = mask
    return padded.reshape(samples, groups, width)


def _masked(evaluator: Evaluator, node: Node) -> Divergence | None:
    split = _first(evaluator, node, WARP)
    guessed = node.mask is not None and any(op == "uniform" for op, _ in leaves(node.mask))
    mask = evaluator.full(node.mask) if node.mask is not None and not guessed else None
    if mask is None:
        return None
    if split is not None and split.by_data:
        full = bool(np.all(mask & FULL_MASK == FULL_MASK))
        return split if full else None
    if split is None:
        return None
    active, _ = evaluator.active(node.conditions)
    wrong = _disagree(active, mask)
    return Divergence(node, split.guard, split.threads, by_data=False) if wrong else None


def _disagree(active: Mask, mask: Array) -> bool:
    """Whether, in a warp that some lane comes to, the masks of those that come name others than come."""
    samples, threads = mask.shape
    groups = -(-threads // WARP)
    shape = (samples, groups * WARP)
    masks, bits = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    here = np.broadcast_to(active, mask.shape)
    masks[:, :threads] = np.where(here, mask & FULL_MASK, 0)
    lane: Array = np.arange(threads, dtype=np.int64)[None, :] % WARP
    bits[:, :threads] = np.where(here, np.left_shift(np.int64(1), lane), 0)
    named = np.bitwise_or.reduce(masks.reshape(samples, groups, WARP), axis=2)
    present = np.bitwise_or.reduce(bits.reshape(samples, groups, WARP), axis=2)
    return bool(np.any((present != 0) & (named != present)))
