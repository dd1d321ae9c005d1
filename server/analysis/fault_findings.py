"""From faults to findings: what a developer should read, in plain words, with the smallest change that mends it."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..reports.finding import Finding, Location, Severity
from ..toolchain.cuda_gdb import Crash
from . import cuda_errors
from .fault_clusters import Fault
from .host_sites import Site, SourceOf
from .kernel_names import display_name
from .spread import hex_list, index_name

Excerpt = Callable[[Location | None], str | None]
_NULL_PAGE_BYTES = 4096
_SAMPLES_SHOWN = 12


def fault_findings(faults: Sequence[Fault], excerpt: Excerpt) -> list[Finding]:
    """One finding for each fault, in their order."""
    leaks = _leaked_names([fault for fault in faults if fault.kind == "Leak"], excerpt)
    return [_finding(fault, excerpt, leaks.get(id(fault))) for fault in faults]


def without_consequences(faults: Sequence[Fault]) -> tuple[list[Fault], int]:
    """(faults, how many were dropped): after a device fault, calls that only return its sticky error say nothing new."""
    if not any(fault.kind not in ("Api", "Leak") for fault in faults):
        return list(faults), 0
    kept = [fault for fault in faults if not (fault.kind == "Api" and _api_code(fault) in cuda_errors.STICKY)]
    return kept, len(faults) - len(kept)


def crash_finding(crash: Crash, source_of: SourceOf, excerpt: Excerpt) -> Finding:
    """The finding of a GPU core dump."""
    location = crash_location(crash, source_of)
    name = display_name(crash.kernel) if crash.kernel else None
    where = _crash_where(crash)
    return Finding(
        rule=f"crash.{_slug(crash.exception)}",
        severity="error",
        message=f"the plain run dies of a GPU exception: {crash.exception}{f' ({where})' if where else ''}",
        kernel=name,
        location=location,
        excerpt=excerpt(location),
        evidence=crash_evidence(crash),
        suggestion="Look at the access or instruction on this line; memcheck names address and allocation.",
        confirm='debug with checks=["memcheck"]',
    )


def unread_crash_finding() -> Finding:
    """The finding of a core dump that could not be read."""
    return Finding(
        rule="crash.gpu-exception",
        severity="error",
        message="the plain run dies of a GPU exception; its core dump could not be read",
        suggestion='memcheck names the access: debug with checks=["memcheck"].',
    )


def crash_location(crash: Crash, source_of: SourceOf) -> Location | None:
    """Where it crashed, in the candidate's own names of its files."""
    file = source_of(crash.path) if crash.path else None
    return Location(file=file or crash.path or "", line=crash.line) if crash.path else None


def crash_evidence(crash: Crash) -> dict[str, Any]:
    """What the core dump says, for the evidence of a finding."""
    return {
        "crash": crash.exception,
        **({"crash_at": where} if (where := _crash_where(crash)) else {}),
        **({"instruction": crash.instruction} if crash.instruction else {}),
    }


def _crash_where(crash: Crash) -> str:
    parts = [f"block {index_name(crash.block)}"] if crash.block else []
    parts += [f"thread {index_name(crash.thread)}"] if crash.thread else []
    parts += [f"offset {crash.pc:#x}"] if crash.pc is not None else []
    return ", ".join(parts)


def _finding(fault: Fault, excerpt: Excerpt, leaked: str | None) -> Finding:
    location = _location(fault)
    message, suggestion = _words(fault, leaked)
    severity: Severity = "warning" if fault.kind == "Leak" or fault.level in ("Warning", "Info") else "error"
    launch = next((site for site in fault.sites if site.file), None) if fault.place else None
    launched = Location(file=launch.file, line=launch.line) if launch and launch.file else None
    return Finding(
        rule=fault.rule,
        severity=severity,
        confidence="likely" if fault.level == "Warning" else "certain",
        message=message + (f"; launched at line {launched.line}" if launched else ""),
        kernel=fault.kernel,
        location=location,
        related=(launched,) if launched else (),
        excerpt=excerpt(location),
        evidence=_evidence(fault),
        suggestion=suggestion,
        confirm=f'after the change: debug with checks=["{fault.check}"]',
    )


def _location(fault: Fault) -> Location | None:
    if fault.place is None:
        site = next((site for site in fault.sites if site.file), None)
        return Location(file=site.file, line=site.line) if site and site.file else None
    if name := fault.place.file or fault.place.path:
        return Location(file=name, line=fault.place.line)
    return None


def _words(fault: Fault, leaked: str | None) -> tuple[str, str]:
    """(message, suggestion) by the kind of record."""
    if fault.kind == "Precise":
        return _access_message(fault), _access_suggestion(fault)
    if fault.kind in ("Hazard", "Analysis"):
        return _race_message(fault), _race_suggestion(fault)
    if fault.kind == "Leak":
        times = f" in {fault.records:,} allocations" if fault.records > 1 else ""
        call = f" by {fault.site.call}" if fault.site and fault.site.call else ""
        name = f" ({leaked})" if leaked else ""
        return (
            f"{fault.bytes_total:,} bytes{name} allocated{call}{times} are never freed",
            "cudaFree it before the program ends.",
        )
    if fault.kind == "Api":
        return _api_message(fault), _API_ADVICE.get(
            fault.fields.get("error", ""), "Check the arguments of this call."
        )
    if fault.kind == "Initcheck":
        space = (re.findall(r"__(\w+)__", fault.text) or ["global"])[0]
        size = " or ".join(str(size) for size in sorted(fault.sizes))
        return (
            f"{size}-byte read of {space} memory that was never written{_extent(fault)}",
            "Write the whole buffer before this kernel reads it (cudaMemset, cudaMemcpy); sizes are bytes, not elements.",
        )
    if fault.kind == "Synccheck":
        return _barrier_words(fault)
    return f"{fault.text}{_extent(fault)}", "Look at this line and at what reaches it."


def _extent(fault: Fault) -> str:
    spread = str(fault.spread)
    return f"; {fault.records:,} record{'s'[: fault.records > 1]}{f' ({spread})' if spread else ''}"


def _access_message(fault: Fault) -> str:
    sizes = " or ".join(str(size) for size in sorted(fault.sizes))
    space = fault.fields.get("space", "").strip("_")
    direction = fault.fields.get("direction", "access")
    what = f"{sizes}-byte {direction} of {space} memory" if sizes and space else fault.text
    reaches = fault.addresses.reaches()
    if "misaligned" in fault.rule:
        what += f" at an address that is no multiple of {sizes}"
    elif reaches:
        what += f" {reaches[0]}" + (f" (and beside {len(reaches) - 1} more)" if len(reaches) > 1 else "")
    else:
        what += f" is {fault.fields.get('error', 'invalid')}"
    return what + _extent(fault)


def _access_suggestion(fault: Fault) -> str:
    size = min(fault.sizes, default=1)
    if "misaligned" in fault.rule:
        return f"Make the offset a multiple of {max(fault.sizes, default=size)} bytes, or access smaller elements."
    if "__shared__" in fault.fields.get("space", ""):
        return "Size the shared array by the largest index used, or guard the index."
    reaches = fault.addresses.reaches()
    if fault.addresses.high is not None and fault.addresses.high < _NULL_PAGE_BYTES:
        return "The pointer is null: check that its cudaMalloc succeeded and that it is the argument passed."
    if not reaches or reaches[0].is_far:
        return "No allocation is near: a host pointer, a freed or unset pointer, or an index that overflowed 32 bits."
    allocation = reaches[0].allocation
    if reaches[0].high < allocation.start:
        return "The index is negative here: check its arithmetic at the left edge."
    count = allocation.size_bytes // size
    return (
        f"Skip threads whose index is {count:,} or more ({allocation.size_bytes:,} bytes hold {count:,} "
        f"{size}-byte elements), or allocate more."
    )


def _race_message(fault: Fault) -> str:
    directions: dict[str, set[str]] = {}
    for side in sorted(fault.sides, key=lambda side: side.place.line or 0):
        place = f"line {side.place.line}" if side.place.line else side.place.function or "?"
        directions.setdefault(place, set()).add(side.direction)
    named = [f"{' and '.join(sorted(found))} at {place}" for place, found in directions.items()]
    kinds = f" ({', '.join(sorted(fault.hazard_types))})" if fault.hazard_types else ""
    counted = f"; {fault.hazards:,} hazards" if fault.hazards else ""
    spread = f" ({fault.spread})" if str(fault.spread) else ""
    return (
        f"race in shared memory{kinds}: {', '.join(named)} are not ordered{counted}"
        f" in {fault.records:,} record{'s'[: fault.records > 1]}{spread}"
    )


def _race_suggestion(fault: Fault) -> str:
    lines = sorted({side.place.line for side in fault.sides if side.place.line})
    if {side.direction for side in fault.sides} == {"write"}:
        return "Let one thread write it, or make the writes atomic."
    if len(lines) == 1:
        return f"Put __syncthreads() after each pass over line {lines[0]}, outside any branch."
    between = f"between lines {lines[0]} and {lines[-1]}" if lines else "between the two accesses"
    return (
        f"Put __syncthreads() {between}, where all threads reach it (in a loop, after its last access too)."
    )


def _barrier_words(fault: Fault) -> tuple[str, str]:
    kind = fault.fields.get("type", "")
    message = f"{fault.text}: {kind[:1].lower()}{kind[1:]}" if kind else fault.text
    if "ivergent" in kind:
        advice = "Move the barrier out of the branch, so that every thread of the block reaches it."
    elif "argument" in kind or "mask" in kind:
        advice = "Name in the mask exactly the lanes that reach this call."
    else:
        advice = "Make every participating thread reach this barrier the same number of times."
    return message + _extent(fault), advice


_API_ADVICE = {
    "cudaErrorInvalidValue": "Check pointers (are they from cudaMalloc?), sizes in bytes, and the copy's direction.",
    "cudaErrorMemoryAllocation": "Allocate less, or free earlier: the device is out of memory.",
    "cudaErrorInvalidDeviceFunction": "Leave `arch` out, so that it is built for this GPU.",
    "cudaErrorInvalidMemcpyDirection": "Name the direction that the pointers have, or cudaMemcpyDefault.",
}


def _api_message(fault: Fault) -> str:
    api, error, said = (fault.fields.get(name, "") for name in ("api", "error", "message"))
    times = f", {fault.records:,} times" if fault.records > 1 else ""
    return f"{api} fails with {error} ({said}){times}" if api and error else fault.text


def _api_code(fault: Fault) -> int:
    code = fault.fields.get("result", "")
    return int(code) if code.isdecimal() else 0


def _evidence(fault: Fault) -> dict[str, Any]:
    sites = Counter({_site_text(site): count for site, count in fault.sites.items() if _site_text(site)})
    reaches = [
        f"{reach} at {reach.allocation.start:#x}: {reach.low:#x} to {reach.high:#x}"
        for reach in fault.addresses.reaches()
    ]
    low, high = fault.addresses.low, fault.addresses.high
    held: dict[str, Any] = {
        "records": fault.records,
        "signature": fault.signature,
        "hazards": fault.hazards,
        "instructions": hex_list(fault.pcs),
        "addresses": reaches[:4] or (f"{low:#x} to {high:#x}" if low is not None else None),
        "host_calls": [f"{text} ({count}x)" for text, count in sites.most_common(4)],
        "samples": fault.samples[:_SAMPLES_SHOWN],
    }
    return {name: value for name, value in held.items() if value}


def _site_text(site: Site) -> str:
    if site.file:
        return f"{site.file}:{site.line}"
    return f"host address {site.address:#x}" if site.address is not None else ""


def _leaked_names(leaks: Sequence[Fault], excerpt: Excerpt) -> dict[int, str]:
    """Which pointer each leak of a line belongs to, where the line allocates just as many as are leaked."""
    names: dict[int, str] = {}
    lines: dict[str, list[Fault]] = {}
    for fault in leaks:
        lines.setdefault(str(_location(fault)), []).append(fault)
    for held in lines.values():
        here = sorted(held, key=lambda fault: (fault.site and fault.site.address) or 0)
        location = _location(here[0])
        pointers = re.findall(r"\bcudaMalloc\w*\s*\([^&;]*&\s*([\w.\[\]>-]+)", excerpt(location) or "")
        if len(pointers) == len(here):
            names |= {id(fault): pointer for fault, pointer in zip(here, pointers, strict=True)}
    return names


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
