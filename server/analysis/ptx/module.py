"""PTX text as functions and instructions. It reads the whole language's form and knows no opcode.

Source: the PTX ISA, version 9; a statement of another form raises UnreadableOutput with the statement.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...errors import UnreadableOutput
from .statements import HEADER, LABEL, statements

MAX_BYTES = 64 << 20
_PARAMETER = re.compile(
    r"^\.param\s+(?:\.align\s+\d+\s+)?\.(?P<type>\w+)(?:\s+\.ptr)?(?:\s+\.(?:global|shared|const|local|align)\b(?:\s+\d+)?)*"
    r"\s+(?P<name>[\w$.]+)(?:\[(?P<count>\d*)\])?$"
)
_VARIABLE = re.compile(
    r"^(?:\.(?:visible|weak|extern|common)\s+)*\.(?P<space>global|shared|const|local|param|reg)\b(?:::\w+)?\s*"
    r"(?P<type>(?:\.(?:align\s+\d+|attribute\s*\([^)]*\)|v[248]|[a-z]\w*)\s*)+)"
    r"(?P<name>%?[\w$.]+)(?:<(?P<range>\d+)>)?(?P<extents>(?:\[\d*\])*)(?P<rest>[\s\S]*)$"
)
_INSTRUCTION = re.compile(
    r"^(?:@(?P<negated>!?)(?P<predicate>%?[\w$]+)\s+)?(?P<opcode>[a-z]\w*(?:\.[\w:]+)*)(?:\s+(?P<rest>[\s\S]*))?$"
)
_LOC = re.compile(
    r"^\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:\s*,\s*function_name\s+\S+\s*,\s*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?\s*$"
)
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"((?:\\.|[^"\\\n])*)"', re.MULTILINE)
_BOUND = re.compile(r"\.(maxntid|reqntid|minnctapersm|maxnreg)\s+([\d\s,]+)")
_TYPE_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}
# The fewest operands of the instructions whose operands are looked at.
_OPERANDS = {
    "ld": 2,
    "ldu": 2,
    "st": 2,
    "atom": 2,
    "red": 2,
    "setp": 3,
    "bra": 1,
    "shfl": 4,
    "vote": 2,
    "bar": 1,
}
_IGNORED = re.compile(r"^\.(?:pragma|branchtargets|calltargets|callprototype|alias|noreturn|entry_target)\b")


@dataclass(frozen=True, slots=True)
class Place:
    """A source place: the file as the PTX names it, line and column from 1. `caller` is where it was inlined."""

    file: str
    line: int
    column: int
    caller: "Place | None" = None


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its opcode with all modifiers, and its operands as text. `predicate` with `negated` guard it."""

    opcode: str
    operands: tuple[str, ...]
    predicate: str | None = None
    negated: bool = False
    place: Place | None = None

    @property
    def parts(self) -> list[str]:
        """The opcode and its modifiers."""
        return self.opcode.split(".")


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable with memory: its space, and its size in bytes (0 where the size is given at the launch)."""

    name: str
    space: str
    element_bytes: int
    size_bytes: int


@dataclass(slots=True)
class Function:
    """One kernel or function. `labels` map to the index of the next instruction; `bounds` are its launch bounds."""

    name: str
    is_kernel: bool
    parameters: list[tuple[str, str, int]]
    bounds: dict[str, tuple[int, ...]]
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])


@dataclass(slots=True)
class Module:
    """A whole PTX text. `variables` are those outside functions."""

    target: str = ""
    files: dict[int, str] = field(default_factory=dict[int, str])
    functions: list[Function] = field(default_factory=list[Function])
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])

    @property
    def kernels(self) -> list[Function]:
        """The entry functions."""
        return [function for function in self.functions if function.is_kernel]


def parse(text: str) -> Module:
    """Read a PTX text. Raises UnreadableOutput where it is none, or holds a statement of an unknown form."""
    if len(text) > MAX_BYTES:
        raise UnreadableOutput(f"PTX of {len(text):,} bytes, {MAX_BYTES:,} are read", text[:100])
    reader = _Reader()
    reader.module.files = {int(number): name for number, name in _FILE.findall(text)}  # they may come last
    for statement in statements(text):
        reader.take(statement)
    if not reader.module.target:
        raise UnreadableOutput("no PTX: it has no .target", text[:200])
    if reader.function is not None:
        raise UnreadableOutput("PTX that ends inside a function", reader.function.name)
    return reader.module


class _Reader:
    """Takes statements one after another."""

    def __init__(self) -> None:
        self.module = Module()
        self.function: Function | None = None
        self._depth = 0
        self._header: Function | None = None
        self._place: Place | None = None
        self._in_section = False
        self._inlined: dict[tuple[int, int, int], Place] = {}

    def take(self, statement: str) -> None:
        """One statement or brace."""
        if statement in ("{", "}"):
            self._brace(opens=statement == "{")
        elif self._in_section:
            return
        elif statement.startswith(".section"):
            self._in_section = not statement.endswith(";")
        elif statement.startswith("."):
            self._directive(statement)
        elif self.function is not None:
            self._code(statement, self.function)
        else:
            raise UnreadableOutput("PTX statement outside a function", statement)

    def _brace(self, *, opens: bool) -> None:
        self._depth += 1 if opens else -1
        if self._depth < 0:
            raise UnreadableOutput("PTX with a closing brace too many", "}")
        if opens and self._header is not None:
            self.function, self._header = self._header, None
            self.module.functions.append(self.function)
            self._place = None
        elif not opens and self._depth == 0:
            self.function, self._in_section = None, False

    def _directive(self, statement: str) -> None:
        body = statement.rstrip(";").strip()
        for read in (self._position, self._heading, self._variable):
            if read(body, declared=statement.endswith(";")):
                return
        if not _IGNORED.match(body):
            raise UnreadableOutput("PTX directive that is not known", statement)

    def _position(self, body: str, *, declared: bool) -> bool:
        if re.match(r"\.loc\s", body):
            match = _LOC.match(body)
            if match is None:
                raise UnreadableOutput("PTX .loc of an unknown form", body)
            numbers = [int(number) for number in match.groups() if number is not None]
            outer = self._at(numbers[3:]) if len(numbers) > 3 else None
            self._place = self._at(numbers[:3], outer)
            return True
        if _FILE.match(body):
            return True
        if body.startswith(".target"):
            self.module.target = body.removeprefix(".target").strip()
            return True
        return body.startswith((".version", ".address_size")) and not declared

    def _at(self, numbers: list[int], caller: Place | None = None) -> Place | None:
        """A place; one named only as a caller was itself inlined where its own .loc, read before, says."""
        key = (numbers[0], numbers[1], numbers[2])
        name = self.module.files.get(numbers[0])
        if name is None or numbers[1] == 0:
            return None
        if caller is None and key in self._inlined:
            caller = self._inlined[key]
        elif caller is not None:
            self._inlined[key] = caller
        return Place(name, numbers[1], numbers[2], caller)

    def _heading(self, body: str, *, declared: bool) -> bool:
        match = HEADER.match(body)
        if match is None:
            return False
        if not declared:
            bounds = {
                name: tuple(int(number) for number in numbers.replace(",", " ").split())
                for name, numbers in _BOUND.findall(match.group("rest"))
            }
            kernel = match.group("kind") == "entry"
            parameters = list(_parameters(match.group("parameters") or ""))
            self._header = Function(match.group("name"), kernel, parameters, bounds)
        return True

    def _variable(self, body: str, *, declared: bool) -> bool:
        match = _VARIABLE.match(body)
        if match is None or not declared:
            return False
        if match.group("space") not in ("reg", "param"):
            variable = _memory(match)
            target = self.module.variables if self.function is None else self.function.variables
            target[variable.name] = variable
        return True

    def _code(self, statement: str, function: Function) -> None:
        rest = statement
        while (label := LABEL.match(rest)) is not None:
            function.labels[label.group(1)] = len(function.instructions)
            rest = rest[label.end() :]
        if rest.startswith("."):
            self._directive(rest)
            return
        body = rest.rstrip(";").strip()
        if not body:
            return
        match = _INSTRUCTION.match(body)
        if match is None or not rest.endswith(";"):
            raise UnreadableOutput("PTX instruction of an unknown form", statement)
        operands = tuple(_split(match.group("rest") or ""))
        if len(operands) < _OPERANDS.get(match.group("opcode").split(".")[0], 0):
            raise UnreadableOutput("PTX instruction that lacks operands", statement)
        function.instructions.append(
            Instruction(
                match.group("opcode"),
                operands,
                match.group("predicate"),
                bool(match.group("negated")),
                self._place,
            )
        )


def _parameters(text: str) -> Iterator[tuple[str, str, int]]:
    """(name, type, bytes) of each parameter."""
    for part in text.split(","):
        if not part.strip():
            continue
        match = _PARAMETER.match(" ".join(part.split()))
        if match is None:
            raise UnreadableOutput("PTX parameter of an unknown form", part)
        size = _TYPE_BYTES.get(match.group("type").lstrip("bufsp"), 0)
        yield match.group("name"), match.group("type"), size * int(match.group("count") or 1)


def _memory(match: re.Match[str]) -> Variable:
    kinds = re.findall(r"\.([a-z]\w*)", match.group("type"))
    width = next(
        (_TYPE_BYTES[kind.lstrip("bufs")] for kind in kinds if kind.lstrip("bufs") in _TYPE_BYTES), 0
    )
    vector = next((int(kind[1:]) for kind in kinds if re.fullmatch(r"v[248]", kind)), 1)
    size = width * vector
    for extent in re.findall(r"\[(\d*)\]", match.group("extents")):
        size *= int(extent or 0)
    return Variable(match.group("name"), match.group("space"), width, size)


def _split(text: str) -> Iterator[str]:
    """Operands at the commas outside of brackets."""
    depth, start = 0, 0
    for index, character in enumerate(text):
        if character in "{[(":
            depth += 1
        elif character in "}])":
            depth -= 1
        elif character == "," and depth == 0:
            yield text[start:index].strip()
            start = index + 1
    last = text[start:].strip()
    if last:
        yield last
