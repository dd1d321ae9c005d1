"""Findings in the machine code: spilled registers, local arrays, narrow accesses that could be one wide one."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from ..reports.compilation import KernelResources
from ..reports.finding import Finding, Location, Severity
from ..toolchain.nvdisasm import SassFunction, SassInstruction, code
from .instruction_mix import width_bits
from .origins import Origins

MIN_NARROW = 4
_ADDRESS = re.compile(r"\[(?P<base>[UR]+\d+(?:\.\w+)*(?:\.?[UR]*\d*)?)(?:\+(?P<offset>-?0x[0-9a-f]+))?\]")


def machine_findings(
    function: SassFunction, kernel: str, resources: KernelResources | None, origins: Origins
) -> list[Finding]:
    """The findings of one kernel; `resources` are what ptxas said of it."""
    instructions = list(code(function))
    local = [each for each in instructions if each.opcode.split(".")[0] in ("LDL", "STL")]
    spills = [each for each in local if each.is_spill]
    bytes_spilled = (
        0 if resources is None else (resources.spill_store_bytes or 0) + (resources.spill_load_bytes or 0)
    )
    if not spills and bytes_spilled:  # tools before 12.x do not mark spills
        spills = local
    others = [each for each in local if each not in spills]
    found = [_spill(spills, kernel, resources, origins)] if spills else []
    found += [_local_array(others, kernel, origins)] if others else []
    return found + _narrow(instructions, kernel, origins)


def _place(instruction: SassInstruction, origins: Origins) -> Location | None:
    place = instruction.place
    return (
        None
        if place is None
        else origins.location([(place.file, place.line, None), *((*at, None) for at in place.callers)])
    )


def _lines(instructions: Iterable[SassInstruction], origins: Origins) -> list[tuple[Location, int]]:
    """Lines by how many of the instructions they have, most first."""
    counts = Counter(place for each in instructions if (place := _place(each, origins)) is not None)
    return counts.most_common()


def _spill(
    spills: Sequence[SassInstruction], kernel: str, resources: KernelResources | None, origins: Origins
) -> Finding:
    lines = _lines(spills, origins)
    stores = sum(each.opcode.startswith("STL") for each in spills)
    told = f"{stores} spill stores and {len(spills) - stores} spill loads"
    if resources is not None and resources.spill_store_bytes is not None:
        told += f" ({resources.spill_store_bytes:,} + {resources.spill_load_bytes or 0:,} bytes per thread)"
    bound = resources.max_threads if resources is not None else None
    loosen = (
        f"Allow more registers (launch bounds of {bound} threads cap them)"
        if bound
        else "Allow more registers"
    )
    return Finding(
        rule="sass/register-spill",
        severity="warning",
        confidence="certain",
        message=f"Registers spill to local memory: {told}, most at this line.",
        kernel=kernel,
        location=lines[0][0] if lines else None,
        related=tuple(place for place, _ in lines[1:4]),
        evidence={
            "spill_stores": stores,
            "spill_loads": len(spills) - stores,
            "registers": resources.registers if resources is not None else None,
            "by_line": {str(place.line): count for place, count in lines[:6]},
        },
        suggestion=f"{loosen}, keep fewer values alive at once, or unroll less.",
        confirm="profile: smsp__inst_executed_op_local, rule LocalMemory",
    )


def _local_array(others: Sequence[SassInstruction], kernel: str, origins: Origins) -> Finding:
    lines = _lines(others, origins)
    return Finding(
        rule="sass/local-memory",
        severity="warning" if len(others) > 2 else "note",
        confidence="certain",
        message=f"A per-thread array lives in local memory: {len(others)} accesses to it leave the registers.",
        kernel=kernel,
        location=lines[0][0] if lines else None,
        related=tuple(place for place, _ in lines[1:4]),
        evidence={
            "instructions": len(others),
            "by_line": {str(place.line): count for place, count in lines[:6]},
        },
        suggestion="Index it by constants only (unroll the loop fully), make it smaller, or keep it in shared memory.",
        confirm="profile: smsp__inst_executed_op_local",
    )


def _narrow(instructions: Sequence[SassInstruction], kernel: str, origins: Origins) -> list[Finding]:
    """Neighbouring 32-bit accesses of one thread to one address: at its first line with four in a row."""
    groups: dict[tuple[str, str, Location], set[int]] = {}
    for each in instructions:
        kind = each.opcode.split(".")[0]
        match = _ADDRESS.search(each.operands)
        place = _place(each, origins)
        if (
            kind in ("LDG", "STG")
            and width_bits(each.opcode) == 32
            and match is not None
            and place is not None
        ):
            key = (kind, match.group("base"), Location(file=place.file, line=place.line))
            groups.setdefault(key, set()).add(int(match.group("offset") or "0", 16))
    for (kind, _, place), offsets in groups.items():
        run = _longest_run(offsets)
        if run >= MIN_NARROW:
            return [_narrow_finding(kind, kernel, place, run)]
    return []


def _longest_run(offsets: set[int]) -> int:
    """The longest run of neighbouring words."""
    longest = 0
    for start in offsets:
        if start - 4 not in offsets:
            length = 1
            while start + 4 * length in offsets:
                length += 1
            longest = max(longest, length)
    return longest


def _narrow_finding(kind: str, kernel: str, place: Location, run: int) -> Finding:
    severity: Severity = "note"
    what = "loads" if kind == "LDG" else "stores"
    return Finding(
        rule="sass/narrow-access",
        severity=severity,
        confidence="likely",
        message=f"A thread {what} {run} neighbouring words one by one ({kind}.32): one 128-bit access would do for four.",
        kernel=kernel,
        location=place,
        evidence={"opcode": kind, "neighbouring_words": run},
        suggestion="Use float4 (16-byte aligned) or let the compiler see the alignment.",
        confirm="profile: sectors and instructions per request",
    )
