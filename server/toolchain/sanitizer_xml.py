"""compute-sanitizer's XML, read as a stream of records: one record is in memory at a time, however long the file.

The file comes from a process that ran hostile code, so document types, entities, deep nesting and endless texts are
refused. Elements that this reader does not know are kept by name in `fields`; a record of unknown kind is still a record.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO
from xml.parsers import expat

from ..errors import UnreadableOutput

Dim3 = tuple[int, int, int]
ROOT = "ComputeSanitizerOutput"
_CHUNK_BYTES = 1 << 16
_MAX_DEPTH = 16
_MAX_NODES = 20_000
_MAX_TEXT = 1 << 16
_MAX_TOKEN_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Frame:
    """A place in code: `pc` is an offset into the function (device) or the module (host); unknown parts are None."""

    function: str | None = None
    path: str | None = None
    line: int | None = None
    pc: int | None = None
    module: str | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """One side of a race: `count` hazards where an analysis counted them, `thread` where a single hazard names it."""

    direction: str
    frame: Frame
    count: int | None = None
    thread: Dim3 | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One record: `fields` holds the plain values of `<what>` (address, size, direction, error, api, ...) as text."""

    kind: str
    level: str | None
    text: str
    fields: dict[str, str]
    thread: Dim3 | None
    block: Dim3 | None
    where: Frame | None
    device_stack: tuple[Frame, ...]
    host_stack: tuple[Frame, ...]
    accesses: tuple[Access, ...]

    def number(self, name: str) -> int | None:
        """A field as a number, decimal or 0x; None where it is missing. Raises UnreadableOutput for other text."""
        return _number(self.fields.get(name))


class _Node:
    """An element: its text, and its children by name and in order."""

    __slots__ = ("children", "first", "name", "text")

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = ""
        self.children: list[_Node] = []
        self.first: dict[str, _Node] = {}

    def child(self, *path: str) -> "_Node | None":
        node: _Node | None = self
        for name in path:
            node = node.first.get(name) if node else None
        return node

    def value(self, name: str) -> str | None:
        node = self.first.get(name)
        return node.text.strip() if node else None

    def all(self, name: str) -> "list[_Node]":
        return [child for child in self.children if child.name == name] if name in self.first else []


class RecordReader:
    """Iterates over a report's records. With `may_be_cut`, one that just ends is read as far as it goes (`cut`)."""

    def __init__(self, stream: BinaryIO, *, may_be_cut: bool = False) -> None:
        self._stream = stream
        self._may_be_cut = may_be_cut
        self._open: list[_Node] = []
        self._done: list[_Node] = []
        self._fed = self._depth = self._nodes = self._text = 0
        self.cut = False
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse

    def __iter__(self) -> Iterator[Record]:
        while chunk := self._stream.read(_CHUNK_BYTES):
            self._feed(chunk, is_last=False)
            yield from self._take()
        self._feed(b"", is_last=True)
        yield from self._take()

    def _take(self) -> Iterator[Record]:
        done, self._done = self._done, []
        yield from (_record(node) for node in done)

    def _feed(self, chunk: bytes, *, is_last: bool) -> None:
        try:
            self._parser.Parse(chunk, is_last)
        except expat.ExpatError as error:
            if is_last and self._may_be_cut and error.code in _CUT_CODES:
                self.cut = True
                return
            where = f"line {error.lineno}, column {error.offset}"
            reason = expat.ErrorString(error.code)
            raise UnreadableOutput(
                f"the sanitizer's XML breaks at {where} ({reason})", chunk[:200]
            ) from error
        self._fed += len(chunk)
        if self._fed - self._parser.CurrentByteIndex > _MAX_TOKEN_BYTES:
            raise UnreadableOutput("a tag without end in the sanitizer's XML", chunk[:100])

    def _refuse(self, *_: object) -> None:
        raise UnreadableOutput(
            "the sanitizer's XML declares a document type or an entity, which the tool never does"
        )

    def _start(self, name: str, _: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1:
            if name != ROOT:
                raise UnreadableOutput("not a compute-sanitizer report", f"<{name[:60]}>")
            return
        if self._depth == 2:
            if name != "record":
                raise UnreadableOutput(
                    "an element that is no record in a compute-sanitizer report", f"<{name[:60]}>"
                )
            self._nodes = self._text = 0
        self._nodes += 1
        if self._depth > _MAX_DEPTH or self._nodes > _MAX_NODES:
            raise UnreadableOutput(
                "a sanitizer record that is nested or branched without end", f"<{name[:60]}>"
            )
        node = _Node(name)
        if self._open:
            parent = self._open[-1]
            parent.children.append(node)
            parent.first.setdefault(name, node)
        self._open.append(node)
        self._parser.CharacterDataHandler = self._characters

    def _end(self, _: str) -> None:
        self._depth -= 1
        self._parser.CharacterDataHandler = (
            None  # what follows an element is white space, until the next one begins
        )
        if self._open:
            node = self._open.pop()
            if not self._open:
                self._done.append(node)

    def _characters(self, text: str) -> None:
        if self._open:
            self._text += len(text)
            if self._text > _MAX_TEXT:
                raise UnreadableOutput("a sanitizer record with a text without end", text[:100])
            self._open[-1].text += text


_CUT_CODES = tuple(
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
)


def _record(node: _Node) -> Record:
    kind = node.value("kind")
    what = node.child("what")
    if not kind or what is None:
        raise UnreadableOutput(
            "a sanitizer record without kind or content", "".join(c.name for c in node.children)
        )
    common = what.child("common") or what
    plain = [child for child in (*what.children, *common.children) if not child.children]
    return Record(
        kind=kind,
        level=node.value("level"),
        text=what.value("text") or "",
        fields={child.name: child.text.strip() for child in plain if child.name != "text"},
        thread=_dim3(node.child("who", "threadIdx")),
        block=_dim3(node.child("who", "blockIdx") or common.child("blockIdx")),
        where=_frame(node.child("where")),
        device_stack=_frames(node.child("deviceStack")),
        host_stack=_frames(node.child("hostStack")),
        accesses=tuple(_accesses(what)),
    )


def _accesses(what: _Node) -> Iterator[Access]:
    for name in ("source", "destination", "thread0", "thread1"):
        for side in what.all(name):
            frame = _frame(side.child("where") or side.child("frame"))
            direction = side.value("direction") or side.value("access")
            if frame is None or not direction:
                raise UnreadableOutput("a race record without place or direction", f"<{name}>")
            yield Access(
                direction.lower(), frame, _number(side.value("count")), _dim3(side.child("threadIdx"))
            )


def _frames(stack: _Node | None) -> tuple[Frame, ...]:
    return tuple(frame for node in (stack.all("frame") if stack else ()) if (frame := _frame(node)))


def _frame(node: _Node | None) -> Frame | None:
    if node is None:
        return None
    line = _number(node.value("line"))
    return Frame(
        function=node.value("func") or None,
        path=node.value("path") or None,
        line=line or None,
        pc=_number(node.value("pc")),
        module=node.value("module") or None,
    )


def _dim3(node: _Node | None) -> Dim3 | None:
    if node is None:
        return None
    x, y, z = (_number(node.value(axis)) for axis in "xyz")
    if x is None or y is None or z is None:
        raise UnreadableOutput("a thread or block index without x, y and z")
    return x, y, z


def _number(text: str | None) -> int | None:
    if not text:
        return None
    try:
        return int(text.replace(",", ""), 0)
    except ValueError as error:
        raise UnreadableOutput("a number of the sanitizer's XML is none", text[:60]) from error
