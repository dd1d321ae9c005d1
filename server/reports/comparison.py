"""What a comparison of two candidates tells: who is right, who is faster, and an input on which they differ."""

from typing import Any, ClassVar

from .answer import Answer, Detail
from .evaluation import HiddenSizes, Measurement
from .speedup import SpeedupReport


class ComparisonAnswer(Answer):
    """A against B on the same workload: the status of each, the speed-up of A over B, where their outputs differ."""

    component: ClassVar[str | None] = "evaluation"
    workload: str
    a: str
    b: str
    a_status: str
    b_status: str
    speedup: SpeedupReport | None = None
    difference: str | None = None
    hidden: HiddenSizes | None = None
    measured: Measurement = Measurement()

    def block(self, detail: Detail) -> dict[str, Any]:
        """Both statuses, the speed-up, the difference; sizes, phases and conditions with the evidence."""
        data = self.model_dump(
            include={"workload", "a", "b", "a_status", "b_status", "difference"}, exclude_none=True
        )
        if self.speedup:
            data["speedup"] = self.speedup.model_dump()
        if self.hidden and detail != "summary":
            data["hidden"] = self.hidden.model_dump()
        return data if detail == "summary" else data | self.measured.data()

    def block_lines(self, detail: Detail) -> list[str]:
        """The same as lines."""
        lines = [f"A {self.a}: {self.a_status}; B {self.b}: {self.b_status}"]
        lines += [f"speed-up: {self.speedup}"] if self.speedup else []
        lines += [f"differ: {self.difference}"] if self.difference else []
        if detail == "summary":
            return lines
        return [*lines, *([f"hidden sizes: {self.hidden}"] if self.hidden else []), *self.measured.lines()]
