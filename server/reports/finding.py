"""A finding: one fact about a kernel that someone should act on."""

from collections.abc import Mapping
from typing import Any, Literal

from .number import Frozen

Severity = Literal["error", "warning", "note"]
Confidence = Literal["certain", "likely", "possible"]
SEVERITY_ORDER: Mapping[str, int] = {"error": 0, "warning": 1, "note": 2}


class Location(Frozen):
    """A place in a source file: `file` is relative to the client's root; lines and columns count from 1."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)


class Finding(Frozen):
    """One located fact, with the evidence for it and the next step.

    `rule` names the kind (for a compiler diagnostic its code); `evidence` holds the structured facts that guidance
    matches on (counts, ranges, values with units in the key); `confirm` names the tool or metric that would confirm it.
    """

    rule: str
    severity: Severity
    confidence: Confidence = "certain"
    message: str
    kernel: str | None = None
    location: Location | None = None
    related: tuple[Location, ...] = ()
    excerpt: str | None = None
    evidence: Mapping[str, Any] = {}
    suggestion: str | None = None
    confirm: str | None = None


class SkippedCheck(Frozen):
    """A check that did not run, why, and what would make it run."""

    check: str
    reason: str


def ranked(findings: list[Finding]) -> tuple[Finding, ...]:
    """Findings ordered by severity, keeping the given order inside a severity."""
    return tuple(sorted(findings, key=lambda finding: SEVERITY_ORDER[finding.severity]))
