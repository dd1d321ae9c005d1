"""Findings in host code: launches and API calls whose errors nobody looks at, launches that cannot work."""

import re
from collections.abc import Sequence

from tree_sitter import Node

from ...reports.finding import Finding, Severity
from ..source import syntax
from ..source.launches import LaunchFacts
from ..source.shapes import MAX_THREADS
from ..source.unit import Function, Unit, location

MAX_DYNAMIC_SHARED_BYTES = 232_448
_CHECKS = re.compile(r"check|^ck|err|assert|safe|require|expect|guard", re.IGNORECASE)
_STATUS = ("cudaGetLastError", "cudaPeekAtLastError", "getLastCudaError")
_SYNCHRONISING = re.compile(
    r"^cuda(?:Device|Stream|Event|Thread)Synchronize$|^cudaMemcpy\w*$|^cudaStreamQuery$"
)
_API = re.compile(r"^cuda(?:Malloc|Memcpy|Memset|Stream|Event|Func|Device|Graph)\w*$")
_HARMLESS = re.compile(r"Destroy|Free|Reset|GetAttribute|ElapsedTime|Synchronize|Record")


def host_findings(unit: Unit, *, is_program: bool) -> list[Finding]:
    """Unchecked launches and API calls of every host function."""
    found: list[Finding] = []
    for function in unit.of_role("host"):
        launches = [launch.node for launch in unit.launches if launch.host is function]
        found += _unchecked_launch(function, launches, is_program=is_program)
        found += _unchecked_calls(function)
    return found


def launch_findings(kernel: str, launches: Sequence[LaunchFacts], layer: str = "source") -> list[Finding]:
    """Launches whose shape or shared memory no GPU takes."""
    found: list[Finding] = []
    for launch in launches:
        problem = _impossible(launch)
        if problem:
            found.append(
                Finding(
                    rule=f"{layer}/invalid-launch",
                    severity="error",
                    confidence="certain",
                    message=f"This launch fails: {problem}.",
                    kernel=kernel,
                    location=launch.place,
                    evidence={"threads": launch.threads, "dynamic_shared_bytes": launch.dynamic_shared_bytes},
                    suggestion="Launch smaller blocks with more of them, or use less shared memory.",
                    confirm="debug: cudaGetLastError after the launch",
                )
            )
    return found


def _impossible(launch: LaunchFacts) -> str:
    if launch.threads is not None and launch.threads > MAX_THREADS:
        return f"{launch.threads:,} threads in a block, {MAX_THREADS:,} are the limit"
    if launch.dynamic_shared_bytes is not None and launch.dynamic_shared_bytes > MAX_DYNAMIC_SHARED_BYTES:
        return f"{launch.dynamic_shared_bytes:,} bytes of dynamic shared memory, {MAX_DYNAMIC_SHARED_BYTES:,} at most"
    return ""


def _unchecked_launch(function: Function, launches: list[Node], *, is_program: bool) -> list[Finding]:
    unchecked = [node for node in launches if not _checked_after(function, node)]
    if not unchecked:
        return []
    count = f" ({len(unchecked)} launches)" if len(unchecked) > 1 else ""
    severity: Severity = "warning" if is_program else "note"
    return [
        Finding(
            rule="source/unchecked-launch",
            severity=severity,
            confidence="certain",
            message=f"Nobody looks whether this launch worked{count}: a failed one leaves no trace.",
            location=location(function.file, unchecked[0]),
            related=tuple(location(function.file, node) for node in unchecked[1:]),
            evidence={"launches": len(unchecked), "function": function.name},
            suggestion="Check cudaGetLastError() after the launch and the result of the next synchronisation.",
            confirm="debug: did each kernel really run",
        )
    ]


def _checked_after(function: Function, launch: Node) -> bool:
    for node in function.nodes("call_expression"):
        if node.start_byte < launch.start_byte or node.id == launch.id:
            continue
        name = syntax.called(node)
        if name in _STATUS or (_CHECKS.search(name) and not name.startswith("cuda")):
            return True
        if _SYNCHRONISING.match(name) and _used(node):
            return True
    return any(
        child.type == "call_expression" and _CHECKS.search(syntax.called(child)) for child in _around(launch)
    )


def _around(node: Node) -> list[Node]:
    found: list[Node] = []
    current = node.parent
    while current is not None:
        found.append(current)
        current = current.parent
    return found


def _used(call: Node) -> bool:
    """Whether a call's result goes anywhere."""
    return call.parent is not None and call.parent.type not in ("expression_statement", "comma_expression")


def _unchecked_calls(function: Function) -> list[Finding]:
    ignored: list[Node] = []
    for node in function.nodes("call_expression"):
        if not _used(node):
            name = syntax.called(node)
            if _API.match(name) and not _HARMLESS.search(name):
                ignored.append(node)
    if not ignored:
        return []
    lines = sorted({node.start_point[0] + 1 for node in ignored})
    return [
        Finding(
            rule="source/unchecked-call",
            severity="note",
            confidence="certain",
            message=f"The results of {len(ignored)} CUDA calls are ignored, first {syntax.called(ignored[0])}().",
            location=location(function.file, ignored[0]),
            evidence={"calls": len(ignored), "lines": lines, "function": function.name},
            suggestion="Wrap each in a macro that checks its cudaError_t.",
            confirm="debug: API errors",
        )
    ]
