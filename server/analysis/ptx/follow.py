"""A PTX kernel's flow: its memory accesses and barriers in order, with addresses as symbolic values."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from ...reports.finding import Location
from ..evaluation import ROUND_SAMPLES, Block, Evaluator
from ..expressions import Expr, apply, symbol, symbols, unknown
from ..flow import Access, Flow, Guard, Kind, Node, SharedArray, Space
from .blocks import BasicBlock, control_of
from .guards import Guards
from .module import Function, Instruction, Place, Variable
from .operations import address, computed
from .registers import Registers
from .taint import destinations

_WIDTH = re.compile(r"^(?:[bfsu]|bf)(8|16|32|64|128)(?:x2)?$")
_ACCESSES: dict[str, Kind] = {"ld": "read", "ldu": "read", "st": "write", "atom": "atomic", "red": "atomic"}
_WARP = ("shfl", "vote", "match", "redux")
_UNORDERED = ("cp", "mbarrier", "call", "wgmma", "tcgen05", "stmatrix", "ldmatrix", "wmma", "cluster")
_SPACES: dict[str, Space] = {"shared": "shared", "global": "global", "local": "local"}
MAX_INSTRUCTIONS = 60_000

Where = Callable[[Place], Location]


@dataclass(frozen=True, slots=True)
class Names:
    """How a kernel is called in the source, its parameters in order, and where its PTX places are."""

    kernel: str
    parameters: tuple[str, ...]
    where: Where


def follow(function: Function, variables: Mapping[str, Variable], names: Names, block: Block) -> Flow | None:
    """The flow of a kernel looked at with one block shape; None for one that is empty or very long."""
    if not 0 < len(function.instructions) <= MAX_INSTRUCTIONS:
        return None
    return _Follower(function, {**variables, **function.variables}, names, block).run()


class _Follower:
    def __init__(
        self, function: Function, variables: Mapping[str, Variable], names: Names, block: Block
    ) -> None:
        self._function = function
        self._names = names
        self._evaluator = Evaluator(block)
        self._control = control_of(function)
        self._registers = Registers(function, self._control, {name: symbol(name) for name in variables})
        self._guards = Guards(function, self._control, self._registers, names.where)
        self._shared = {name: each for name, each in variables.items() if each.space == "shared"}
        self._pointers = _pointer_registers(function)
        self._nodes: list[Node] = []
        self._ends: dict[int, tuple[Node, Node]] = {}
        self._place = Location(file="")
        self._caller: Location | None = None
        self._held: tuple[Guard, ...] = ()
        self._loops: tuple[int, ...] = ()

    def run(self) -> Flow:
        """Walk the blocks, close the loops, link the nodes."""
        for index in self._control.order:
            self._block(self._control.blocks[index])
        self._registers.close()
        self._guards.close()
        self._link()
        arrays = {
            source_name(name): SharedArray(source_name(name), each.element_bytes or None, ())
            for name, each in self._shared.items()
        }
        start = self._nodes[0].place
        return Flow(self._names.kernel, "ptx", start, self._nodes, arrays, (self._evaluator.block,))

    def _block(self, block: BasicBlock) -> None:
        self._registers.begin(block)
        self._at(self._function.instructions[block.start])
        self._loops = tuple(loop.index for loop in self._control.around(block.index))
        self._held = self._guards.of(block, self._place)
        first = self._emit("join")
        count = len(self._nodes)
        for instruction in self._function.instructions[block.start : block.end]:
            self._step(instruction)
        chain = [first, *self._nodes[count:]]
        for before, after in pairwise(chain):
            before.following.append((after, None))
        self._ends[block.index] = (first, chain[-1])
        self._registers.end(block)

    def _at(self, instruction: Instruction) -> None:
        place = instruction.place
        if place is not None:
            self._place = self._names.where(place)
            self._caller = self._names.where(place.caller) if place.caller is not None else None

    def _emit(
        self,
        kind: Kind,
        name: str = "",
        access: Access | None = None,
        mask: Expr | None = None,
        guard: Guard | None = None,
    ) -> Node:
        held = (*self._held, guard) if guard is not None else self._held
        node = Node(kind, self._place, held, self._loops, access, self._caller, name, mask)
        self._nodes.append(node)
        return node

    def _step(self, instruction: Instruction) -> None:
        self._at(instruction)
        guard = self._predicate(instruction)
        kind = instruction.parts[0]
        if kind in _ACCESSES:
            self._memory(instruction, _ACCESSES[kind], guard)
        elif kind in ("bar", "barrier"):
            self._barrier(instruction, guard)
        elif kind in _WARP:
            mask = self._registers.read(instruction.operands[-1])
            self._emit("warp_operation", f"{kind}.sync", mask=mask, guard=guard)
        elif kind in _UNORDERED:
            self._emit("unknown_call", kind, guard=guard)
        self._compute(instruction, guard)

    def _predicate(self, instruction: Instruction) -> Guard | None:
        if instruction.predicate is None or instruction.parts[0] == "bra":
            return None
        value = self._registers.read(instruction.predicate)
        return Guard(apply("lnot", value) if instruction.negated else value, self._place)

    def _compute(self, instruction: Instruction, guard: Guard | None) -> None:
        targets = destinations(instruction)
        value = self._value(instruction) if len(targets) == 1 or instruction.parts[0] == "setp" else None
        for position, target in enumerate(targets):
            found = value if position == 0 and value is not None else self._registers.unknown(target)
            if position == 1 and value is not None and instruction.parts[0] == "setp":
                found = apply("lnot", value)
            if guard is not None:
                found = apply("select", guard.condition, found, self._registers.read(target))
            self._registers.write(target, found)

    def _value(self, instruction: Instruction) -> Expr | None:
        if instruction.opcode.startswith("ld.param"):
            return self._parameter(instruction)
        if instruction.parts[0] in ("ld", "ldu"):
            where = address(instruction.operands[1], self._registers.read)
            return unknown(f"{instruction.operands[0]}", varying=where.varying)
        return computed(instruction, self._registers.read)

    def _parameter(self, instruction: Instruction) -> Expr:
        text = instruction.operands[1].strip("[]")
        name, _, offset = text.partition("+")
        number = re.search(r"_param_(\d+)$", name)
        index = int(number.group(1)) if number is not None else -1
        known = self._names.parameters
        called = known[index] if 0 <= index < len(known) else f"parameter {index}"
        called += f"+{offset}" if offset else ""
        pointer = instruction.parts[-1].endswith("64") and instruction.operands[0] in self._pointers
        return symbol(called) if pointer else unknown(called, varying=False)

    def _memory(self, instruction: Instruction, kind: Kind, guard: Guard | None) -> None:
        parts = instruction.parts
        brackets = next((each for each in instruction.operands if each.startswith("[")), None)
        if brackets is None or "param" in parts or "const" in parts:
            return
        where = address(brackets, self._registers.read)
        bases = symbols(where)
        base = next(iter(bases)) if len(bases) == 1 else None
        named: list[Space] = [
            _SPACES[kind] for kind in (part.split("::")[0] for part in parts) if kind in _SPACES
        ]
        if base is None or "local" in named:
            return
        implied: Space = "shared" if base in self._shared else "global"
        space = named[0] if named else implied
        stored = self._registers.read(instruction.operands[-1]) if kind == "write" else None
        volatile = "volatile" in parts
        access = Access(space, source_name(base), where, _width(parts), stored=stored, volatile=volatile)
        self._emit(kind, instruction.opcode, access, guard=guard)

    def _barrier(self, instruction: Instruction, guard: Guard | None) -> None:
        parts = instruction.parts
        if "warp" in parts:
            self._emit(
                "warp_barrier", "__syncwarp", mask=self._registers.read(instruction.operands[-1]), guard=guard
            )
        elif (
            "arrive" in parts or ("red" not in parts and len(instruction.operands) > 1) or "cluster" in parts
        ):
            self._emit("unknown_call", instruction.opcode, guard=guard)
        else:
            self._emit("barrier", "__syncthreads", guard=guard)

    def _link(self) -> None:
        for index in self._control.order:
            block = self._control.blocks[index]
            for following in self._ways(block):
                loop = self._control.loops.get(following)
                back = loop.index if loop is not None and index in loop.blocks else None
                self._ends[index][1].following.append((self._ends[following][0], back))

    def _ways(self, block: BasicBlock) -> list[int]:
        """The blocks that may come next: a branch on sizes alone goes where it goes for usual sizes."""
        condition = self._registers.condition(block)
        if (
            condition is None
            or condition.varying
            or condition.loops
            or block.otherwise is None
            or block.taken is None
        ):
            return block.following
        values = self._evaluator.full(condition)
        usual = None if values is None else values[:ROUND_SAMPLES] != 0
        if usual is None or bool(usual.any()) != bool(usual.all()):
            return block.following
        return [block.taken if usual.all() else block.otherwise]


def source_name(name: str) -> str:
    """A variable's name in the source: the last identifier of a mangled one."""
    if not name.startswith("_Z"):
        return name
    found, rest = name, name[2:]
    while (match := re.search(r"(\d+)([A-Za-z_]\w*)", rest)) is not None:
        length = int(match.group(1))
        if length <= len(match.group(2)):
            found, rest = match.group(2)[:length], match.group(2)[length:]
        else:
            rest = match.group(2)
    return found


def _pointer_registers(function: Function) -> set[str]:
    """The registers loaded from 64-bit parameters that are made addresses (cvta) or added to as such."""
    return {
        instruction.operands[1]
        for instruction in function.instructions
        if instruction.parts[0] == "cvta" and len(instruction.operands) == 2
    }


def _width(parts: list[str]) -> int:
    element = next(
        (int(match.group(1)) // 8 for part in parts if (match := _WIDTH.match(part)) is not None), 4
    )
    element *= 2 if parts[-1].endswith("x2") and parts[-1] != "f32x2" else 1
    vector = next((int(part[1:]) for part in parts if re.fullmatch(r"v[248]", part)), 1)
    return element * vector
