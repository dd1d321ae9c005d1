"""Double-precision arithmetic that a kernel without doubles runs by accident, from its PTX."""

from ...reports.finding import Finding, Location
from ...toolchain.demangle import demangle
from ..origins import Origins
from ..source.layer import KernelSource, names_double
from .kernels import PtxKernel
from .module import Instruction
from .places import LIBRARY, NOWHERE, where

# sinf, cosf and tanf of large arguments multiply by pi * 2^-65 in double precision: not the kernel's doing.
_TRIGONOMETRIC_REDUCTION = "0d3BF921FB54442D19"
_REDUCTION_INSTRUCTIONS = 3
_COPIES = ("ld", "st", "mov", "selp")


def double_precision_findings(
    kernel: PtxKernel, source: KernelSource | None, origins: Origins
) -> list[Finding]:
    """One finding, at the first line of such arithmetic, where the source names no double."""
    if source is None or source.uses_double or names_double(demangle(kernel.mangled)):
        return []
    lines: dict[tuple[str, int | None], list[Instruction]] = {}
    places: dict[tuple[str, int | None], Location] = {}
    for instruction in kernel.function.instructions:
        if "f64" not in instruction.parts or instruction.parts[0] in _COPIES or instruction.place is None:
            continue
        place = where(origins, instruction.place)
        if place not in (NOWHERE, LIBRARY):
            places.setdefault((place.file, place.line), place)
            lines.setdefault((place.file, place.line), []).append(instruction)
    counts = {key: _own(instructions) for key, instructions in lines.items()}
    held = [places[key] for key, count in counts.items() if count > 0]
    total = sum(max(0, count) for count in counts.values())
    if not held:
        return []
    return [
        Finding(
            rule="ptx/double-precision",
            severity="warning",
            confidence="certain",
            message=f"{total} double-precision instructions in a kernel that declares no double.",
            kernel=kernel.name,
            location=held[0],
            related=tuple(held[1:]),
            evidence={"instructions": total, "lines": [place.line for place in held]},
            suggestion="Write literals with f (1.5f) and call the float functions (powf, sqrtf).",
            confirm="profile: sm__inst_executed_pipe_fp64",
        )
    ]


def _own(instructions: list[Instruction]) -> int:
    """How many of a line's are not of the float functions themselves."""
    reductions = sum(_TRIGONOMETRIC_REDUCTION in each.operands for each in instructions)
    return len(instructions) - _REDUCTION_INSTRUCTIONS * reductions
