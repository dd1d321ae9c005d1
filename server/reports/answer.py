"""What every tool answers: the fields that all answers share, and how they become text and structured content.

Each tool's answer is a subclass that adds its own block: fields for programs, `block()` for the structured content
and `block_lines()` for the text, both within the detail asked for.
"""

from typing import Any, ClassVar, Literal

from .finding import Finding, SkippedCheck
from .number import Frozen, Provenance

Detail = Literal["summary", "evidence", "raw"]
FINDINGS_SHOWN: dict[Detail, int] = {"summary": 6, "evidence": 40, "raw": 200}


class Origin(Frozen):
    """Where an answer comes from: measured now, or recorded earlier (with its age), and in which environment."""

    how: Provenance
    environment: str
    age_s: float | None = None
    sandbox: str | None = None


class Artifact(Frozen):
    """Something longer than an answer that `artifact` pages through."""

    uri: str
    name: str
    size_bytes: int


class Answer(Frozen):
    """One tool's answer about one candidate. `findings` come most important first, `next` is at most three steps."""

    component: ClassVar[str | None] = None
    candidate: str | None = None
    summary: str
    findings: tuple[Finding, ...] = ()
    provenance: Origin | None = None
    artifacts: tuple[Artifact, ...] = ()
    next: tuple[str, ...] = ()
    checks_run: tuple[str, ...] = ()
    checks_skipped: tuple[SkippedCheck, ...] = ()

    def block(self, detail: Detail) -> dict[str, Any]:
        """The tool's own part of the structured content."""
        return {}

    def block_lines(self, detail: Detail) -> list[str]:
        """The same facts as text lines."""
        return []

    def structured(self, detail: Detail = "summary") -> dict[str, Any]:
        """The whole answer as compact JSON data: nothing empty, nothing unknown, findings cut to the detail's number."""
        shown = FINDINGS_SHOWN[detail]
        data: dict[str, Any] = {"state": "done", "candidate": self.candidate, "summary": self.summary}
        data["findings"] = [_finding_data(finding, detail) for finding in self.findings[:shown]]
        if len(self.findings) > shown:
            data["findings_left_out"] = len(self.findings) - shown
        data |= self.block(detail)
        data["checks_run"] = list(self.checks_run)
        data["checks_skipped"] = [skipped.model_dump() for skipped in self.checks_skipped]
        if self.provenance:
            data["provenance"] = self.provenance.model_dump(exclude_none=True)
        data["artifacts"] = [artifact.model_dump() for artifact in self.artifacts]
        data["next"] = list(self.next)
        return {key: value for key, value in data.items() if value not in (None, [], {}, ())}

    def text(self, detail: Detail = "summary") -> str:
        """The whole answer for a reader: verdict, evidence, next step."""
        shown = FINDINGS_SHOWN[detail]
        lines = [self.summary]
        for finding in self.findings[:shown]:
            lines += _finding_lines(finding, detail)
        if len(self.findings) > shown:
            lines.append(f"left out: {len(self.findings) - shown} findings")
        lines += self.block_lines(detail)
        if self.checks_run:
            lines.append("checked: " + ", ".join(self.checks_run))
        lines += [f"not checked: {skipped.check} ({skipped.reason})" for skipped in self.checks_skipped]
        lines.append(_origin_line(self.candidate, self.provenance))
        lines += [
            f"more: {artifact.uri} ({artifact.name}, {artifact.size_bytes:,} bytes)"
            for artifact in self.artifacts
        ]
        lines += [f"next: {step}" for step in self.next]
        return "\n".join(line for line in lines if line)


class Running(Answer):
    """Not an answer yet: the job that works on it, how far it is, and what to call next."""

    job: str
    fraction: float | None = None

    def structured(self, detail: Detail = "summary") -> dict[str, Any]:
        """`state`, `job`, `progress` and `next`, nothing else."""
        progress: dict[str, Any] = {"message": self.summary}
        if self.fraction is not None:
            progress["fraction"] = round(self.fraction, 3)
        return {"state": "running", "job": self.job, "progress": progress, "next": list(self.next)}

    def text(self, detail: Detail = "summary") -> str:
        """The same in one or two lines."""
        share = "" if self.fraction is None else f" ({self.fraction:.0%})"
        return "\n".join(
            [f"running: {self.summary}{share} [{self.job}]", *(f"next: {step}" for step in self.next)]
        )


def _finding_data(finding: Finding, detail: Detail) -> dict[str, Any]:
    data = finding.model_dump(exclude_defaults=True, exclude_none=True)
    data |= {"severity": finding.severity}
    if detail == "summary":
        for key in ("evidence", "related", "confirm"):
            data.pop(key, None)
    return data


def _finding_lines(finding: Finding, detail: Detail) -> list[str]:
    place = f"{finding.location}: " if finding.location else ""
    lines = [f"{finding.severity}: {place}{finding.message} [{finding.rule}]"]
    if finding.excerpt:
        lines += [f"    {line}" for line in finding.excerpt.splitlines()]
    if finding.suggestion:
        lines.append(f"  do: {finding.suggestion}")
    if detail != "summary":
        lines += [f"  {key}: {value}" for key, value in finding.evidence.items()]
        lines += [f"  also: {location}" for location in finding.related]
        lines += [f"  confirm: {finding.confirm}"] if finding.confirm else []
    return lines


def _origin_line(candidate: str | None, origin: Origin | None) -> str:
    if origin is None:
        return ""
    age = "" if origin.age_s is None else f" {_age(origin.age_s)} ago"
    subject = f"{candidate}: " if candidate else ""
    return f"{subject}{origin.how}{age} with {origin.environment}"


def _age(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
