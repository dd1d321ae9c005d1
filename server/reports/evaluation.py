"""What a judgement tells: the verdict, the detailed status, the speed-up with its interval, and what was not excluded."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from .answer import Answer, Detail
from .number import Frozen
from .speedup import SpeedupReport

Assurance = Literal["A", "B", "C"]
VerdictName = Literal["FAIL", "COMPILE", "PASS", "FAST"]


class HiddenSizes(Frozen):
    """The sizes that were drawn after the candidate was fixed, and the seed that repeats the draw."""

    seed: str
    repeated: bool
    sizes: tuple[dict[str, int], ...]

    def __str__(self) -> str:
        drawn = "; ".join(
            ", ".join(f"{name} = {value}" for name, value in sizes.items()) for sizes in self.sizes
        )
        return f"{drawn} (seed {self.seed}{', a repeated draw' if self.repeated else ''})"


class Measurement(Frozen):
    """How a judgement was measured: milliseconds by phase, and the GPU's state before and after."""

    phases_ms: Mapping[str, float] = {}
    conditions: Mapping[str, Any] = {}

    def data(self) -> dict[str, Any]:
        """As structured content."""
        return {"phases_ms": dict(self.phases_ms), "conditions": dict(self.conditions)}

    def lines(self) -> list[str]:
        """As text."""
        lines = [f"{name}: {value:g} ms" for name, value in self.phases_ms.items()]
        return [*lines, *(f"{name}: {value}" for name, value in self.conditions.items())]


class EvaluationAnswer(Answer):
    """The verdict on a candidate: FAIL < COMPILE < PASS < FAST, with one status by fixed precedence."""

    component: ClassVar[str | None] = "evaluation"
    verdict: VerdictName
    status: str
    workload: str
    assurance: Assurance
    speedup: SpeedupReport | None = None
    hidden: HiddenSizes | None = None
    measured: Measurement = Measurement()

    def block(self, detail: Detail) -> dict[str, Any]:
        """Verdict, status, speed-up, hidden sizes; phases and conditions with the evidence."""
        data: dict[str, Any] = {"verdict": self.verdict, "status": self.status, "workload": self.workload}
        data["assurance"] = self.assurance
        if self.speedup:
            data["speedup"] = self.speedup.model_dump()
        if self.hidden:
            data["hidden"] = self.hidden.model_dump()
        return data if detail == "summary" else data | self.measured.data()

    def block_lines(self, detail: Detail) -> list[str]:
        """The same as lines."""
        lines = [f"speed-up: {self.speedup}"] if self.speedup else []
        lines += [f"hidden sizes: {self.hidden}"] if self.hidden else []
        lines += [f"assurance: tier {self.assurance}"]
        return lines if detail == "summary" else [*lines, *self.measured.lines()]
