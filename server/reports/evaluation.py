"""What a judgement tells: the verdict, the detailed status, the speed-up with its interval, and what was not excluded."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from .answer import Answer, Detail
from .number import Frozen

Assurance = Literal["A", "B", "C"]


class SpeedupReport(Frozen):
    """Baseline time over candidate time, medians of cold calls in microseconds; the 95 % interval is of the ratio."""

    comparison: Literal["FASTER", "SLOWER", "SAME", "INCONCLUSIVE"]
    ratio: float
    low: float
    high: float
    pairs: int
    candidate_us: float
    baseline_us: float
    candidate_warm_us: float | None = None
    baseline_warm_us: float | None = None
    sizes: dict[str, int]
    flush: str

    def __str__(self) -> str:
        times = f"{self.candidate_us:.4g} us against {self.baseline_us:.4g} us"
        return f"{self.ratio:.3f}x [{self.low:.3f}, {self.high:.3f}] {self.comparison} ({times}, {self.pairs} pairs)"


class HiddenSizes(Frozen):
    """The sizes that were drawn after the candidate was fixed, and the seed that repeats the draw."""

    seed: str
    repeated: bool
    sizes: tuple[dict[str, int], ...]


class EvaluationAnswer(Answer):
    """The verdict on a candidate: FAIL < COMPILE < PASS < FAST, with one status by fixed precedence."""

    component: ClassVar[str | None] = "evaluation"
    verdict: Literal["FAIL", "COMPILE", "PASS", "FAST"]
    status: str
    workload: str
    assurance: Assurance
    speedup: SpeedupReport | None = None
    hidden: HiddenSizes | None = None
    phases_ms: Mapping[str, float] = {}
    conditions: Mapping[str, Any] = {}

    def block(self, detail: Detail) -> dict[str, Any]:
        """Verdict, status, speed-up; sizes, phases and conditions with the evidence."""
        data: dict[str, Any] = {"verdict": self.verdict, "status": self.status, "workload": self.workload}
        data["assurance"] = self.assurance
        if self.speedup:
            data["speedup"] = self.speedup.model_dump(exclude_none=True)
        if self.hidden:
            data["hidden"] = self.hidden.model_dump()
        if detail != "summary":
            data |= {"phases_ms": dict(self.phases_ms), "conditions": dict(self.conditions)}
        return data

    def block_lines(self, detail: Detail) -> list[str]:
        """The same as lines."""
        lines: list[str] = []
        if self.speedup:
            warm = ""
            if self.speedup.candidate_warm_us and self.speedup.baseline_warm_us:
                warm = f"; warm {self.speedup.candidate_warm_us:.4g} against {self.speedup.baseline_warm_us:.4g} us"
            lines.append(f"speed-up {self.speedup}{warm}")
        if self.hidden:
            drawn = "; ".join(
                ", ".join(f"{name} = {value}" for name, value in sizes.items()) for sizes in self.hidden.sizes
            )
            repeated = ", repeated" if self.hidden.repeated else ""
            lines.append(f"hidden sizes: {drawn} (seed {self.hidden.seed}{repeated})")
        if detail != "summary":
            lines += [f"{name}: {value:g} ms" for name, value in self.phases_ms.items()]
            lines += [f"{name}: {value}" for name, value in self.conditions.items()]
        return lines
