"""The block shapes of a kernel: from the launches, the schedule and the bounds in its source, else assumed."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tree_sitter import Node

from ...reports.finding import Location
from ..evaluation import Block
from ..expressions import constant
from . import schedule, syntax
from .graph import Graph
from .statements import Statements
from .unit import Function, Launch, Unit

_TILE_NAME = re.compile(r"tile|block|bs|bm|bn|dim|threads|width", re.IGNORECASE)
# dim3 block(X, Y); reads as a function's declaration, k<N> as one with a type.
_NAMES_READ_AS_TYPES = ("parameter_declaration", "type_identifier", "type_descriptor")
_PLAIN = (256, 128, 64, 32)
_SQUARE = (32, 16, 8)
MAX_THREADS = 1024


class Constants:
    """Evaluates constant expressions of host code and schedules: macros, constants, literals, single-assigned locals."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._hosts: dict[Function | None, Statements] = {}

    def number(self, node: Node | None, host: Function | None = None) -> int | None:
        """The value of an expression, None where it is not constant."""
        if node is None:
            return None
        if node.type in _NAMES_READ_AS_TYPES:
            return self.text(syntax.text(node), host)
        return constant(self._reader(host).number(node))

    def text(self, expression: str, host: Function | None = None) -> int | None:
        """The same of an expression given as text."""
        return self.number(syntax.parse_expression(expression), host)

    def extents(self, node: Node | None, host: Function) -> tuple[int, ...] | None:
        """The extents of a grid or block: of a number, a `dim3(...)`, or a variable that is one."""
        values = [self.number(part, host) for part in dimensions(node, host)]
        known = [value for value in values if value is not None and value > 0]
        return tuple(known) if known and len(known) == len(values) else None

    def _reader(self, host: Function | None) -> Statements:
        reader = self._hosts.get(host)
        if reader is None:
            reader = Statements(self._unit, Graph(Location(file=self._unit.main)), self._unit.main)
            self._hosts[host] = reader
            for name, value in _locals(host).items() if host is not None else ():
                reader.frame.names[name] = reader.number(value)
        return reader


def dimensions(node: Node | None, host: Function) -> list[Node]:
    """The nodes of the extents of a grid or block: of one number, a `dim3`, or a variable that is one."""
    if node is None:
        return []
    if node.type == "call_expression" and syntax.called(node) == "dim3":
        return syntax.arguments(node)
    if node.type == "initializer_list":
        return node.named_children
    if node.type == "identifier":
        declared = _dim3(host, syntax.text(node))
        if declared is not None:
            return declared
    return [node]


def _dim3(host: Function, name: str) -> list[Node] | None:
    for declaration in host.nodes("declaration"):
        if syntax.text(syntax.field(declaration, "type")) != "dim3":
            continue
        for declarator in syntax.fields(declaration, "declarator"):
            if syntax.declared(declarator) == name:
                value = syntax.field(declarator, "value")
                parts = syntax.field(declarator, "parameters") if value is None else value
                if parts is None:
                    return None
                return dimensions(parts, host) if parts.type == "call_expression" else parts.named_children
    return None


def _locals(host: Function) -> dict[str, Node]:
    """The host's variables that are initialised once and never assigned again."""
    found: dict[str, Node] = {}
    assigned: set[str] = set()
    for node in host.nodes("init_declarator", "assignment_expression", "update_expression"):
        if node.type == "init_declarator":
            value = syntax.field(node, "value")
            if value is not None and value.type not in ("argument_list", "lambda_expression"):
                found[syntax.declared(syntax.field(node, "declarator"))] = value
        else:
            assigned.add(syntax.text(syntax.field(node, "left") or syntax.field(node, "argument")))
    return {name: value for name, value in found.items() if name not in assigned}


def launches_of(unit: Unit, kernel: Function) -> list[Launch]:
    """The launches of a kernel."""
    return [launch for launch in unit.launches if launch.kernel == kernel.name]


def scheduled_shapes(source: str, kernel: Function, constants: Constants) -> list[Block]:
    """The block shapes that the schedule in a source's comments gives a kernel."""
    blocks = [block for name, block in schedule.launches(source) if name == kernel.name]
    extents = [[constants.text(extent) for extent in block] for block in blocks]
    known = [[extent for extent in each if extent is not None and extent > 0] for each in extents]
    shapes = [
        block_of(each) for each, given in zip(known, extents, strict=True) if each and len(each) == len(given)
    ]
    return [shape for shape in shapes if shape.size <= MAX_THREADS]


def block_of(extents: Sequence[int]) -> Block:
    """The block of one to three extents."""
    x, y, z = (*extents, 1, 1)[:3]
    return Block(x, y, z)


def assumed_shapes(unit: Unit, kernel: Function, constants: Constants) -> list[Block]:
    """Plausible shapes for a kernel that nothing launches, most plausible first: by how it computes its indices, its
    launch bounds, tile constants and the axes it uses."""
    used = axes_used(kernel, "threadIdx") | axes_used(kernel, "blockDim")
    bound = _launch_bound(kernel, constants)
    strides = _index_strides(kernel, constants)
    if "z" in used:
        shapes = [Block(8, 8, 4), Block(4, 4, 4)]
    elif "y" in used:
        shapes = _plane_shapes(_tile_sizes(unit, constants), strides, bound)
    else:
        plain = [
            bound,
            strides.get("x"),
            *(tile for tile in _tile_sizes(unit, constants) if tile >= 32),
            *_PLAIN,
        ]
        shapes = [Block(count) for count in plain if count is not None]
    shapes = _indirect_shapes(unit, constants) + shapes
    known = [
        replace(shape, assumed=True)
        for shape in dict.fromkeys(shapes)
        if shape.size <= (bound or MAX_THREADS)
    ]
    return known or [Block(32, assumed=True)]


def _plane_shapes(tiles: list[int], strides: dict[str, int], bound: int | None) -> list[Block]:
    """Shapes with two axes: those whose rows are as wide as the index says first, then squares, then flatter ones."""
    shapes: list[Block] = []
    wide, high = strides.get("x"), strides.get("y")
    if wide is not None and bound is not None and bound % wide == 0:
        shapes.append(Block(wide, bound // wide))
    if wide is not None and high is not None:
        shapes.append(Block(wide, high))
    sides = list(dict.fromkeys([*(tile for tile in tiles if tile <= 32), *_SQUARE]))
    rest = [Block(side, side) for side in sides] + [
        Block(x, y) for x in sides for y in (16, 8, 4, 2) if y < x
    ]
    return shapes + sorted(rest, key=lambda shape: bound is not None and shape.size != bound)


def _index_strides(kernel: Function, constants: Constants) -> dict[str, int]:
    """How far apart blocks are along each axis where an index is `blockIdx.x * STRIDE + threadIdx.x`."""
    found: dict[str, int] = {}
    for node in kernel.nodes("binary_expression"):
        left, right = syntax.field(node, "left"), syntax.field(node, "right")
        if syntax.text(syntax.field(node, "operator")) != "+" or left is None or right is None:
            continue
        for product, thread in ((left, right), (right, left)):
            axis = re.fullmatch(r"threadIdx\.([xyz])", syntax.text(thread))
            if axis is None or product.type != "binary_expression":
                continue
            sides = [syntax.field(product, "left"), syntax.field(product, "right")]
            named = [side for side in sides if syntax.text(side) != f"blockIdx.{axis[1]}"]
            value = constants.number(named[0]) if len(named) == 1 else None
            if value is not None and 0 < value <= MAX_THREADS:
                found.setdefault(axis[1], value)
    return found


def _indirect_shapes(unit: Unit, constants: Constants) -> list[Block]:
    """The shapes of launches through a function pointer: of which kernel is not known."""
    found = [
        constants.extents(launch.block, launch.host)
        for launch in unit.launches
        if launch.kernel not in unit.functions
    ]
    return [block_of(extents) for extents in found if extents is not None]


def axes_used(kernel: Function, built_in: str) -> set[str]:
    """Which axes of a built-in a kernel's text uses."""
    return set(re.findall(rf"\b{built_in}\s*\.\s*([xyz])\b", syntax.text(kernel.body)))


def _tile_sizes(unit: Unit, constants: Constants) -> list[int]:
    names: Iterable[str] = [*unit.macros, *unit.constants]
    values = [constants.text(name) for name in names if _TILE_NAME.search(name)]
    return [value for value in values if value in (4, 8, 16, 32, 64, 128, 256, 512, 1024)]


def _launch_bound(kernel: Function, constants: Constants) -> int | None:
    node = next((child for child in kernel.node.children if child.type == "launch_bounds"), None)
    value = constants.number(node.named_children[0]) if node is not None and node.named_children else None
    return value if value is not None and 0 < value <= MAX_THREADS else None
