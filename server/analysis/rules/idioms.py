"""Findings for idioms: waiting on memory, warp functions that are gone, masks of who happens to be active, aliasing."""

import re

from tree_sitter import Node

from ...reports.finding import Finding
from ..flow import Flow
from ..source import syntax
from ..source.unit import Function, Unit, location

_LEGACY = re.compile(r"^__(?:shfl(?:_up|_down|_xor)?|ballot|any|all)$")
_ATOMIC_WAIT = re.compile(r"\batomic(?:CAS|Exch|Add|Or)\s*\(")


def idiom_findings(unit: Unit) -> list[Finding]:
    """The findings of every kernel and device function."""
    found: list[Finding] = []
    for function in unit.of_role("kernel", "device"):
        for node in function.nodes("call_expression"):
            found += _warp_function(function, node)
        for node in function.nodes("while_statement", "for_statement", "do_statement"):
            found += _spin(function, node)
    return found


def _warp_function(function: Function, node: Node) -> list[Finding]:
    name = syntax.called(node)
    if _LEGACY.match(name):
        return [
            Finding(
                rule="source/legacy-warp-function",
                severity="error",
                confidence="certain",
                message=f"{name}() does not exist from compute capability 7.0 on.",
                kernel=function.name,
                location=location(function.file, node),
                suggestion=f"Use {name}_sync(mask, ...), the mask naming every lane that comes.",
                confirm="compile",
            )
        ]
    mask = next(iter(syntax.arguments(node)), None)
    if name.startswith("__") and name.endswith("_sync") and "__activemask" in syntax.text(mask):
        return [
            Finding(
                rule="source/active-mask",
                severity="note",
                confidence="possible",
                message="__activemask() tells who is here by chance: lanes of one branch may arrive apart.",
                kernel=function.name,
                location=location(function.file, node),
                suggestion="Make the mask before the branch with __ballot_sync(), or use a full mask in converged code.",
                confirm="debug checks=[synccheck]",
            )
        ]
    return []


def _spin(function: Function, node: Node) -> list[Finding]:
    condition, body = syntax.field(node, "condition"), syntax.field(node, "body")
    waits = body is not None and not _acts(body)
    memory = condition is not None and _reads_memory(condition)
    if not waits or not memory or condition is None:
        return []
    volatile = _is_volatile(function, condition)
    lock = bool(_ATOMIC_WAIT.search(syntax.text(condition)))
    hoisted = "" if volatile or lock else ", and the compiler may read it only once"
    return [
        Finding(
            rule="source/spin-wait",
            severity="note" if lock else "warning",
            confidence="possible" if lock else "likely",
            message=f"This loop waits for another thread to change memory: it hangs where that one cannot run{hoisted}.",
            kernel=function.name,
            location=location(function.file, node),
            evidence={"volatile": volatile, "atomic": lock},
            suggestion="Split the kernel at this point, launch cooperatively (grid.sync()), or bound the wait.",
            confirm="debug: the run ends at its deadline",
        )
    ]


def _acts(body: Node) -> bool:
    """Whether a loop's body does anything but wait."""
    for node in syntax.walk(body):
        if node.type in ("assignment_expression", "update_expression", "return_statement", "break_statement"):
            return True
        if node.type == "call_expression" and syntax.called(node) not in (
            "__nanosleep",
            "__threadfence",
            "__syncwarp",
        ):
            return True
    return False


def _reads_memory(condition: Node) -> bool:
    if _ATOMIC_WAIT.search(syntax.text(condition)):
        return True
    return any(
        node.type == "subscript_expression"
        or (node.type == "pointer_expression" and node.children[0].type == "*")
        for node in syntax.walk(condition)
    )


def _is_volatile(function: Function, condition: Node) -> bool:
    names = {syntax.text(node) for node in syntax.walk(condition) if node.type == "identifier"}
    return any(parameter.type.volatile for parameter in function.parameters if parameter.name in names)


def restrict_finding(function: Function, flow: Flow) -> Finding | None:
    """A kernel that reads one pointer in a loop while it writes another, none of them declared __restrict__."""
    pointers = [parameter for parameter in function.parameters if parameter.type.is_address]
    if len(pointers) < 2 or any(parameter.type.restrict for parameter in pointers):
        return None
    read = {access.base for node, access in flow.accesses("global") if node.kind == "read" and node.loops}
    written = {access.base for node, access in flow.accesses("global") if node.kind == "write" and node.loops}
    if not written or not read - written:
        return None
    names = ", ".join(parameter.name for parameter in pointers)
    return Finding(
        rule="source/missing-restrict",
        severity="note",
        confidence="possible",
        message=f"The compiler must assume that {names} overlap: after each store in the loop it loads again.",
        kernel=flow.kernel,
        location=function.place,
        evidence={"pointers": [parameter.name for parameter in pointers]},
        suggestion="Declare pointers that never overlap __restrict__, inputs also const.",
        confirm="compare before and after",
    )
