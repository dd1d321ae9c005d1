"""Diagnostics of every stage that a CUDA build passes: the front end, the host compiler, ptxas, nvlink, the linker.

It reads text; what a message means is in `diagnostic_rules`. Nothing is guessed and no error is lost: a line of
unknown form that speaks of an error becomes a diagnostic of the program `unknown`.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "note"]
_SEVERITIES: dict[str, Severity] = {"remark": "note", "note": "note", "info": "note", "warning": "warning"}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the way to a diagnostic: an instantiation or an inclusion, with its place."""

    text: str
    file: str | None
    line: int


@dataclass(slots=True)
class Diagnostic:
    """One message of one program, as printed.

    `code` is the front end's number, the host compiler's warning option or a code of ptxas. `echo` is the source line
    it shows (macros expanded), `caret` the index it marks there. `notes` are its further lines. `trace` leads from the
    place outwards. `line` counts in `file`, which for ptxas is a PTX file.
    """

    program: str
    severity: Severity
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    code: str | None = None
    echo: str | None = None
    caret: int | None = None
    notes: list[str] = field(default_factory=list[str])
    trace: list[Step] = field(default_factory=list[Step])


_PATTERNS: tuple[tuple[str | None, re.Pattern[str]], ...] = (
    (
        None,
        re.compile(
            r"(?P<program>ptxas|nvlink|nvcc|fatbinary|cudafe\+\+|cicc|nvprune|tileiras)"
            r"(?: (?P<file>[^\s,][^,]*), line (?P<line>\d+);)? "
            r"(?P<severity>error|warning|fatal|info)\s*: (?:\((?P<code>C\d+)\) ?)?(?P<message>.*)"
        ),
    ),
    (
        "front end",
        re.compile(
            r"(?:(?P<file>[^\s(][^(]*)\((?P<line>\d+)\)|At end of source): "
            r"(?P<severity>(?:(?:catastrophic|internal|command-line) )?error|warning|remark|note)"
            r"(?: #(?P<code>\d+)(?:-D)?)?: (?P<message>.*)"
        ),
    ),
    (
        "host compiler",
        re.compile(
            r"(?P<file>[^\s:<][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? "
            r"(?P<severity>(?:internal compiler |fatal )?error|warning|note|sorry, unimplemented): "
            r"(?P<message>.*?)(?: \[(?P<code>-[\w+=-]+)\])?"
        ),
    ),
    (
        "nvcc",  # what a shell says of a stage of nvcc that crashed
        re.compile(
            r"(?P<message>(?:Segmentation fault|Aborted|Bus error|Illegal instruction)(?: \(core dumped\))?)"
        ),
    ),
    (
        "ld",
        re.compile(
            r"(?:\S*\bld(?:\.\w+)?: )?(?:(?P<file>[^\s:(][^:]*):(?:(?P<line>\d+)|\([^)]*\)): |\([^)\s]*\): )?"
            r"(?P<message>(?:undefined reference to|multiple definition of|cannot find -l|cannot open output file).*)"
        ),
    ),
    (
        "host compiler",
        re.compile(
            r"(?:cc1plus|cc1|gcc|g\+\+|<command-line>|as): (?P<severity>fatal error|error|warning): (?P<message>.*)"
        ),
    ),
)
_RESOURCES = re.compile(
    r"\d+ bytes gmem|Compiling entry function|Function properties|Used \d+ registers|Compile time"
)
_TRACE = re.compile(
    r"(?: {12}| {10}detected during )(?P<text>.+?) at line (?P<line>\d+)(?: of (?P<file>\S.*))?"
)
_INCLUDED = re.compile(r"(?:In file included from| +from) (?P<file>[^:]+):(?P<line>\d+)(?::\d+)?[,:]")
_SPEAKS_OF_ERROR = re.compile(r"\b(?:error|fatal)\b", re.IGNORECASE)
_SUMMARY = re.compile(
    r"\d+ (?:catastrophic )?errors? detected in (?:the|this) compilation.*|Error limit reached\."
    r"|[Cc]ompilation terminated\.?"
    r"|Remark: .*|collect2: error: ld returned \d+ exit status|ptxas fatal\s+: Ptx assembly aborted due to errors"
    r"|.*: In (?:function|instantiation|member function|lambda function) .*:|.*: At global scope:"
)


def parse(log: str) -> tuple[Diagnostic, ...]:
    """Every diagnostic of a build's log, in its order."""
    reader = _Reader()
    for line in log.splitlines():
        reader.read(line.rstrip())
    reader.end_block()
    return tuple(reader.found)


class _Reader:
    """The diagnostics read so far, and the lines after the last header whose meaning its caret line decides."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self.block: list[str] = []
        self.included: list[Step] = []
        self.shown: Diagnostic | None = (
            None  # whose source line the block shows: the last one, or a note of it
        )

    def read(self, line: str) -> None:
        new = None if line.startswith(" ") else _header(line)
        if included := _INCLUDED.fullmatch(line):
            self.included.append(Step("included", included["file"], int(included["line"])))
        elif not line or _SUMMARY.fullmatch(line):
            self.end_block()
        elif new is not None:
            self.end_block()
            self.start(new)
        elif line.startswith(" ") and self.found:
            self.continue_block(line)
        elif _SPEAKS_OF_ERROR.search(line):
            self.end_block()
            self.found.append(Diagnostic("unknown", "error", line))

    def start(self, new: Diagnostic) -> None:
        if new.program == "ptxas" and new.severity == "note" and _RESOURCES.match(new.message):
            return
        self.shown = new
        if new.severity == "note" and new.program in ("front end", "host compiler") and self.found:
            last = self.found[-1]
            elsewhere = new.line is not None and new.file == last.file and new.line != last.line
            last.notes.append(f"{new.message} (line {new.line})" if elsewhere else new.message)
            return
        new.trace, self.included = self.included, []
        self.found.append(new)

    def continue_block(self, line: str) -> None:
        step = _TRACE.fullmatch(line)
        led = self.found[-1].trace or line.lstrip().startswith("detected during ")
        if step and (led or (self.block and self.block[-1].strip() == "detected during:")):
            self.block.clear()
            steps = self.found[-1].trace
            file = step["file"] or (steps[-1].file if steps else self.found[-1].file)
            steps.append(Step(step["text"], file, int(step["line"])))
        elif line.strip() == "^" and self.block and self.shown and self.shown.program == "front end":
            self.shown.echo, self.shown.caret = self.block.pop()[2:], line.index("^") - 2
            self.end_block()
        else:
            self.block.append(line)

    def end_block(self) -> None:
        """What no caret claimed as a source line belongs to the message."""
        if self.shown is not None and self.shown.program == "front end":
            self.shown.notes += [line.strip() for line in self.block if line.strip() != "detected during:"]
        self.block.clear()


def _header(line: str) -> Diagnostic | None:
    for program, pattern in _PATTERNS:
        if match := pattern.fullmatch(line):
            held = match.groupdict()
            return Diagnostic(
                program=program or held["program"],
                severity=_SEVERITIES.get(held.get("severity") or "error", "error"),
                message=held["message"].strip(),
                file=held.get("file"),
                line=int(held["line"]) if held.get("line") else None,
                column=int(held["column"]) if held.get("column") else None,
                code=held.get("code"),
            )
    return None
