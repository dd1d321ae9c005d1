"""Diagnostics of every stage that a CUDA build passes: the front end, the host compiler, ptxas, nvlink, the linker.

Nothing is guessed and no error is lost: a line of unknown form that speaks of an error becomes a diagnostic itself.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "note"]
_SEVERITIES = {"remark": "note", "note": "note", "info": "note", "warning": "warning"}


@dataclass(slots=True)
class Diagnostic:
    """One message of one program, as printed; `echo` is the source line it shows and `caret` its marked column there.

    `code` is the number of the front end, a warning option of the host compiler or a code of ptxas. `trace` holds the
    (text, line) of the template instantiations that led to it. `line` counts in `file`, which may be a PTX file.
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
    trace: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])


_FRONT_END = re.compile(
    r"(?P<file>[^\s(][^(]*)\((?P<line>\d+)\): "
    r"(?P<severity>(?:(?:catastrophic|internal|command-line) )?error|warning|remark|note)(?: #(?P<code>\d+)(?:-D)?)?: (?P<message>.*)"
)
_HOST = re.compile(
    r"(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? "
    r"(?P<severity>fatal error|error|warning|note|sorry, unimplemented): (?P<message>.*?)(?: \[(?P<code>-[\w+=-]+)\])?"
)
_PLACELESS = re.compile(
    r"(?P<program>[\w.+/-]+|<command-line>): (?P<severity>fatal error|internal compiler error|error|warning): (?P<message>.*)"
)
_TOOL = re.compile(
    r"(?P<program>ptxas|nvlink|nvcc|fatbinary|cudafe\+\+|cicc|nvprune|tileiras)"
    r"(?: (?P<file>[^\s,][^,]*), line (?P<line>\d+);)? "
    r"(?P<severity>error|warning|fatal|info)\s*: (?:\((?P<code>C\d+)\) ?)?(?P<message>.*)"
)
_LINKER = re.compile(
    r"(?:(?P<program>\S*\bld(?:\.\w+)?): )?(?:(?P<file>[^\s:][^:]*):(?:(?P<line>\d+)|\([^)]*\)): )?"
    r"(?P<message>(?:undefined reference to|multiple definition of|cannot find -l|cannot open output file).*)"
)
_RESOURCES = re.compile(
    r"\d+ bytes gmem|Compiling entry function|Function properties|Used \d+ registers|Compile time"
)
_TRACE = re.compile(
    r"\s+(?P<text>(?:instantiation|implicit|at|processing|.*\bat line\b).*?)(?: at line (?P<line>\d+)(?: of \S+)?)?"
)
_SPEAKS_OF_ERROR = re.compile(r"\b(?:error|fatal)\b", re.IGNORECASE)
_SUMMARY = re.compile(
    r"\d+ errors? detected in (?:the|this) compilation.*|Error limit reached\.|Compilation terminated\.|compilation terminated\.?"
    r"|Remark: .*|collect2: error: ld returned \d+ exit status|make: .*|ptxas fatal\s+: Ptx assembly aborted due to errors"
)


def parse(log: str) -> tuple[Diagnostic, ...]:
    """Every diagnostic in its order."""
    found: list[Diagnostic] = []
    for line in log.splitlines():
        text = line.rstrip()
        if not text or _SUMMARY.fullmatch(text):
            continue
        new = _started(text)
        if new is None:
            if found and text.startswith(" "):
                _continue(found[-1], text)
            elif _SPEAKS_OF_ERROR.search(text):
                found.append(Diagnostic("unknown", "error", text))
        elif new.program == "front end" and new.severity == "note" and found:
            found[-1].notes.append(new.message)
        elif not (new.program == "ptxas" and new.severity == "note" and _RESOURCES.match(new.message)):
            found.append(new)
    return tuple(found)


def _started(text: str) -> Diagnostic | None:
    for program, pattern in (
        ("", _TOOL),
        ("front end", _FRONT_END),
        ("host compiler", _HOST),
        ("ld", _LINKER),
        ("", _PLACELESS),
    ):
        if match := pattern.fullmatch(text):
            held = match.groupdict()
            severity = _SEVERITIES.get(held.get("severity") or "error", "error")
            return Diagnostic(
                program=program or held["program"],
                severity=severity,  # type: ignore[arg-type]
                message=held["message"],
                file=held.get("file"),
                line=int(held["line"]) if held.get("line") else None,
                column=int(held["column"]) if held.get("column") else None,
                code=held.get("code"),
            )
    return None


def _continue(last: Diagnostic, text: str) -> None:
    if text.strip() == "^" and last.echo is not None:
        last.caret = text.index("^") - 2
    elif text.strip() == "detected during:":
        pass
    elif trace := (_TRACE.fullmatch(text) if text.startswith("      ") else None):
        if trace["line"]:
            last.trace.append((trace["text"], int(trace["line"])))
    elif last.program == "front end" and last.echo is None:
        last.echo = text[2:]
