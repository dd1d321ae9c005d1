"""The conditions under which a PTX block is reached: of the branches above it, and of the loops around it."""

from collections.abc import Callable

from ...reports.finding import Location
from ..expressions import Expr, Phi, carried, const, negated
from ..flow import Guard
from .blocks import BasicBlock, Control, Loop
from .module import Function, Place
from .registers import Registers

_EFFECTS = ("bar", "barrier", "ld", "st", "atom", "red", "cp", "call", "shfl", "vote", "mbarrier")


class Guards:
    """Collects guards while the blocks are walked, dominators first."""

    def __init__(
        self, function: Function, control: Control, registers: Registers, where: Callable[[Place], Location]
    ) -> None:
        self._function = function
        self._control = control
        self._registers = registers
        self._where = where
        self._held: dict[int, tuple[Guard, ...]] = {}
        self._alive: dict[int, Phi] = {}

    def of(self, block: BasicBlock, place: Location) -> tuple[Guard, ...]:
        """The guards of a block, outermost first."""
        above = self._control.dominator[block.index]
        around = {loop.index for loop in self._control.around(block.index)}
        held: tuple[Guard, ...] = ()
        if above != block.index:
            held = tuple(guard for guard in self._held[above] if guard.condition.loops <= around)
            held += self._from(self._control.blocks[above], block, place)
        loop = self._control.loops.get(block.index)
        if loop is not None:
            self._alive[loop.index] = Phi(loop.index, const(1), "goes on")
            alive = carried(self._alive[loop.index], varying=self._exit_varies(loop))
            held += (Guard(alive, place, loop=True),)
        self._held[block.index] = held
        return held

    def close(self) -> None:
        """After all blocks: whether each loop goes on after an iteration."""
        for loop in self._control.loops.values():
            if loop.index in self._alive:
                self._alive[loop.index].following = self._continues(loop)

    def _from(self, above: BasicBlock, block: BasicBlock, place: Location) -> tuple[Guard, ...]:
        condition = self._registers.condition(above)
        if condition is None or block.preceding != [above.index]:
            return ()
        taken = block.index == above.taken
        other = above.otherwise if taken else above.taken
        where = self._function.instructions[above.end - 1].place
        return (
            Guard(
                condition if taken else negated(condition),
                self._where(where) if where is not None else place,
                exits=other is not None and self._leaves(other),
            ),
        )

    def _leaves(self, start: int) -> bool:
        """Whether nothing but the end of the kernel is reached from a block."""
        seen: set[int] = set()
        waiting = [start]
        while waiting:
            index = waiting.pop()
            if index in seen:
                continue
            seen.add(index)
            block = self._control.blocks[index]
            for instruction in self._function.instructions[block.start : block.end]:
                if instruction.parts[0] in _EFFECTS:
                    return False
            waiting += block.following
        return True

    def _exit_varies(self, loop: Loop) -> bool:
        lasts = [self._function.instructions[self._control.blocks[latch].end - 1] for latch in loop.latches]
        return any(last.predicate in self._registers.varying for last in lasts if last.predicate is not None)

    def _continues(self, loop: Loop) -> Expr:
        """Whether the loop goes on after an iteration, where one conditional branch decides."""
        latch = self._control.blocks[loop.latches[0]]
        condition = self._registers.condition(latch) if len(loop.latches) == 1 else None
        if condition is None:
            return const(1)
        return condition if latch.taken == loop.head else negated(condition)
