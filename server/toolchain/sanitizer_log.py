"""compute-sanitizer's text log: the totals, which the XML lacks, and the allocations and signatures beside addresses.

It is read line by line; only lines of the tool itself count (they begin with `=========`), so a log that is mixed with a
program's own output reads the same.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from ..errors import UnreadableOutput
from .demangle import short_name

_PREFIX = b"========="
_CHUNK_BYTES = 1 << 16
_MAX_LINE = 1 << 14
_MAX_KEPT = 50_000
_ERRORS = re.compile(r"ERROR SUMMARY: ([\d,]+) errors?$")
_UNPRINTED = re.compile(r"ERROR SUMMARY: ([\d,]+) errors? (?:was|were) not printed")
_HAZARDS = re.compile(
    r"RACECHECK SUMMARY: ([\d,]+) hazards? displayed \(([\d,]+) errors?, ([\d,]+) warnings?\)"
)
_LEAKS = re.compile(r"LEAK SUMMARY: ([\d,]+) bytes leaked in ([\d,]+) allocations?")
_ADDRESS = re.compile(r"(?:Access to|Address) (0x[0-9a-fA-F]+)")
_NEAREST = re.compile(
    r"and is (?:[\d,]+ bytes? (?:before|after)|inside) the nearest allocation at "
    r"(0x[0-9a-fA-F]+) of size ([\d,]+) bytes?"
)
_SIGNATURE = re.compile(r"at (?:\[clone [^\]]*\] )?(.+)\+(0x[0-9a-fA-F]+)(?: in .+:\d+)?$")
_NOT_STARTED = (
    "Target application terminated before first instrumented",
    "No attachable process found",
    "Error launching target app",
    "Target application doesn't exist",
)


@dataclass(frozen=True, slots=True)
class Allocation:
    """An allocation on the device: where it starts and how many bytes it has."""

    start: int
    size_bytes: int


@dataclass(slots=True)
class Log:
    """What the log says. `started`: the program used CUDA under the tool. `total`: faults counted, None: no summary.

    `nearest` maps a faulting address to the allocation that the tool names beside it; `signatures` maps a function's
    name to its full signature. `leaked_bytes` is None where no leak summary was printed.
    """

    started: bool = True
    total: int | None = None
    not_printed: int = 0
    leaked_bytes: int | None = None
    leaked_allocations: int | None = None
    internal_error: str | None = None
    nearest: dict[int, Allocation] = field(default_factory=dict[int, Allocation])
    signatures: dict[str, str] = field(default_factory=dict[str, str])
    excerpt: str = ""


def parse(stream: BinaryIO, *, ended: bool) -> Log:
    """Read a log. Raises UnreadableOutput where it is not one, or (`ended`) where it has no summary."""
    log, address, seen = Log(), None, False
    tail: list[str] = []
    for line in _lines(stream):
        text = line.removeprefix(_PREFIX).decode("utf-8", "backslashreplace").strip()
        seen = seen or text == "COMPUTE-SANITIZER"
        tail = [*tail[-4:], text] if text else tail
        if found := _ADDRESS.search(text):
            address = int(found[1], 16)
        elif (found := _NEAREST.search(text)) and address is not None:
            if len(log.nearest) < _MAX_KEPT:
                log.nearest[address] = Allocation(int(found[1], 16), _number(found[2]))
            address = None
        elif found := _SIGNATURE.search(text):
            if len(log.signatures) < _MAX_KEPT:
                log.signatures.setdefault(short_name(found[1].removeprefix("void ")), found[1])
        else:
            _note_state(log, text)
    log.excerpt = "; ".join(tail)
    if not seen:
        raise UnreadableOutput("not a log of compute-sanitizer", log.excerpt)
    if ended and log.started and log.total is None:
        raise UnreadableOutput("compute-sanitizer ended without a summary", log.excerpt)
    return log


def _note_state(log: Log, text: str) -> None:
    if found := _HAZARDS.match(text):
        log.total = _number(found[2]) + _number(found[3])
    elif found := _UNPRINTED.match(text):
        log.not_printed = _number(found[1])
    elif found := _ERRORS.match(text):
        log.total = _number(found[1])
    elif found := _LEAKS.match(text):
        log.leaked_bytes, log.leaked_allocations = _number(found[1]), _number(found[2])
    elif any(message in text for message in _NOT_STARTED):
        log.started = False
    elif "Internal Sanitizer" in text or "Internal error" in text:
        log.internal_error = text[:200]


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """The tool's own lines; of a longer one than any it writes only the start is given."""
    held = b""
    while chunk := stream.read(_CHUNK_BYTES):
        *lines, held = (held + chunk).split(b"\n")
        held = held[:_MAX_LINE]
        yield from (line[:_MAX_LINE] for line in lines if line.startswith(_PREFIX))
    if held.startswith(_PREFIX):
        yield held


def _number(text: str) -> int:
    return int(text.replace(",", ""))
