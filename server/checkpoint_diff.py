"""What changed between two checkpoints: lines, findings, numbers. It sees only the answers that it is handed."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from .blobs import Blobs
from .reports.answer import Answer
from .reports.finding import Finding

MAX_NUMBERS = 60
_NOISE = (
    "provenance",
    "findings",
    "artifacts",
    "next",
    "phases_ms",
    "conditions",
    "seed",
    "summary",
    "candidate",
)


@dataclass(frozen=True, slots=True)
class Difference:
    """`source`: a unified diff; `findings`: component -> {"gone", "new"} -> lines; `numbers`: path -> "a -> b"."""

    source: tuple[str, ...]
    findings: Mapping[str, Mapping[str, tuple[str, ...]]]
    numbers: Mapping[str, str]


def difference(
    files: tuple[Mapping[str, str], Mapping[str, str]],
    before: Mapping[str, Answer],
    after: Mapping[str, Answer],
    blobs: Blobs,
) -> Difference:
    """From the first to the second."""
    findings: dict[str, Mapping[str, tuple[str, ...]]] = {}
    numbers: dict[str, str] = {}
    for name in before.keys() & after.keys():
        old, new = _lines(before[name]), _lines(after[name])
        ways = {
            "gone": tuple(line for line in old if line not in new),
            "new": tuple(line for line in new if line not in old),
        }
        if told := {way: lines for way, lines in ways.items() if lines}:
            findings[name] = told
        numbers |= _changes(name, before[name], after[name])
    shown = dict(sorted(numbers.items())[:MAX_NUMBERS])
    return Difference(tuple(_source(*files, blobs)), findings, shown)


def _lines(answer: Answer) -> list[str]:
    return [_line(finding) for finding in answer.findings]


def _line(finding: Finding) -> str:
    place = f"{finding.location}: " if finding.location else ""
    return f"{finding.severity}: {place}{finding.message} [{finding.rule}]"


def _changes(name: str, before: Answer, after: Answer) -> dict[str, str]:
    old = dict(_leaves(name, before.structured("evidence")))
    new = dict(_leaves(name, after.structured("evidence")))
    paths = [path for path in old.keys() | new.keys() if old.get(path) != new.get(path)]
    return {path: f"{_shown(old.get(path))} -> {_shown(new.get(path))}" for path in paths}


def _shown(value: object) -> str:
    return "none" if value is None else str(value)[:120]


def _leaves(path: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            if key not in _NOISE:
                yield from _leaves(f"{path}.{key}", inner)
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[object]", value)):
            yield from _leaves(f"{path}[{_label(inner, index)}]", inner)
    else:
        yield path, value


def _label(value: object, index: int) -> object:
    if not isinstance(value, dict):
        return index
    named = cast("dict[str, object]", value)
    return named.get("name", named.get("kernel", index))


def _source(before: Mapping[str, str], after: Mapping[str, str], blobs: Blobs) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            old, new = (
                blobs.read(files[name]).decode("utf-8", "replace").splitlines() if name in files else []
                for files in (before, after)
            )
            yield from difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", lineterm="", n=2)
