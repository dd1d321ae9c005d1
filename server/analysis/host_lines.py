"""Where host code of a built executable comes from: addresses to source lines and function names, from its bytes alone.

It reads ELF symbols and DWARF line tables (pyelftools); it runs nothing and knows nothing of CUDA. An address is the
executable's own (as `nm` prints it): tools that report offsets into a loaded position-independent one mean the same.
"""

import bisect
import io
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct.core import ConstructError
from elftools.elf.elffile import ELFFile

from ..errors import UnreadableOutput

# pyelftools' objects carry no types
_Dwarf: TypeAlias = Any
_Unit: TypeAlias = Any
_Entry: TypeAlias = Any
_Header: TypeAlias = Any
_Attribute: TypeAlias = Any
_SYMBOL = struct.Struct("<IBBHQQ")
_FUNCTION_TYPES = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
_DAMAGED = (
    DWARFError,
    ELFError,
    ConstructError,
    KeyError,
    IndexError,
    ValueError,
    AttributeError,
    AssertionError,
)


@dataclass(frozen=True, slots=True)
class HostFrame:
    """One source line that an address belongs to, in the function whose body it stands in (linker name if known)."""

    function: str | None
    path: str
    line: int


class Executable:
    """One ELF executable, read lazily: its functions, its lines, the libraries it needs. Safe from several threads."""

    def __init__(self, content: bytes) -> None:
        try:
            self._elf: Any = ELFFile(io.BytesIO(content))
            loads = [s["p_vaddr"] for s in self._elf.iter_segments() if s["p_type"] == "PT_LOAD"]
        except (ELFError, ConstructError, OSError, ValueError) as error:
            raise UnreadableOutput(f"not an ELF executable ({error})", content[:16]) from error
        self.start: int = min(loads, default=0)
        self._lock = threading.RLock()  # the readers seek in one stream
        self._known: dict[int, tuple[HostFrame, ...]] = {}

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """The shared libraries that it is linked to."""
        try:
            with self._lock:
                section = self._elf.get_section_by_name(".dynamic")
                return tuple(tag.needed for tag in section.iter_tags("DT_NEEDED")) if section else ()
        except _DAMAGED:
            return ()

    @cached_property
    def _functions(self) -> tuple[list[int], list[tuple[int, str]]]:
        """Sorted start addresses, and for each (size, name)."""
        try:
            return self._read_functions()
        except _DAMAGED:
            return [], []

    def _read_functions(self) -> tuple[list[int], list[tuple[int, str]]]:
        section = self._elf.get_section_by_name(".symtab") or self._elf.get_section_by_name(".dynsym")
        if section is None:
            return [], []
        names = self._elf.get_section(section["sh_link"]).data()
        found: dict[int, tuple[int, str]] = {}
        data = section.data()
        for name, info, _, index, value, size in _SYMBOL.iter_unpack(data[: len(data) // 24 * 24]):
            if info & 15 in _FUNCTION_TYPES and index:
                end = names.find(b"\0", name)
                found.setdefault(value, (size, names[name:end].decode("utf-8", "replace")))
        starts = sorted(found)
        return starts, [found[start] for start in starts]

    @cached_property
    def function_names(self) -> frozenset[str]:
        """The linker names of all functions that it defines."""
        with self._lock:
            return frozenset(name for _, name in self._functions[1])

    def function(self, address: int) -> str | None:
        """The linker name of the function that holds an address, or None."""
        with self._lock:
            starts, found = self._functions
        index = bisect.bisect_right(starts, address) - 1
        if index < 0:
            return None
        size, name = found[index]
        return name if address < starts[index] + max(size, 1) else None

    @cached_property
    def _dwarf(self) -> _Dwarf:
        try:
            return self._elf.get_dwarf_info() if self._elf.has_dwarf_info(strict=True) else None
        except _DAMAGED:
            return None

    @cached_property
    def _units(self) -> Callable[[int], int | None]:
        aranges = self._dwarf.get_aranges()
        return aranges.cu_offset_at_addr if aranges else lambda _: None

    def frames(self, address: int) -> tuple[HostFrame, ...]:
        """The lines that an instruction belongs to: innermost first, then where each function was inlined."""
        with self._lock:
            if address not in self._known:
                self._known[address] = self._read_frames(address)
            return self._known[address]

    def _read_frames(self, address: int) -> tuple[HostFrame, ...]:
        try:
            dwarf = self._dwarf
            offset = self._units(address) if dwarf is not None else None
            if dwarf is None or offset is None:
                return ()
            return tuple(_frames(dwarf, dwarf.get_CU_at(offset), address, self.function(address)))
        except _DAMAGED:
            return ()


def _frames(dwarf: _Dwarf, unit: _Unit, address: int, outermost: str | None) -> Iterator[HostFrame]:
    """From the inside out: each function's own line is where it calls the next inner one."""
    table = _LineTable(dwarf, unit)
    place = table.line(address)
    for entry in _inlined(dwarf, unit, address):
        if place:
            yield HostFrame(_linker_name(entry), *place)
        file, line = (entry.attributes.get(f"DW_AT_call_{part}") for part in ("file", "line"))
        place = table.source(file.value, line.value) if file and line else None
    if place:
        yield HostFrame(outermost, *place)


class _LineTable:
    """The line program of one compilation unit."""

    def __init__(self, dwarf: _Dwarf, unit: _Unit) -> None:
        self._program = dwarf.line_program_for_CU(unit)
        self._folder = _text(unit.get_top_DIE().attributes.get("DW_AT_comp_dir"))

    def line(self, address: int) -> tuple[str, int] | None:
        """The (path, line) of the row that covers an address."""
        held = None
        for entry in self._program.get_entries():
            state = entry.state
            if state is None:
                continue
            if held is not None and held[0] <= address < state.address:
                return self.source(held[1], held[2])
            held = None if state.end_sequence else (state.address, state.file, state.line)
        return None

    def source(self, file: int, line: int) -> tuple[str, int] | None:
        """The (path, line) of a file number."""
        header = self._program.header
        first = 0 if header["version"] >= 5 else 1
        files = header["file_entry"]
        if not line or not 0 <= file - first < len(files):
            return None
        entry = files[file - first]
        folder = self._directory(header, entry.dir_index)
        name = entry.name.decode("utf-8", "replace")
        return name if name.startswith("/") or not folder else f"{folder}/{name}", line

    def _directory(self, header: _Header, index: int) -> str:
        folders = header["include_directory"]
        if header["version"] < 5:
            index -= 1
        if not 0 <= index < len(folders):
            return self._folder
        name: str = folders[index].decode("utf-8", "replace")
        return name if name.startswith("/") else f"{self._folder}/{name}"


def _inlined(dwarf: _Dwarf, unit: _Unit, address: int) -> list[_Entry]:
    """The entries of the inlined functions that hold an address, innermost first."""
    found: list[_Entry] = []
    entry = _covering(dwarf, unit.get_top_DIE(), address, "DW_TAG_subprogram")
    while entry is not None:
        if entry.tag == "DW_TAG_inlined_subroutine":
            found.insert(0, entry)
        entry = _covering(dwarf, entry, address, "DW_TAG_inlined_subroutine", "DW_TAG_lexical_block")
    return found


def _linker_name(entry: _Entry) -> str | None:
    for _ in range(4):  # a specification of an abstract origin at most
        for attribute in ("DW_AT_linkage_name", "DW_AT_name"):
            if attribute in entry.attributes and (
                attribute == "DW_AT_linkage_name" or "DW_AT_specification" not in entry.attributes
            ):
                return _text(entry.attributes[attribute])
        link = next(
            (n for n in ("DW_AT_abstract_origin", "DW_AT_specification") if n in entry.attributes), None
        )
        if link is None:
            return None
        entry = entry.get_DIE_from_attribute(link)
    return None


def _covering(dwarf: _Dwarf, parent: _Entry, address: int, *tags: str) -> _Entry:
    for child in parent.iter_children():
        if child.tag in tags and _covers(dwarf, child, address):
            return child
    return None


def _covers(dwarf: _Dwarf, entry: _Entry, address: int) -> bool:
    attributes = entry.attributes
    if "DW_AT_ranges" in attributes:
        ranges = dwarf.range_lists().get_range_list_at_offset(attributes["DW_AT_ranges"].value, entry.cu)
        base = _base(entry.cu)
        for item in ranges:
            if hasattr(item, "base_address"):
                base = item.base_address
            elif (
                item.begin_offset + (0 if item.is_absolute else base)
                <= address
                < item.end_offset + (0 if item.is_absolute else base)
            ):
                return True
        return False
    low, high = attributes.get("DW_AT_low_pc"), attributes.get("DW_AT_high_pc")
    if low is None or high is None:
        return False
    end = high.value if high.form == "DW_FORM_addr" else low.value + high.value
    return bool(low.value <= address < end)


def _base(unit: _Unit) -> int:
    low = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
    return int(low.value) if low else 0


def _text(attribute: _Attribute) -> str:
    return attribute.value.decode("utf-8", "replace") if attribute else ""
