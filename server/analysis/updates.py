"""Elements that several threads update or write at once without an atomic, on the flow of a kernel."""

from dataclasses import dataclass

import numpy as np

from .evaluation import ROUND_SAMPLES, Evaluator
from .expressions import leaves
from .flow import Access, Flow, Node


@dataclass(frozen=True, eq=False, slots=True)
class Collision:
    """A write that several threads make to one element. `threads` is None where data or the block decides."""

    node: Node
    access: Access
    threads: tuple[int, int] | None
    across_blocks: bool = False
    by_data: bool = False


def collisions(flow: Flow, *, single_block: bool) -> list[Collision]:
    """Every update (`+=`, `++`) that threads share, and every write of differing values to one element."""
    evaluator = Evaluator(flow.block)
    blocks = not single_block and any(_mentions_block(access) for _, access in flow.accesses("global"))
    found: list[Collision] = []
    for node in flow.nodes:
        access = node.access
        if node.kind != "write" or access is None or access.space not in ("shared", "global"):
            continue
        collision = _collision(evaluator, node, access, blocks=blocks)
        if collision is not None:
            found.append(collision)
    return found


def _mentions_block(access: Access) -> bool:
    stored = leaves(access.stored) if access.stored is not None else set[tuple[str, str]]()
    return "ctaid" in _kinds(access) or any(op == "ctaid" for op, _ in stored)


def _kinds(access: Access) -> set[str]:
    return {op for op, _ in leaves(access.address)}


def _collision(evaluator: Evaluator, node: Node, access: Access, *, blocks: bool) -> Collision | None:
    kinds = _kinds(access)
    if "opaque" in kinds:
        private = kinds & {"tid", "lane"}
        return Collision(node, access, None, by_data=True) if access.compound and not private else None
    if blocks and access.space == "global" and _blocks_differ(node, access, kinds):
        return Collision(node, access, None, across_blocks=True)
    differing = access.stored is None or access.stored.varying
    if not access.compound and not differing:
        return None
    threads = _shared_element(evaluator, node, access)
    if threads is not None:
        return Collision(node, access, threads)
    alone = any(op in ("ctaid", "opaque") for guard in node.conditions for op, _ in leaves(guard))
    if (
        blocks
        and access.compound
        and access.space == "global"
        and not alone
        and not kinds & {"ctaid", "uniform"}
    ):
        return Collision(node, access, None, across_blocks=True)
    return None


def _blocks_differ(node: Node, access: Access, kinds: set[str]) -> bool:
    """Whether every block writes a value of its own to elements that do not depend on the block."""
    alone = any(op in ("ctaid", "opaque") for guard in node.conditions for op, _ in leaves(guard))
    own = access.stored is not None and any(op == "ctaid" for op, _ in leaves(access.stored))
    return own and not alone and not kinds & {"ctaid", "uniform", "opaque"}


def _shared_element(evaluator: Evaluator, node: Node, access: Access) -> tuple[int, int] | None:
    """Two threads that reach one element under every round guess in which any reaches it."""
    addresses = evaluator.full(access.address)
    active, decided = evaluator.active(node.conditions)
    if addresses is None or not decided:
        return None
    witness: tuple[int, int] | None = None
    for sample in range(ROUND_SAMPLES):
        threads = np.flatnonzero(active[sample])
        elements = addresses[sample, threads]
        order = np.argsort(elements, kind="stable")
        same = np.flatnonzero(elements[order][1:] == elements[order][:-1])
        if threads.size and same.size == 0:
            return None
        if same.size:
            witness = int(threads[order[same[0]]]), int(threads[order[same[0] + 1]])
    return witness
