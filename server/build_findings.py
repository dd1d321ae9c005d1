"""Compiler diagnostics as findings: named, placed in the candidate's own files, each told once, the real error first."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from .command import WORK_FOLDER
from .reports.finding import Finding, Location, Severity, ranked
from .toolchain.demangle import demangle, in_text, short_name
from .toolchain.diagnostic_rules import is_syntax, rule, suggestion
from .toolchain.diagnostics import Diagnostic
from .toolchain.nvcc import MACROS_NAME
from .toolchain.ptx_places import PtxPlaces

_SYMBOL = re.compile(r"'?(_Z[A-Za-z0-9_.$]+|(?<=function ')[\w$]+(?=')|(?<=for entry )(?!function)[\w$]+)'?")
_SPILLED = re.compile(
    r"spilled to local memory in function '(.*)', (\d+) bytes spill stores, (\d+) bytes spill loads"
)
_MESSAGE_CHARACTERS = 320
_EXCERPT_CHARACTERS = 140
_FOLLOWING_TOLD = 3
_NOTES_IN_MESSAGE = 3
_INSIDE_RULES = ("ptxas-unresolved-extern", "nvlink-undefined-reference")


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of a candidate by name, their text read when first needed, and the PTX made of them if there is any."""

    main: str
    names: frozenset[str]
    read: Callable[[str], str]
    ptx: PtxPlaces | None = None
    _lines: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def lines(self, name: str) -> list[str]:
        """The lines of one file."""
        if name not in self._lines:
            self._lines[name] = self.read(name).splitlines()
        return self._lines[name]

    def line(self, name: str, number: int | None) -> str | None:
        """One line, counted from 1; None where the file has none of that number."""
        held = self.lines(name) if name in self.names else []
        return held[number - 1] if number and 0 < number <= len(held) else None

    def own(self, path: str) -> str | None:
        """The candidate's file that a compiler's path means; None for a file that is not the candidate's."""
        clean = PurePosixPath(
            re.sub(r"(?:^|/)[^/.][^/]*/\.\.(?=/)", "", path.removeprefix(f"{WORK_FOLDER}/"))
        )
        if str(clean) in self.names:
            return str(clean)
        return max((name for name in self.names if path.endswith(f"/{name}")), key=len, default=None)

    def definition(self, symbol: str) -> Location | None:
        """Where a function is defined, by its text: `__global__ ... name(`."""
        base = re.sub(r"<.*", "", short_name(demangle(symbol))).rpartition("::")[2]
        head = re.compile(rf"__(?:global|device)__[^;{{}}]*?\b{re.escape(base)}\s*\(")
        for name in (self.main, *sorted(self.names - {self.main})):
            text = "\n".join(self.lines(name))
            if found := head.search(text):
                return Location(file=name, line=text.count("\n", 0, found.end()) + 1)
        return None


def findings(diagnostics: tuple[Diagnostic, ...], sources: Sources, arch: str) -> tuple[Finding, ...]:
    """The diagnostics as findings: repeated ones joined and counted, errors that only follow marked and put last."""
    told: dict[tuple[object, ...], Finding] = {}
    instances: Counter[tuple[object, ...]] = Counter()
    chains: set[tuple[object, ...]] = set()
    for found in _worth_telling(diagnostics, sources):
        made = _finding(found, sources, arch)
        place = (made.location.file, made.location.line) if made.location else None
        key = (made.rule, place, found.message if made.location else made.message)
        chain = (*key, *((step.file, step.line, step.text) for step in found.trace), found.line)
        if chain not in chains:
            chains.add(chain)
            instances[key] += 1
        told.setdefault(key, made)
    counted = [_with_instances(finding, instances[key]) for key, finding in told.items()]
    return ranked(_real_first(counted))


def _worth_telling(diagnostics: tuple[Diagnostic, ...], sources: Sources) -> Iterator[Diagnostic]:
    """All but local memory where spills are told of the same function, and warnings about the toolkit's own headers."""
    spilled = {_symbol(found) for found in diagnostics if rule(found) == "ptxas-spills"}
    for found in diagnostics:
        known = rule(found) == "ptxas-local-memory" and _symbol(found) in spilled
        places = [found.file, *(step.file for step in found.trace)]
        foreign = found.program == "front end" and not any(place and sources.own(place) for place in places)
        if not known and not (foreign and found.file and found.severity != "error"):
            yield found


def _finding(found: Diagnostic, sources: Sources, arch: str) -> Finding:
    name = rule(found)
    location, outside = _location(found, sources, name)
    symbol = _symbol(found)
    evidence: dict[str, Any] = {}
    if outside:
        evidence["reported_in"] = outside
    if len(found.notes) > _NOTES_IN_MESSAGE:
        evidence["notes"] = [_cut(note) for note in found.notes[_NOTES_IN_MESSAGE:8]]
    return Finding(
        rule=name,
        severity=_severity(found),
        message=_message(found),
        kernel=short_name(demangle(symbol)) if symbol and found.program == "ptxas" else None,
        location=location,
        related=_instantiations(found, sources, location),
        excerpt=_excerpt(location, sources),
        evidence=evidence,
        suggestion=suggestion(name, found, arch),
    )


def _severity(found: Diagnostic) -> Severity:
    return "warning" if found.message.startswith("Potential Performance Loss") else found.severity


def _message(found: Diagnostic) -> str:
    text = in_text(found.message).replace(WORK_FOLDER + "/", "")
    if spilled := _SPILLED.search(text):
        stores, loads = int(spilled[2]), int(spilled[3])
        return f"{spilled[1]} spills registers: {stores:,} bytes of stores, {loads:,} of loads"
    if found.program == "ptxas":
        text = re.sub(r"\b0x([0-9a-f]+) bytes", lambda match: f"{int(match[1], 16):,} bytes", text)
        text = re.sub(r"\b0x([0-9a-f]+) max", lambda match: f"{int(match[1], 16):,} max", text)
    if found.program in ("nvlink", "ld"):
        text = re.sub(r"; \S+:\([^)]*\): first defined here| in '\S+\.o'$", "", text)
    notes = "; ".join(found.notes[:_NOTES_IN_MESSAGE])
    return _cut(f"{text} ({notes})" if notes else text)


def _cut(text: str) -> str:
    half = _MESSAGE_CHARACTERS // 2
    return text if len(text) <= _MESSAGE_CHARACTERS else f"{text[:half]} … {text[-half:]}"


def _symbol(found: Diagnostic) -> str | None:
    match = _SYMBOL.search(found.message)
    return match[1] if match else None


def _location(found: Diagnostic, sources: Sources, name: str) -> tuple[Location | None, str | None]:
    """(place in the candidate, place outside of it that the compiler named)."""
    if found.program in ("ptxas", "nvlink"):
        return _device_location(found, sources, name), None
    if found.file is None:
        whole = found.program == "front end"
        return (Location(file=sources.main, line=len(sources.lines(sources.main))) if whole else None), None
    own = sources.own(found.file)
    if own is not None:
        return Location(file=own, line=found.line, column=_column(found, sources.line(own, found.line))), None
    outside = f"{_header(found.file)}:{found.line}"
    for step in found.trace:
        if step.file and (inside := sources.own(step.file)):
            return Location(file=inside, line=step.line), outside
    return (
        None if found.file.endswith(MACROS_NAME) else Location(file=_header(found.file), line=found.line)
    ), outside


def _device_location(found: Diagnostic, sources: Sources, name: str) -> Location | None:
    symbol = _symbol(found)
    place = None
    if sources.ptx and found.line:
        place = sources.ptx.place(found.line)
    elif sources.ptx and symbol and name in _INSIDE_RULES:
        place = sources.ptx.use(symbol)
    if place and (own := sources.own(place.file)):
        return Location(file=own, line=place.line, column=place.column or None)
    if name == "ptxas-constant-memory":
        return _first_match(sources, re.compile(r"^[^/\n]*__constant__", re.MULTILINE))
    return sources.definition(symbol) if symbol and name not in _INSIDE_RULES else None


def _first_match(sources: Sources, pattern: re.Pattern[str]) -> Location | None:
    text = "\n".join(sources.lines(sources.main))
    found = pattern.search(text)
    return Location(file=sources.main, line=text.count("\n", 0, found.end()) + 1) if found else None


def _header(path: str) -> str:
    """A file that is not the candidate's, as an #include names it: no path of this machine."""
    inside = re.search(r".*/include/(?:cccl/|c\+\+/\d+/)?(.+)", path)
    return f"<{inside[1]}>" if inside else PurePosixPath(path).name


def _column(found: Diagnostic, line: str | None) -> int | None:
    """The column in the source of what the caret marks in the shown line, in which macros are expanded."""
    if found.column or found.echo is None or found.caret is None or line is None:
        return found.column
    source = line.expandtabs(1).rstrip()
    tail = found.echo.rstrip()[found.caret :]
    for shown in (source, re.sub(r"\s*//.*", "", source)):
        if tail and shown.endswith(tail):
            return len(shown) - len(tail) + 1
    return found.caret + 1 if source.startswith(found.echo[: found.caret + 1]) else None


def _excerpt(location: Location | None, sources: Sources) -> str | None:
    line = sources.line(location.file, location.line) if location else None
    if line is None or not line.strip():
        return None
    text, start = line.strip(), len(line) - len(line.lstrip())
    if len(text) <= _EXCERPT_CHARACTERS:
        return text
    middle = max(((location.column if location else None) or 1) - 1 - start - _EXCERPT_CHARACTERS // 2, 0)
    cut = text[middle : middle + _EXCERPT_CHARACTERS]
    return f"{'… ' if middle else ''}{cut}{' …' if middle + _EXCERPT_CHARACTERS < len(text) else ''}"


def _instantiations(found: Diagnostic, sources: Sources, location: Location | None) -> tuple[Location, ...]:
    places = [
        Location(file=own, line=step.line)
        for step in found.trace
        if step.file and (own := sources.own(step.file))
    ]
    return tuple(dict.fromkeys(place for place in places if place != location))[:4]


def _with_instances(finding: Finding, count: int) -> Finding:
    if count == 1:
        return finding
    return finding.model_copy(update={"evidence": {**finding.evidence, "instances": count}})


def _real_first(told: list[Finding]) -> list[Finding]:
    """Errors behind the first syntax error of a file, or beside an unknown name on its line, are likely its echo."""
    unknown = {_line(finding) for finding in told if finding.rule == "nvcc-undefined-identifier"} - {None}
    broken: set[str] = set()
    real: list[Finding] = []
    following: list[Finding] = []
    for finding in told:
        file = finding.location.file if finding.location else None
        beside = finding.rule != "nvcc-undefined-identifier" and _line(finding) in unknown
        follows = finding.severity == "error" and (file in broken or beside)
        if finding.severity == "error" and is_syntax(finding.rule) and file and not beside:
            broken.add(file)
        (following if follows else real).append(_as_following(finding) if follows else finding)
    return [*real, *following[:_FOLLOWING_TOLD], *_left_out(following[_FOLLOWING_TOLD:])]


def _as_following(finding: Finding) -> Finding:
    evidence = {**finding.evidence, "follow_up": True}
    return finding.model_copy(
        update={"confidence": "possible", "evidence": evidence, "excerpt": None, "suggestion": None}
    )


def _left_out(following: list[Finding]) -> list[Finding]:
    """The rest of a cascade, told in one."""
    if not following:
        return []
    lines = sorted(
        {finding.location.line for finding in following if finding.location and finding.location.line}
    )
    return [
        Finding(
            rule="nvcc-follow-ups",
            severity="note",
            confidence="possible",
            message=f"{len(following)} further errors that likely follow from those before them",
            evidence={"lines": lines[:40], "follow_up": True},
        )
    ]


def _line(finding: Finding) -> tuple[str, int] | None:
    if finding.location is None or finding.location.line is None or finding.severity != "error":
        return None
    return finding.location.file, finding.location.line
