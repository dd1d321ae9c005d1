"""The values of a PTX function's registers: one for a register written once, one per block for the others.

A register that a loop writes is carried by the loop; where two ways meet, an if's condition chooses.
"""

from collections.abc import Mapping

from ..expressions import Expr, Phi, apply, carried, negated, unknown
from .blocks import BasicBlock, Control, Loop
from .module import Function
from .operations import operand
from .taint import definition_counts, destinations, varying_registers


class Registers:
    """Values while the blocks are walked in reverse postorder; `begin` and `end` frame each block."""

    def __init__(self, function: Function, control: Control, symbols: Mapping[str, Expr]) -> None:
        self._function = function
        self._control = control
        self._symbols = symbols
        self._several = {name for name, count in definition_counts(function).items() if count > 1}
        self._values: dict[str, Expr] = {}
        self._here: dict[str, Expr] = {}
        self._at_end: dict[int, dict[str, Expr]] = {}
        self._phis: list[tuple[Loop, str, Phi]] = []
        self.varying = varying_registers(function, control)

    def read(self, text: str) -> Expr:
        """The value of an operand here."""
        return operand(text, self._register, self._symbols)

    def write(self, name: str, value: Expr) -> None:
        """Give a register a value here."""
        if name in self._several:
            self._here[name] = value
        else:
            self._values[name] = value

    def unknown(self, name: str, *, varying: bool | None = None) -> Expr:
        """A value of a register that cannot be followed."""
        return unknown(name, varying=name in self.varying if varying is None else varying)

    def begin(self, block: BasicBlock) -> None:
        """Enter a block: join what comes in, carry what its loop writes."""
        known = [each for each in block.preceding if each in self._at_end]
        names = set[str]().union(*(self._at_end[each].keys() for each in known)) if known else set[str]()
        self._here = {name: self._joined(name, block, known) for name in sorted(names)}
        loop = self._control.loops.get(block.index)
        if loop is None:
            return
        for name in sorted(self._written(loop) & self._here.keys()):
            phi = Phi(loop.index, self._here[name], name)
            self._phis.append((loop, name, phi))
            self._here[name] = carried(phi, varying=name in self.varying)

    def end(self, block: BasicBlock) -> None:
        """Leave a block."""
        self._at_end[block.index] = self._here

    def close(self) -> None:
        """After all blocks: what each loop carries into its next iteration."""
        for loop, name, phi in self._phis:
            phi.following = self._merged(name, loop.latches)

    def condition(self, block: BasicBlock) -> Expr | None:
        """The condition under which a block branches, as it is at its end; None where it does not branch on one."""
        last = self._function.instructions[block.end - 1]
        if last.predicate is None or block.taken is None:
            return None
        held = self._at_end.get(block.index, self._here) if last.predicate in self._several else self._values
        value = held.get(last.predicate, self.unknown(last.predicate))
        return negated(value) if last.negated else value

    def _register(self, name: str) -> Expr:
        found = self._here.get(name) if name in self._several else self._values.get(name)
        return self.unknown(name) if found is None else found

    def _written(self, loop: Loop) -> set[str]:
        blocks = (self._control.blocks[index] for index in loop.blocks)
        written = (each for block in blocks for each in self._function.instructions[block.start : block.end])
        return {name for each in written for name in destinations(each)} & self._several

    def _joined(self, name: str, block: BasicBlock, known: list[int]) -> Expr:
        chosen = self._chosen(name, block, known[0], known[1]) if len(known) == 2 else None
        return self._merged(name, known) if chosen is None else chosen

    def _merged(self, name: str, blocks: list[int]) -> Expr:
        values = [self._at_end[each].get(name) for each in blocks if each in self._at_end]
        first = values[0] if values else None
        if first is not None and all(value is first for value in values):
            return first
        return self.unknown(f"{name}@{blocks}", varying=name in self.varying)

    def _chosen(self, name: str, block: BasicBlock, left: int, right: int) -> Expr | None:
        """The value after an if, where each way in comes from one side of the branch."""
        first, second = self._at_end[left].get(name), self._at_end[right].get(name)
        if first is None or second is None or first is second:
            return first
        above = self._control.blocks[self._control.dominator[block.index]]
        condition = self.condition(above)
        if condition is None or above.taken is None or above.otherwise is None:
            return None
        for one, other, chosen in ((left, right, (first, second)), (right, left, (second, first))):
            if self._side(above, above.taken, block, one) and self._side(
                above, above.otherwise, block, other
            ):
                return apply("select", condition, *chosen)
        return None

    def _side(self, above: BasicBlock, side: int, block: BasicBlock, come: int) -> bool:
        if side == block.index:
            return come == above.index
        return self._control.blocks[side].preceding == [above.index] and self._control.dominates(side, come)
