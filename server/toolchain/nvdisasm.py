"""nvdisasm: a cubin in, its machine code with source lines out. Text of `-gi -c`, from CUDA 12 to 13.5."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..command import Command, Finished, Input
from ..errors import UnreadableOutput

CUBIN_NAME = "kernel.cubin"
MAX_OUTPUT_BYTES = 64 << 20
_LINE = re.compile(
    r'^\s*//## File "(?P<file>[^"]*)", line (?P<line>\d+)(?: inlined at "(?P<outer>[^"]*)", line (?P<at>\d+))?'
)
_INSTRUCTION = re.compile(
    r"^\s*/\*(?P<address>[0-9a-f]{4,})\*/\s+(?:@(?P<predicate>!?U?P\w+)\s+)?(?P<opcode>[A-Z][\w.]*)(?P<operands>[^;]*?)\s*"
    r'(?P<marks>(?:\(\*".*?"\*\)\s*)*);'
)
_SECTION = re.compile(r'^\s*\.section\s+\.text\.(?P<name>[^,\s"]+|"[^"]+")')
_ENTRY = re.compile(r'^\s*\.other\s+(?P<name>\S+?),@"?[^"]*STO_CUDA_ENTRY')
_LABEL = re.compile(r"^\s*[\w.$@-]+:\s*$")
_OTHER = re.compile(r"^\s*(?:$|//|\.|/\*[0-9a-fx ]+\*/\s*$)")


@dataclass(frozen=True, slots=True)
class SassPlace:
    """A source line, and the calls that it was inlined through, innermost first."""

    file: str
    line: int
    callers: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class SassInstruction:
    """One machine instruction: `operands` as text; `is_spill` where the compiler moved a register to or from memory."""

    address: int
    opcode: str
    operands: str
    predicate: str | None
    place: SassPlace | None
    is_spill: bool = False


@dataclass(slots=True)
class SassFunction:
    """The machine code of one kernel or device function."""

    name: str
    is_kernel: bool = False
    instructions: list[SassInstruction] = field(default_factory=list[SassInstruction])


def command(cubin: Input, timeout_s: float = 60.0) -> Command:
    """Disassemble a cubin's code with line information and inlining."""
    return Command(
        "nvdisasm",
        ("-gi", "-c", CUBIN_NAME),
        {CUBIN_NAME: cubin},
        kind="analyze",
        timeout_s=timeout_s,
        max_output_bytes=MAX_OUTPUT_BYTES,
    )


def parse(finished: Finished) -> list[SassFunction]:
    """The functions with code, in file order. Raises UnreadableOutput, ProgramTimedOut, ProgramKilled."""
    ended = finished.require_end("nvdisasm")
    if ended.exit_code != 0:
        raise UnreadableOutput("nvdisasm could not read the cubin", ended.stderr or ended.stdout)
    if ended.stdout_dropped:
        raise UnreadableOutput(
            f"the disassembly is longer than {MAX_OUTPUT_BYTES:,} bytes", ended.stdout[:100]
        )
    return parse_text(ended.stdout.decode("utf-8", "replace"))


def parse_text(text: str) -> list[SassFunction]:
    """The same of the text alone."""
    if ".target" not in text[:2000] and ".headerflags" not in text[:2000]:
        raise UnreadableOutput("no disassembly: it names no target", text[:200])
    reader = _Reader()
    for line in text.splitlines():
        reader.take(line)
    return [function for function in reader.functions.values() if function.instructions]


class _Reader:
    def __init__(self) -> None:
        self.functions: dict[str, SassFunction] = {}
        self._function: SassFunction | None = None
        self._chain: list[tuple[str, int]] = []
        self._place: SassPlace | None = None
        self._lines_open = False

    def take(self, line: str) -> None:
        """One line of the disassembly."""
        match = _INSTRUCTION.match(line)
        if match is not None:
            self._instruction(match, line)
            return
        place = _LINE.match(line)
        if place is not None:
            self._source_line(place)
            return
        section = _SECTION.match(line)
        if section is not None:
            self._begin(section.group("name").strip('"'))
            return
        entry = _ENTRY.match(line)
        if entry is not None:
            self._named(entry.group("name")).is_kernel = True
        elif not _OTHER.match(line) and not _LABEL.match(line):
            raise UnreadableOutput("a line of nvdisasm that is not known", line)

    def _named(self, name: str) -> SassFunction:
        return self.functions.setdefault(name, SassFunction(name))

    def _begin(self, name: str) -> None:
        self._function, self._place, self._lines_open = self._named(name), None, False

    def _source_line(self, match: re.Match[str]) -> None:
        """Lines of one chain follow each other, innermost first; the first after an instruction starts a new chain."""
        if not self._lines_open:
            self._chain = []
            self._lines_open = True
        self._chain.append((match.group("file"), int(match.group("line"))))
        if match.group("outer") is not None:
            return
        (file, number), *callers = self._chain
        self._place = SassPlace(file, number, tuple(callers))
        self._lines_open = False

    def _instruction(self, match: re.Match[str], line: str) -> None:
        if self._function is None:
            raise UnreadableOutput("an instruction of nvdisasm outside of a function", line)
        self._lines_open = False
        self._function.instructions.append(
            SassInstruction(
                int(match.group("address"), 16),
                match.group("opcode"),
                match.group("operands").strip(),
                match.group("predicate"),
                self._place,
                "SpillRefill" in match.group("marks"),
            )
        )


def code(function: SassFunction) -> Iterator[SassInstruction]:
    """The instructions without the padding behind the end."""
    last = max(
        (at for at, each in enumerate(function.instructions) if each.opcode not in ("NOP", "BRA")), default=-1
    )
    yield from function.instructions[: last + 1]
