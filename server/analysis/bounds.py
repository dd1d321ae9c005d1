"""Accesses outside their array, on the flow of a kernel.

Three degrees of knowledge: the numbers of a launch prove it (shape, scalars and buffer sizes constant in the source);
the form of a condition gives it away (`i <= n`, `x[i - 1]` of the first thread); or nothing on the way bounds an index
made of the block's and the thread's place, although the kernel is told a size.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from .evaluation import ROUND_SAMPLES, Block, Evaluator
from .expressions import Expr, leaves
from .flow import Access, Flow, Node, SharedArray

LARGEST_INT = (1 << 31) - 1
_COUNT = re.compile(
    r"^[a-z]?[nmkNMKHWBTC]$|^(?:n|num|N)_?[A-Za-z]|len|size|count|width|height|rows|cols|elem|total",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Overrun:
    """An access proved outside: thread and block that make it, the byte touched, the bytes there are."""

    node: Node
    access: Access
    block: tuple[int, int, int]
    thread: int
    byte: int
    size_bytes: int


def overrun(
    flow: Flow,
    block: Block,
    grid: tuple[int, int, int],
    scalars: Mapping[str, int],
    buffer_bytes: Mapping[str, int],
) -> list[Overrun]:
    """The first proved overrun of every access of a launch whose numbers are known."""
    found: list[Overrun] = []
    for corner, evaluator in _corners(block, grid, scalars):
        for node, access in flow.accesses("global"):
            size = buffer_bytes.get(access.base)
            if size is None or not access.sized or not _known(access.address, scalars):
                continue
            if all(each.node is not node for each in found):
                found += _outside(evaluator, node, access, size, corner)
    return found


def beyond_32_bits(
    flow: Flow, block: Block, grid: tuple[int, int, int], scalars: Mapping[str, int]
) -> list[tuple[Node, Access, int]]:
    """(node, access, index) of the accesses of a launch whose element index does not fit in a 32-bit int."""
    found: dict[int, tuple[Node, Access, int]] = {}
    for _, evaluator in _corners(block, grid, scalars):
        for node, access in flow.accesses("global"):
            addresses = (
                evaluator.full(access.address) if _known(access.address, scalars) and access.sized else None
            )
            active, decided = evaluator.active(node.conditions)
            if addresses is None or not decided or not active.any():
                continue
            largest = int(addresses[active].max()) // access.width_bytes
            if largest > LARGEST_INT:
                found.setdefault(id(node), (node, access, largest))
    return list(found.values())


def _corners(
    block: Block, grid: tuple[int, int, int], scalars: Mapping[str, int]
) -> Iterator[tuple[tuple[int, int, int], Evaluator]]:
    """The first and the last block of a grid, each with an evaluator that knows the launch's numbers."""
    for corner in dict.fromkeys([(0, 0, 0), (grid[0] - 1, grid[1] - 1, grid[2] - 1)]):
        facts = {f"uniform:{name}": value for name, value in scalars.items()}
        for axis, place, extent in zip("xyz", corner, grid, strict=True):
            facts |= {f"ctaid:{axis}": place, f"nctaid:{axis}": extent}
        yield corner, Evaluator(block, facts=facts)


def _known(expr: Expr, scalars: Mapping[str, int]) -> bool:
    return all(op not in ("uniform", "opaque") or name in scalars for op, name in leaves(expr))


def _outside(
    evaluator: Evaluator, node: Node, access: Access, size: int, corner: tuple[int, int, int]
) -> list[Overrun]:
    addresses = evaluator.full(access.address)
    active, decided = evaluator.active(node.conditions)
    if addresses is None or not decided:
        return []
    beyond = active & ((addresses < 0) | (addresses + access.width_bytes > size))
    samples, threads = np.nonzero(beyond)
    if samples.size == 0:
        return []
    byte = int(addresses[samples[0], threads[0]])
    return [Overrun(node, access, corner, int(threads[0]), byte, size)]


def shared_overruns(flow: Flow) -> list[tuple[Node, Access, SharedArray, int, int]]:
    """(node, access, array, thread, element) of subscripts that leave a shared array under a launched block shape."""
    found: list[tuple[Node, Access, SharedArray, int, int]] = []
    if flow.block.assumed:
        return found
    evaluator = Evaluator(flow.block)
    for node, access in flow.accesses("shared"):
        array = flow.arrays.get(access.base)
        if (
            array is None
            or array.elements is None
            or array.element_bytes is None
            or not _known(access.address, {})
        ):
            continue
        addresses = evaluator.full(access.address)
        active, decided = evaluator.active(node.conditions)
        if addresses is None or not decided:
            continue
        elements = addresses // array.element_bytes
        samples, threads = np.nonzero(active & ((elements < 0) | (elements >= array.elements)))
        if samples.size:
            found.append((node, access, array, int(threads[0]), int(elements[samples[0], threads[0]])))
    return found


def off_by_one(node: Node, access: Access) -> Expr | None:
    """The bound of a guard `index <= bound` whose very index the access uses, the bound being a plain size."""
    index = access.address.args[0] if access.address.op == "mul" else access.address
    for guard in node.conditions:
        for condition in _conjuncts(guard):
            sides = condition.args if condition.op == "le" else condition.args[::-1]
            if condition.op in ("le", "ge") and sides[0] is index and _is_count(sides[1]):
                return sides[1]
    return None


def _is_count(expr: Expr) -> bool:
    """Whether an unknown is a number of elements by its name; `last` or `right` may well be included."""
    return expr.op == "uniform" and bool(_COUNT.search(str(expr.value)))


def _conjuncts(condition: Expr) -> list[Expr]:
    if condition.op == "land":
        return [part for arg in condition.args for part in _conjuncts(arg)]
    if condition.op == "lnot" and condition.args[0].op == "lor":
        return [Expr("lnot", (part,)) for part in condition.args[0].args]
    if condition.op == "lnot" and condition.args[0].op == "gt":
        return [Expr("le", condition.args[0].args)]
    return [condition]


def negative(evaluator: Evaluator, node: Node, access: Access) -> bool:
    """Whether a thread of the first block reaches an element before the array under every round guess."""
    if access.address.loops:
        return False
    addresses = evaluator.full(access.address)
    active, decided = evaluator.active(node.conditions)
    if addresses is None or not decided:
        return False
    below = (active & (addresses < 0))[:ROUND_SAMPLES]
    return bool(below.any(axis=1).all())


def unbounded_axes(node: Node, access: Access) -> set[str]:
    """The grid axes whose block index the address uses together with a thread index, and no condition bounds."""
    used = leaves(access.address)
    if not any(op == "tid" for op, _ in used) or any(op == "opaque" for op, _ in used):
        return set()
    axes = {name for op, name in used if op == "ctaid"}
    for guard in node.conditions:
        within = leaves(guard)
        sized = guard.varying and any(op == "uniform" for op, _ in within)
        axes -= {name for op, name in within if op == "ctaid" or (sized and op == "tid")}
        if guard.varying and any(op == "opaque" for op, _ in within):
            return set()
    return axes
