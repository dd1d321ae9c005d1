"""Findings for accesses outside their array, and for indices that nothing bounds."""

from collections.abc import Iterable, Sequence

from ...reports.finding import Confidence, Finding, Location, Severity
from ..bounds import (
    LARGEST_INT,
    Overrun,
    beyond_32_bits,
    negative,
    off_by_one,
    overrun,
    shared_overruns,
    unbounded_axes,
)
from ..evaluation import Evaluator
from ..expressions import leaves
from ..flow import Access, Flow, Node
from ..source.launches import LaunchFacts
from .patterns import listed

_CONFIRM = "debug checks=[memcheck]"


def bounds_findings(flow: Flow, launches: Sequence[LaunchFacts], sizes: Iterable[str]) -> list[Finding]:
    """Proved overruns first, then what the form of the code gives away; `sizes` are the kernel's integer parameters."""
    found = _proved(flow, launches)
    told = {(finding.location.file, finding.location.line) for finding in found if finding.location}
    evaluator = Evaluator(flow.block, facts={f"ctaid:{axis}": 0 for axis in "xyz"})
    for node, access in flow.accesses("global"):
        place = node.in_kernel
        finding = _by_form(flow, evaluator, node, access)
        if finding is not None and (place.file, place.line) not in told:
            found.append(finding)
            told.add((place.file, place.line))
    found += _unguarded(flow, launches, set(sizes), told)
    return found + [_shared(flow, *each) for each in shared_overruns(flow)]


def _proved(flow: Flow, launches: Sequence[LaunchFacts]) -> list[Finding]:
    lines: dict[tuple[str, int | None], tuple[LaunchFacts, list[Overrun]]] = {}
    for launch in launches:
        if launch.block is None or launch.grid is None or not launch.buffer_bytes:
            continue
        for each in overrun(flow, launch.block, launch.grid, launch.scalars, launch.buffer_bytes):
            place = each.node.in_kernel
            lines.setdefault((place.file, place.line), (launch, []))[1].append(each)
    return [_overrun(flow, launch, group) for launch, group in lines.values()]


def overflow_findings(flow: Flow, launches: Sequence[LaunchFacts]) -> list[Finding]:
    """Indices of a kernel without 64-bit integers that a launch takes beyond 2^31, one per line."""
    found: dict[tuple[str, int | None], Finding] = {}
    for launch in launches:
        if launch.block is None or launch.grid is None:
            continue
        for node, access, index in beyond_32_bits(flow, launch.block, launch.grid, launch.scalars):
            place = node.in_kernel
            found.setdefault((place.file, place.line), _overflow(flow, launch, node, access, index))
    return list(found.values())


def _overflow(flow: Flow, launch: LaunchFacts, node: Node, access: Access, index: int) -> Finding:
    return Finding(
        rule=f"{flow.layer}/index-overflow",
        severity="error",
        confidence="certain",
        message=f"The index into {access.base} reaches {index:,}, but 32 bits hold no more than {LARGEST_INT:,}.",
        kernel=flow.kernel,
        location=node.in_kernel,
        related=(launch.place,),
        evidence={
            "array": access.base,
            "index": index,
            "grid": list(launch.grid or ()),
            "block": str(launch.block),
        },
        suggestion="Compute it in size_t: static_cast<size_t>(row) * width + column.",
        confirm=_CONFIRM,
    )


def _overrun(flow: Flow, launch: LaunchFacts, group: list[Overrun]) -> Finding:
    shown = group[0]
    guarded = not any(unbounded_axes(each.node, each.access) for each in group)
    names = listed(sorted({each.access.base for each in group}))
    block = ",".join(str(place) for place in shown.block)
    side = "before the start" if shown.byte < 0 else f"of {shown.size_bytes:,} bytes"
    return Finding(
        rule=f"{flow.layer}/{'out-of-bounds' if guarded else 'unguarded-index'}",
        severity="error",
        confidence="certain",
        message=f"Out of bounds: block ({block}) thread {shown.thread} touches byte {shown.byte:,} of {names} ({side}).",
        kernel=flow.kernel,
        location=shown.node.in_kernel,
        related=_inner(group[0].node for group in [group]),
        evidence={
            "arrays": sorted({each.access.base for each in group}),
            "byte": shown.byte,
            "size_bytes": shown.size_bytes,
            "block_index": list(shown.block),
            "thread": shown.thread,
            "launch_line": launch.place.line,
            "grid": list(launch.grid or ()),
            "block": str(launch.block),
        },
        suggestion="Guard it: if (index < size) around every access."
        if not guarded
        else "Tighten the guard to the size.",
        confirm=_CONFIRM,
    )


def _inner(nodes: Iterable[Node]) -> tuple[Location, ...]:
    return tuple(node.place for node in nodes if node.caller is not None)


def _by_form(flow: Flow, evaluator: Evaluator, node: Node, access: Access) -> Finding | None:
    bound = off_by_one(node, access)
    if bound is not None:
        return _suspect(
            flow,
            node,
            "off-by-one",
            f"The guard lets the index equal {bound.value}, one past the last element of {access.base}.",
            f"Use < {bound.value}.",
        )
    if negative(evaluator, node, access):
        return _suspect(
            flow,
            node,
            "negative-index",
            f"Block 0 reaches an element before {access.base}[0]: nothing keeps its first threads away.",
            "Guard the first elements (index > 0), or pad the array.",
        )
    return None


def _suspect(flow: Flow, node: Node, rule: str, message: str, fix: str) -> Finding:
    return Finding(
        rule=f"{flow.layer}/{rule}",
        severity="warning",
        confidence="likely",
        message=message,
        kernel=flow.kernel,
        location=node.in_kernel,
        related=_inner([node]),
        suggestion=fix,
        confirm=_CONFIRM,
    )


def _unguarded(
    flow: Flow, launches: Sequence[LaunchFacts], sizes: set[str], told: set[tuple[str, int | None]]
) -> list[Finding]:
    lines: dict[tuple[str, int | None], list[Node]] = {}
    judged: tuple[Severity, Confidence] | None = None
    for node, access in flow.accesses("global"):
        axes = unbounded_axes(node, access)
        place = node.in_kernel
        verdict = _judge(flow, axes, launches, sizes) if axes else None
        if verdict is not None and (place.file, place.line) not in told:
            lines.setdefault((place.file, place.line), []).append(node)
            judged = verdict
    if judged is None or not lines:
        return []
    nodes = [node for group in lines.values() for node in group]
    names = listed(sorted({node.access.base for node in nodes if node.access}))
    return [
        Finding(
            rule=f"{flow.layer}/unguarded-index",
            severity=judged[0],
            confidence=judged[1],
            message=f"Nothing keeps threads past the end from {names}: the index has no bound on the way.",
            kernel=flow.kernel,
            location=nodes[0].in_kernel,
            related=tuple(group[0].in_kernel for group in list(lines.values())[1:]) + _inner(nodes[:1]),
            evidence={"launch_rounds_up": [launch.place.line for launch in launches] or None},
            suggestion=f"Guard it: if (index < {min(sizes, default='size')}) around every access.",
            confirm=_CONFIRM,
        )
    ]


def _judge(
    flow: Flow, axes: set[str], launches: Sequence[LaunchFacts], sizes: set[str]
) -> tuple[Severity, Confidence] | None:
    """How sure it is that the grid may cover more than the data: by its launches, else by an unused size."""
    if launches:
        return (
            ("warning", "likely")
            if any(launch.rounds_up(axis) for launch in launches for axis in axes)
            else None
        )
    used = {name for node in flow.nodes for name in _sizes_used(node)}
    if not sizes:
        return None
    return ("warning", "likely") if not sizes & used else ("note", "possible")


def _sizes_used(node: Node) -> set[str]:
    expressions = [*node.conditions, *([node.access.address] if node.access else [])]
    return {name for each in expressions for op, name in leaves(each) if op == "uniform"}


def _shared(flow: Flow, node: Node, access: Access, array: object, thread: int, element: int) -> Finding:
    size = getattr(array, "elements", None)
    return Finding(
        rule=f"{flow.layer}/shared-out-of-bounds",
        severity="error",
        confidence="certain",
        message=f"Thread {thread} touches element {element} of shared {access.base}, which has {size}.",
        kernel=flow.kernel,
        location=node.place,
        related=(node.caller,) if node.caller else (),
        evidence={
            "array": access.base,
            "element": element,
            "elements": size,
            "thread": thread,
            "block": str(flow.block),
        },
        suggestion="Enlarge the array, or guard the index.",
        confirm=_CONFIRM,
    )
