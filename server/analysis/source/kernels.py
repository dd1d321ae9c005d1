"""The flow of a kernel in a unit: followed once, with the block shapes that it is looked at with."""

from collections.abc import Sequence

from tree_sitter import Node

from ..evaluation import Block, Evaluator
from ..expressions import const, constant, unknown
from ..flow import Flow, SharedArray
from . import syntax
from .environment import Frame, Pointer, Value
from .graph import Graph
from .launches import LaunchFacts
from .shapes import Constants, assumed_shapes, axes_used, launches_of, scheduled_shapes
from .statements import Statements, bind
from .types import declared_type
from .unit import Function, Unit

MAX_SHAPES = 2


def flow_of(
    unit: Unit, kernel: Function, source: str, launches: Sequence[LaunchFacts], constants: Constants
) -> Flow | None:
    """One kernel's flow; None where it uses `goto` or is too long."""
    graph = Graph(kernel.place)
    walker = Statements(unit, graph, kernel.file)
    walker.frame = _frame(unit, kernel, constants)
    for name, declaration in unit.shared.items():
        _file_scope_array(walker, name, declaration)
    walker.body(kernel)
    if not graph.complete:
        return None
    flow = Flow(kernel.name, "source", kernel.place, graph.nodes, _arrays(graph, walker.frame))
    launched = list(dict.fromkeys(launch.block for launch in launches if launch.block is not None))
    launched = launched or scheduled_shapes(source, kernel, constants)
    flow.blocks = tuple(launched[:MAX_SHAPES]) or _fitting(flow, assumed_shapes(unit, kernel, constants))
    flow.fits = bool(launched) or _fits(flow, flow.block)
    return flow


def _frame(unit: Unit, kernel: Function, constants: Constants) -> Frame:
    frame = Frame()
    values: list[Value] = []
    for parameter in kernel.parameters:
        kind = parameter.type
        if kind.is_address:
            extents = (None, *kind.extents[1:]) if len(kind.extents) > 1 else ()
            inner = tuple(
                None if extent is None else const(constants.number(extent) or 1) for extent in extents
            )
            pointer = Pointer(
                "global", parameter.name, const(0), kind.size_bytes, inner, volatile=kind.volatile
            )
            values.append(pointer)
        else:
            values.append(unknown(parameter.name, varying=False))
    bind(kernel, values, frame)
    for name, value in _template_values(unit, kernel, constants).items():
        frame.names[name] = const(value)
    return frame


def _template_values(unit: Unit, kernel: Function, constants: Constants) -> dict[str, int]:
    """Non-type template parameters: from the first launch that gives them, else a usual tile size."""
    found: dict[str, int] = {}
    for launch in reversed(launches_of(unit, kernel)):
        for name, node in zip(kernel.templates, launch.templates, strict=False):
            value = constants.number(node, launch.host)
            if name and value is not None:
                found[name] = value
    usual = 32 if "y" in axes_used(kernel, "threadIdx") else 256
    return {name: usual for name in kernel.templates if name} | found


def _file_scope_array(walker: Statements, name: str, declaration: Node) -> None:
    for declarator in syntax.fields(declaration, "declarator"):
        if syntax.declared(declarator) == name:
            walker.frame.names[name] = walker.array(name, declared_type(declaration, declarator), shared=True)


def _arrays(graph: Graph, frame: Frame) -> dict[str, SharedArray]:
    """The shared arrays that are accessed, with their extents where these are constant."""
    found: dict[str, SharedArray] = {}
    declared = {value.base: value for value in frame.names.values() if isinstance(value, Pointer)}
    for node in graph.nodes:
        access = node.access
        if access is None or access.space != "shared" or access.base in found:
            continue
        pointer = declared.get(access.base)
        extents = tuple(constant(extent) for extent in pointer.extents) if pointer is not None else ()
        found[access.base] = SharedArray(
            access.base, pointer.element_bytes if pointer is not None else None, extents
        )
    return found


def _fitting(flow: Flow, shapes: list[Block]) -> tuple[Block, ...]:
    """Of the assumed shapes the first under which every subscript of a shared array stays inside it, and of a kernel
    with two axes also the second: what depends on the shape must hold under both."""
    fitting = [shape for shape in shapes if _fits(flow, shape)]
    return tuple((fitting or shapes)[: 2 if shapes[0].y > 1 else 1])


def _fits(flow: Flow, shape: Block) -> bool:
    evaluator = Evaluator(shape)
    for node, access in flow.accesses("shared"):
        active, _ = evaluator.active(node.conditions)
        for index, extent in access.paths:
            if extent is None or not index.varying:
                continue
            values, size = evaluator.full(index), evaluator.full(extent)
            if values is not None and size is not None and bool(((values >= size) & active).any()):
                return False
    return True
