"""What freezing and looking at checkpoints tells. Each part is masked before it comes here; nothing is measured here."""

from collections.abc import Mapping
from typing import Any

from .answer import Answer, Detail
from .number import Frozen

DIFF_LINES: Mapping[Detail, int] = {"summary": 40, "evidence": 200, "raw": 2_000}
_INNER: Mapping[Detail, Detail] = {"summary": "summary", "evidence": "summary", "raw": "evidence"}


class PartState(Frozen):
    """What is frozen of one base component: measured, not applicable, or not measured, with the reason."""

    component: str
    state: str
    reason: str | None = None

    def __str__(self) -> str:
        return self.state + (f": {self.reason}" if self.reason else "")


class FreezeAnswer(Answer):
    """The checkpoint that keeps a state; `reused` says that nothing had to be measured."""

    checkpoint: str
    reused: bool
    parts: tuple[PartState, ...]

    def block(self, detail: Detail) -> dict[str, Any]:
        """The id, and each component's state."""
        parts = {part.component: str(part) for part in self.parts}
        return {"checkpoint": self.checkpoint, "reused": self.reused or None, "parts": parts}

    def block_lines(self, detail: Detail) -> list[str]:
        """One line a component."""
        return [f"{part.component}: {part}" for part in self.parts]


class CheckpointLine(Frozen):
    """One checkpoint in a list."""

    id: str
    candidate: str | None
    workload: str | None
    generation: int | None
    parent: str | None
    verdict: str | None
    summary: str
    age_s: float

    def __str__(self) -> str:
        told = [self.id, self.verdict, self.workload]
        told += [f"generation {self.generation}" if self.generation is not None else None]
        return " ".join(part for part in told if part) + f": {self.summary}"


class CheckpointList(Answer):
    """Checkpoints, newest first; `total` counts all that match."""

    checkpoints: tuple[CheckpointLine, ...]
    total: int

    def block(self, detail: Detail) -> dict[str, Any]:
        """The lines without what is unknown."""
        return {
            "checkpoints": [line.model_dump(exclude_none=True) for line in self.checkpoints],
            "total": self.total,
        }

    def block_lines(self, detail: Detail) -> list[str]:
        """One line each."""
        return [str(line) for line in self.checkpoints]


class CheckpointView(Answer):
    """One checkpoint: what it is of, and what is given of its report; the parts' own answers from `evidence` on."""

    checkpoint: str
    facts: Mapping[str, Any]
    parts: tuple[PartState, ...]
    answers: tuple[Answer, ...] = ()
    plan: str | None = None

    def block(self, detail: Detail) -> dict[str, Any]:
        """Facts, states, and the report in canonical order."""
        data: dict[str, Any] = {"checkpoint": self.checkpoint, **self.facts, "plan": self.plan}
        data["parts"] = {part.component: str(part) for part in self.parts}
        key = "summaries" if detail == "summary" else "report"
        data[key] = {
            str(one.component): one.summary if detail == "summary" else one.structured(_INNER[detail])
            for one in self.answers
        }
        return {name: value for name, value in data.items() if value not in (None, {}, [], ())}

    def block_lines(self, detail: Detail) -> list[str]:
        """The same as text."""
        lines = [f"{name}: {value}" for name, value in self.facts.items()]
        lines += [f"plan: {self.plan}"] if self.plan else []
        lines += [f"{part.component}: {part}" for part in self.parts if part.state != "measured"]
        for one in self.answers:
            text = one.summary if detail == "summary" else one.text(_INNER[detail])
            lines.append(
                f"== {one.component} ==\n{text}" if detail != "summary" else f"{one.component}: {text}"
            )
        return lines


class CheckpointDiff(Answer):
    """What changed from one checkpoint to another: source, findings gone and new by component, numbers, states."""

    before: str
    after: str
    source: tuple[str, ...] = ()
    changes: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
    numbers: Mapping[str, str] = {}

    def block(self, detail: Detail) -> dict[str, Any]:
        """The same as data, the source's diff cut to the detail's length."""
        shown = self.source[: DIFF_LINES[detail]]
        return {
            "before": self.before,
            "after": self.after,
            "source": list(shown),
            "source_lines_left_out": len(self.source) - len(shown),
            "changes": {
                name: {way: list(told) for way, told in ways.items()} for name, ways in self.changes.items()
            },
            "numbers": dict(self.numbers),
        }

    def block_lines(self, detail: Detail) -> list[str]:
        """As text."""
        shown = self.source[: DIFF_LINES[detail]]
        lines = [f"{name}: {change}" for name, change in self.numbers.items()]
        for component, ways in self.changes.items():
            lines += [f"{component}, {way}: {one}" for way, told in ways.items() for one in told]
        lines += shown
        left = len(self.source) - len(shown)
        return [*lines, *([f"left out: {left} lines of the source's diff"] if left else [])]
