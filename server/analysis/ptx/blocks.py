"""The control flow of a PTX function: basic blocks, dominators, loops. It knows branches and nothing else of opcodes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from .module import Function, Instruction

_ENDS = ("ret", "exit", "trap")


@dataclass(eq=False, slots=True)
class BasicBlock:
    """Instructions `start` to `end` (exclusive). A conditional branch goes to `taken` when its predicate holds."""

    index: int
    start: int
    end: int
    following: list[int] = field(default_factory=list[int])
    preceding: list[int] = field(default_factory=list[int])
    taken: int | None = None
    otherwise: int | None = None


@dataclass(eq=False, slots=True)
class Loop:
    """A natural loop: its head, all its blocks, and the blocks that jump back."""

    index: int
    head: int
    blocks: set[int]
    latches: list[int]


@dataclass(slots=True)
class Control:
    """Blocks in reverse postorder of control flow (`order`), immediate dominators, loops by head."""

    blocks: list[BasicBlock]
    order: list[int]
    dominator: dict[int, int]
    loops: dict[int, Loop]

    def dominates(self, first: int, second: int) -> bool:
        """Whether every way to `second` leads through `first`."""
        current: int | None = second
        while current is not None and current != first:
            above = self.dominator.get(current)
            current = None if above == current else above
        return current == first

    def around(self, block: int) -> list[Loop]:
        """The loops that hold a block, outermost first."""
        held = [loop for loop in self.loops.values() if block in loop.blocks]
        return sorted(held, key=lambda loop: -len(loop.blocks))


def control_of(function: Function) -> Control:
    """The control flow of a function with at least one instruction."""
    blocks = _blocks(function)
    _link(function, blocks)
    order = _order(blocks)
    dominator = _dominators(blocks, order)
    control = Control(blocks, order, dominator, {})
    control.loops = _loops(control)
    return control


def is_branch(instruction: Instruction) -> bool:
    """Whether it may go elsewhere than to the next instruction."""
    return instruction.parts[0] in ("bra", "brx", *_ENDS)


def _blocks(function: Function) -> list[BasicBlock]:
    count = len(function.instructions)
    starts = {0, *(place for place in function.labels.values() if place < count)}
    starts |= {at + 1 for at, each in enumerate(function.instructions) if is_branch(each) and at + 1 < count}
    ordered = [*sorted(starts), count]
    return [BasicBlock(index, start, end) for index, (start, end) in enumerate(pairwise(ordered))]


def _link(function: Function, blocks: list[BasicBlock]) -> None:
    at_start = {block.start: block.index for block in blocks}
    for block in blocks:
        last = function.instructions[block.end - 1]
        kind = last.parts[0]
        beyond = at_start.get(block.end)
        if kind == "bra":
            block.taken = at_start.get(function.labels.get(last.operands[0] if last.operands else "", -1))
        if kind == "brx":
            block.following += sorted({at_start[at] for at in function.labels.values() if at in at_start})
        if block.taken is not None:
            block.following.append(block.taken)
        falls = kind not in ("bra", "brx", *_ENDS) or last.predicate is not None
        if falls and beyond is not None and beyond not in block.following:
            block.otherwise = beyond
            block.following.append(beyond)
    for block in blocks:
        for following in block.following:
            blocks[following].preceding.append(block.index)


def _order(blocks: list[BasicBlock]) -> list[int]:
    """Reverse postorder from the entry; unreachable blocks are left out."""
    seen = {0}
    order: list[int] = []
    waiting: list[tuple[int, Iterator[int]]] = [(0, iter(blocks[0].following))]
    while waiting:
        current, rest = waiting[-1]
        following = next((each for each in rest if each not in seen), None)
        if following is None:
            order.append(current)
            waiting.pop()
        else:
            seen.add(following)
            waiting.append((following, iter(blocks[following].following)))
    return order[::-1]


def _dominators(blocks: list[BasicBlock], order: list[int]) -> dict[int, int]:
    """Immediate dominators, by Cooper, Harvey and Kennedy's iteration."""
    rank = {block: position for position, block in enumerate(order)}
    found = {0: 0}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [each for each in blocks[block].preceding if each in found]
            chosen = known[0]
            for other in known[1:]:
                chosen = _meet(found, rank, chosen, other)
            if found.get(block) != chosen:
                found[block] = chosen
                changed = True
    return found


def _meet(dominator: dict[int, int], rank: dict[int, int], first: int, second: int) -> int:
    while first != second:
        while rank[first] > rank[second]:
            first = dominator[first]
        while rank[second] > rank[first]:
            second = dominator[second]
    return first


def _loops(control: Control) -> dict[int, Loop]:
    found: dict[int, Loop] = {}
    for block in control.order:
        for head in control.blocks[block].following:
            if control.dominates(head, block):
                loop = found.setdefault(head, Loop(len(found), head, {head}, []))
                loop.latches.append(block)
                _fill(control, loop, block)
    return found


def _fill(control: Control, loop: Loop, latch: int) -> None:
    waiting = [latch]
    while waiting:
        block = waiting.pop()
        if block not in loop.blocks:
            loop.blocks.add(block)
            waiting += control.blocks[block].preceding
