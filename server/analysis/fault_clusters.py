"""From sanitizer records to faults: 24 records that say one thing are one fault. Streaming, in bounded memory.

A device fault is one by what went wrong, kernel, and source line (or instruction where no line is known); a race by its
pair of lines; a leak or a failed API call by the host call that made it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..toolchain.demangle import short_name
from ..toolchain.sanitizer import Check, Tool
from ..toolchain.sanitizer_log import Log
from ..toolchain.sanitizer_xml import Frame, Record
from .host_lines import Executable
from .host_sites import Site, SourceOf, call_site
from .kernel_names import display_name
from .spread import Addresses, Spread, index_name

MAX_FAULTS = 2_000
_MAX_SAMPLES = 40
_MAX_SITES = 64
_ECHOES = ("cudaGetLastError", "cudaPeekAtLastError")
_RULES = {
    "Imprecise": "hardware-exception",
    "Syscall": "device-heap",
    "StackOverflow": "stack-overflow",
    "Api": "api-error",
    "Leak": "leak",
    "Initcheck": "uninitialized",
    "Hazard": "race",
    "Analysis": "race",
}
_SHOWN_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d[\d,]*")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of device code: `file` is the candidate's own name of the file; outside its files only `path` is known."""

    file: str | None
    path: str | None
    line: int | None
    function: str | None
    pc: int | None


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a race."""

    direction: str
    place: Place


@dataclass(slots=True)
class Fault:
    """One fault and the extent of it. `records` counts what was read of it, `hazards` the racing byte pairs.

    `rule` is the check and the kind of fault; `fields` are those of the first record. `sites` are the host calls: where
    the kernel was launched, the memory allocated, the failing function called.
    """

    rule: str
    kind: str
    text: str
    fields: dict[str, str]
    kernel: str | None
    signature: str | None
    place: Place | None
    records: int = 0
    level: str = "Error"
    hazards: int = 0
    bytes_total: int = 0
    spread: Spread = field(default_factory=Spread)
    addresses: Addresses = field(default_factory=Addresses)
    pcs: set[int] = field(default_factory=set[int])
    sizes: set[int] = field(default_factory=set[int])
    sides: dict[Side, int] = field(default_factory=dict[Side, int])
    hazard_types: set[str] = field(default_factory=set[str])
    sites: dict[Site, int] = field(default_factory=dict[Site, int])
    samples: list[str] = field(default_factory=list[str])

    @property
    def check(self) -> str:
        """The check that found it."""
        return self.rule.partition(".")[0]

    @property
    def site(self) -> Site | None:
        """The first host call."""
        return next(iter(self.sites), None)


class FaultCollector:
    """Takes the records of one sanitizer process and holds its faults in the order of their first record.

    `executable` is the one that this very process ran, or None where it is not at hand: then host lines stay unknown.
    `echoes` counts failed calls that only repeat an error already reported, `left_out` faults beyond the bound; `notes`
    are what the tool says of itself, such as that it stopped counting.
    """

    def __init__(self, tool: Tool, source_of: SourceOf, executable: Executable | None) -> None:
        self._tool: Tool = tool
        self._source_of = source_of
        self._executable = executable
        self._faults: dict[object, Fault] = {}
        self._sites: dict[tuple[Frame, ...], Site] = {}
        self.notes: list[str] = []
        self.echoes = 0
        self.left_out = 0

    @property
    def faults(self) -> list[Fault]:
        """All faults found so far."""
        return list(self._faults.values())

    def take(self, record: Record, log: Log) -> None:
        """Take one record in; `log` is the text log of the same process."""
        if record.kind == "Sanitizer":
            self.notes.append(record.text.removeprefix("Warning: "))
        elif record.kind == "Api" and record.fields.get("api") in _ECHOES:
            self.echoes += 1
        elif record.kind in ("Analysis", "Hazard") and record.accesses:
            self._take_race(record, log)
        else:
            self._take_single(record, log)

    def _take_single(self, record: Record, log: Log) -> None:
        site = self._site(record.host_stack)
        place = self._place((record.where, *record.device_stack) if record.where else record.device_stack)
        rule = self._rule(record)
        if place:
            kernel = _kernel(record, site)
            key: object = (
                rule,
                record.fields.get("space"),
                record.fields.get("direction"),
                kernel,
                _where(place),
            )
        else:
            kernel = display_name(site.kernel) if site.kernel else None
            words = _SHOWN_NUMBERS.sub("", record.text)
            key = (rule, record.fields.get("api"), words, site.address, site.file, site.line)
        fault = self._fault(key, rule, record, kernel, place, log)
        if fault is None:
            return
        fault.records += 1
        _extend(fault, record, log, site)
        if place and place.pc is not None and len(fault.pcs) < _MAX_SITES:
            fault.pcs.add(place.pc)

    def _take_race(self, record: Record, log: Log) -> None:
        """An analysis record is one place against several; each pair of lines is a race of its own."""
        site = self._site(record.host_stack) if record.host_stack else None
        sides = [(self._place((access.frame,)), access) for access in record.accesses]
        (first, one), others = sides[0], sides[1:] or sides[:1]
        touched: set[int] = set()
        for second, other in others:
            if first is None or second is None:
                continue
            kernel = _function_name(first.function)
            key = ("race", kernel, frozenset((_where(first), _where(second))))
            fault = self._fault(key, self._rule(record), record, kernel, _earlier(first, second), log)
            if fault is None:
                continue
            if id(fault) not in touched:
                touched.add(id(fault))
                fault.records += 1
                _extend(fault, record, log, site)
            fault.hazards += other.count or 0
            fault.level = (
                "Error" if "Error" in (fault.level, record.level or "Error") else (record.level or "Error")
            )
            if kind := record.fields.get("type"):
                fault.hazard_types.add(kind)
            for place, access in ((first, one), (second, other)):
                side = Side(access.direction, Place(place.file, place.path, place.line, place.function, None))
                fault.sides[side] = fault.sides.get(side, 0) + 1
                if place.pc is not None and len(fault.pcs) < _MAX_SITES:
                    fault.pcs.add(place.pc)
                fault.spread.add(record.block, access.thread)

    def _fault(
        self, key: object, rule: str, record: Record, kernel: str | None, place: Place | None, log: Log
    ) -> Fault | None:
        fault = self._faults.get(key)
        if fault is None:
            if len(self._faults) >= MAX_FAULTS:
                self.left_out += 1
                return None
            signature = log.signatures.get(kernel or "")
            fault = Fault(rule, record.kind, record.text, dict(record.fields), kernel, signature, place)
            fault.level = record.level or "Error"
            self._faults[key] = fault
        return fault

    def _rule(self, record: Record) -> str:
        check: Check = "leakcheck" if record.kind == "Leak" else self._tool
        if record.kind == "Precise":
            return f"{check}.{_slug(record.fields.get('error') or 'access')}"
        if record.kind == "Synccheck":
            kind = record.fields.get("type") or "barrier"
            return f"{check}.{'divergent-barrier' if 'ivergent' in kind else _slug(kind)}"
        return f"{check}.{_RULES.get(record.kind) or _slug(record.kind)}"

    def _site(self, stack: tuple[Frame, ...]) -> Site:
        own = tuple(frame for frame in stack if frame.pc is not None and ".so" not in (frame.module or ".so"))
        if own not in self._sites:
            if len(self._sites) > MAX_FAULTS:
                self._sites.clear()
            addresses = [frame.pc for frame in own if frame.pc is not None]
            functions = [frame.function for frame in own]
            self._sites[own] = call_site(addresses, functions, self._executable, self._source_of)
        return self._sites[own]

    def _place(self, frames: Iterable[Frame]) -> Place | None:
        """The innermost frame in the candidate's own files, else the innermost of all."""
        places = [
            Place(
                self._source_of(frame.path) if frame.path else None,
                frame.path,
                frame.line,
                frame.function,
                frame.pc,
            )
            for frame in frames
        ]
        return next((place for place in places if place.file), places[0] if places else None)


def _extend(fault: Fault, record: Record, log: Log, site: Site | None) -> None:
    fault.spread.add(record.block, record.thread)
    if (address := record.number("address")) is not None:
        fault.addresses.add(address, log.nearest.get(address))
    if (size := record.number("size")) is not None:
        fault.bytes_total += size
        if len(fault.sizes) < _MAX_SITES:
            fault.sizes.add(size)
    if site and (site in fault.sites or len(fault.sites) < _MAX_SITES):
        fault.sites[site] = fault.sites.get(site, 0) + 1
    if len(fault.samples) < _MAX_SAMPLES and (sample := _sample(record)):
        fault.samples.append(sample)


def _sample(record: Record) -> str:
    parts = [f"thread {index_name(record.thread)}"] if record.thread else []
    parts += [
        f"{access.direction} by thread {index_name(access.thread)}"
        for access in record.accesses
        if access.thread
    ]
    parts += [f"block {index_name(record.block)}"] if record.block else []
    parts += [f"at {record.fields['address']}"] if "address" in record.fields else []
    return ", ".join(parts)


def _kernel(record: Record, site: Site) -> str | None:
    """The kernel, not the device function inside it: the launch stub knows, else the outermost device frame."""
    if site.kernel:
        return display_name(site.kernel)
    frames = [frame for frame in (record.where, *record.device_stack) if frame and frame.function]
    return _function_name(frames[-1].function) if frames else None


def _function_name(function: str | None) -> str | None:
    return short_name(function.removeprefix("void ")) if function else None


def _where(place: Place) -> tuple[object, ...]:
    return (place.path, place.line) if place.line else (place.function, place.pc)


def _earlier(one: Place, other: Place) -> Place:
    return min(one, other, key=lambda place: (place.file is None, place.line or 0))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "fault"
