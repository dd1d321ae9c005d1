"""Which registers of a PTX function may differ between threads of one block. Flow-insensitive."""

import re
from collections import Counter
from collections.abc import Iterator

from .blocks import Control
from .module import Function, Instruction

_REGISTER = re.compile(r"%[\w$]+(?:\.[xyz])?")
_SOURCES = ("%tid.", "%laneid", "%clock", "%globaltimer", "%lanemask", "%warpid", "%smid")
_VARYING = {
    "atom",
    "shfl",
    "match",
    "activemask",
    "call",
    "vote",
    "redux",
    "elect",
    "ldmatrix",
    "wmma",
    "mma",
}


def destinations(instruction: Instruction) -> list[str]:
    """The registers that an instruction writes."""
    kind = instruction.parts[0]
    if not instruction.operands or kind in (
        "st",
        "bra",
        "bar",
        "barrier",
        "red",
        "ret",
        "exit",
        "membar",
        "fence",
    ):
        return []
    first = instruction.operands[0]
    found: list[str] = _REGISTER.findall(first)
    return [] if first.startswith("[") else found


def definition_counts(function: Function) -> Counter[str]:
    """How many instructions write each register."""
    return Counter(name for each in function.instructions for name in destinations(each))


def varying_registers(function: Function, control: Control) -> frozenset[str]:
    """The registers that may differ: from the thread's place, from data at such an address, under such a branch."""
    counts = definition_counts(function)
    edges: dict[str, list[str]] = {}
    found: set[str] = set()
    predicates = _controlling(function, control)
    for block in control.blocks:
        for instruction in function.instructions[block.start : block.end]:
            targets = destinations(instruction)
            sources = set(_sources(instruction))
            if any(counts[target] > 1 for target in targets):
                sources |= predicates.get(block.index, set())
            if instruction.parts[0] in _VARYING or any(source.startswith(_SOURCES) for source in sources):
                found |= set(targets)
            for source in sources:
                edges.setdefault(source, []).extend(targets)
    waiting = list(found)
    while waiting:
        for target in edges.get(waiting.pop(), ()):
            if target not in found:
                found.add(target)
                waiting.append(target)
    return frozenset(found)


def _sources(instruction: Instruction) -> Iterator[str]:
    targets = destinations(instruction)
    for operand in instruction.operands[1 if targets else 0 :]:
        yield from _REGISTER.findall(operand)
    if instruction.predicate is not None:
        yield instruction.predicate


def _controlling(function: Function, control: Control) -> dict[int, set[str]]:
    """The predicates of branches that decide whether a block is reached, through its dominators."""
    found: dict[int, set[str]] = {}
    for block in control.order:
        above = control.dominator[block]
        held = set(found.get(above, set())) if above != block else set[str]()
        last = function.instructions[control.blocks[above].end - 1]
        branches = len(control.blocks[above].following) > 1 and above != block
        if branches and last.predicate is not None and control.blocks[block].preceding == [above]:
            held.add(last.predicate)
        found[block] = held
    return found
