"""What host code says of each launch: its shape, the scalars and the sizes of the buffers it passes, where constant."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from ...reports.finding import Location
from ..evaluation import Block
from . import syntax
from .shapes import MAX_THREADS, Constants, block_of, dimensions, launches_of
from .unit import Function, Launch, Unit, location

_ALLOCATIONS = ("cudaMalloc", "cudaMallocManaged", "cudaMallocAsync")
_ROUNDS_UP = re.compile(r"ceil|div_?up|cdiv|round_?up|-\s*1\s*\)\s*/|\+\s*\w+\s*\)\s*/", re.IGNORECASE)
_ROUNDS_DOWN = re.compile(r"^[^/+]*/[^/+]*$")


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """One launch. `grid` and `block` are None where not constant; `grid_texts` are the grid's extents as written.

    `scalars` and `buffer_bytes` are by the kernel's parameter names; `threads` is the block's size, also above the limit.
    """

    place: Location
    block: Block | None
    grid: tuple[int, int, int] | None
    grid_texts: tuple[str, ...]
    threads: int | None
    dynamic_shared_bytes: int | None
    scalars: Mapping[str, int] = field(default_factory=dict[str, int])
    buffer_bytes: Mapping[str, int] = field(default_factory=dict[str, int])

    def rounds_up(self, axis: str) -> bool | None:
        """Whether the grid's extent on an axis may cover more than the data; None where the text does not say."""
        index = "xyz".index(axis)
        text = self.grid_texts[index] if index < len(self.grid_texts) else "1"
        if _ROUNDS_UP.search(text):
            return True
        return False if _ROUNDS_DOWN.match(text) or text.isdigit() else None


def launch_facts(unit: Unit, kernel: Function, constants: Constants) -> list[LaunchFacts]:
    """The facts of every launch of a kernel."""
    return [_facts(launch, kernel, constants) for launch in launches_of(unit, kernel)]


def _facts(launch: Launch, kernel: Function, constants: Constants) -> LaunchFacts:
    host = launch.host
    block, grid = constants.extents(launch.block, host), constants.extents(launch.grid, host)
    shape = None if block is None else block_of(block)
    sizes = _allocated(host, constants)
    scalars: dict[str, int] = {}
    buffers: dict[str, int] = {}
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False):
        if parameter.type.is_address:
            size = sizes.get(syntax.text(argument))
            if size is not None:
                buffers[parameter.name] = size
        else:
            value = constants.number(argument, host)
            if value is not None:
                scalars[parameter.name] = value
    texts = tuple(_written(part, host) for part in dimensions(launch.grid, host))
    return LaunchFacts(
        location(host.file, launch.node),
        shape if shape is not None and 0 < shape.size <= MAX_THREADS else None,
        None if grid is None else (*grid, 1, 1)[:3],  # type: ignore[arg-type]  # three by construction
        texts,
        None if shape is None else shape.size,
        constants.number(launch.shared, host) if launch.shared is not None else 0,
        scalars,
        buffers,
    )


def _written(node: Node, host: Function) -> str:
    """The text of an extent; of a variable the text that it is initialised with."""
    text = syntax.text(node)
    if node.type != "identifier":
        return text
    for child in host.nodes("init_declarator"):
        if syntax.declared(syntax.field(child, "declarator")) == text:
            return syntax.text(syntax.field(child, "value"))
    return text


def _allocated(host: Function, constants: Constants) -> dict[str, int]:
    """Bytes of every device buffer that a host function allocates once, by variable."""
    found: dict[str, int | None] = {}
    for node in host.nodes("call_expression"):
        if syntax.called(node) not in _ALLOCATIONS:
            continue
        given = syntax.arguments(node)
        if len(given) >= 2:
            name = re.sub(r"^\(\s*void\s*\*\*\s*\)|[&\s]", "", syntax.text(given[0]))
            found[name] = None if name in found else constants.number(given[1], host)
    return {name: size for name, size in found.items() if size is not None and size > 0}
