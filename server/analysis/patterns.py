"""How the lanes of a warp spread over shared-memory banks and over 32-byte sectors of global memory.

For the first warps of a block, under the round guesses of `evaluation`. An access that depends on per-thread data has no
pattern: None.
"""

from dataclasses import dataclass
from itertools import islice

import numpy as np

from .evaluation import ROUND_SAMPLES, Array, Evaluator, Mask
from .flow import Access, Flow, Node

BANKS = 32
BANK_BYTES = 4
SECTOR_BYTES = 32
WARP = 32
MIN_LANES = 8
MAX_ACCESSES = 800


@dataclass(frozen=True, eq=False, slots=True)
class Pattern:
    """One access as one warp makes it. `worst` is the largest of the guesses, `usual` the smallest.

    Shared memory: how many passes the banks need (1 is free of conflicts). Global memory: sectors touched, and `needed`,
    the fewest that could hold the bytes asked for.
    """

    node: Node
    access: Access
    lanes: int
    usual: int
    worst: int
    needed: int = 1
    misaligned: bool = False


def shared_patterns(flow: Flow) -> list[Pattern]:
    """The bank passes of every shared access that has a pattern."""
    evaluator = Evaluator(flow.block)
    found: list[Pattern] = []
    for node, access in islice(flow.accesses("shared"), MAX_ACCESSES):
        lanes = _lanes(evaluator, node, access)
        if lanes is not None and access.sized and node.kind != "atomic":
            degrees = [_passes(addresses, active, access.width_bytes) for addresses, active in lanes]
            counts = [int(active.sum()) for _, active in lanes]
            found.append(Pattern(node, access, max(counts), min(degrees), max(degrees)))
    return found


def global_patterns(flow: Flow) -> list[Pattern]:
    """The sectors of every global access that has a pattern and is made by several lanes."""
    evaluator = Evaluator(flow.block)
    found: list[Pattern] = []
    for node, access in islice(flow.accesses("global"), MAX_ACCESSES):
        lanes = _lanes(evaluator, node, access)
        if lanes is None or not access.sized or node.kind == "atomic":
            continue
        busy = [(addresses, active) for addresses, active in lanes if active.sum() >= MIN_LANES]
        if busy:
            found.append(_global(node, access, busy))
    return found


def _global(node: Node, access: Access, busy: list[tuple[Array, Mask]]) -> Pattern:
    width = access.width_bytes
    touched = [_sectors(addresses[active], width) for addresses, active in busy]
    needed = [-(-len(np.unique(addresses[active])) * width // SECTOR_BYTES) for addresses, active in busy]
    excess = [have / want for have, want in zip(touched, needed, strict=True)]
    pick = int(np.argmin(excess))
    misaligned = width > 4 and all(bool(np.any(addresses[active] % width)) for addresses, active in busy)
    lanes = max(int(active.sum()) for _, active in busy)
    return Pattern(node, access, lanes, touched[pick], max(touched), needed[pick], misaligned)


def _sectors(addresses: Array, width: int) -> int:
    first = addresses // SECTOR_BYTES
    last = (addresses + width - 1) // SECTOR_BYTES
    return len(np.unique(np.concatenate([first, last])))


def _lanes(evaluator: Evaluator, node: Node, access: Access) -> list[tuple[Array, Mask]] | None:
    """(addresses, who takes part) of the first warps at each round guess; None where it has no pattern."""
    addresses = evaluator.full(access.address)
    if addresses is None:
        return None
    active, _ = evaluator.active(node.conditions)
    found: list[tuple[Array, Mask]] = []
    for start in range(0, min(evaluator.threads, 2 * WARP), WARP):
        for sample in range(ROUND_SAMPLES):
            mask = active[sample, start : start + WARP]
            if mask.any():
                found.append((addresses[sample, start : start + WARP], mask))
    return found or None


def _passes(addresses: Array, active: Mask, width: int) -> int:
    """How often the banks must be read: lanes of 4 bytes go together, of 8 in two groups, of 16 in four."""
    group = max(1, WARP * BANK_BYTES // max(width, BANK_BYTES))
    worst = 1
    for start in range(0, len(addresses), group):
        part = addresses[start : start + group][active[start : start + group]]
        if part.size == 0:
            continue
        words = np.unique((part[:, None] + np.arange(0, max(width, 1), BANK_BYTES)[None, :]) // BANK_BYTES)
        worst = max(worst, int(np.bincount(words % BANKS).max()))
    return worst


def bank_degree(pattern: Pattern) -> int:
    """The conflict that counts: the usual one, or the worst where only some iterations have it."""
    return pattern.usual if pattern.usual > 1 else pattern.worst
