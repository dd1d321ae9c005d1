"""What exists to be computed: the list of workloads, or one in full. The judging of candidates is elsewhere."""

from collections.abc import Mapping
from typing import Any

from .answer import Answer, Detail
from .number import Frozen


class OutputRule(Frozen):
    """How far an output may lie from the reference: |error| <= relative * |want| + absolute * S, at one preset.

    S is the root mean square of the reference, over the whole tensor or over its own row.
    """

    rule: str
    relative: float
    absolute: float
    scale: str

    def __str__(self) -> str:
        if self.relative == self.absolute == 0:
            return "exact"
        over = "row" if self.scale == "row" else "tensor"
        return f"{self.rule}: |error| <= {self.relative:.1e}·|want| + {self.absolute:.1e}·rms of the {over}"


class WorkloadView(Frozen):
    """One workload in full. Costs are in operations and bytes at each preset; `schedule` is the baseline's own."""

    name: str
    suite: str
    about: str
    sizes: Mapping[str, str]
    buffers: tuple[str, ...]
    scalars: Mapping[str, str]
    require: tuple[str, ...]
    presets: Mapping[str, Mapping[str, int]]
    hidden: Mapping[str, str]
    tolerance: Mapping[str, OutputRule]
    tolerance_at: str
    flops: Mapping[str, int]
    bytes: Mapping[str, int]
    schedule: str
    schedule_help: str
    source: str

    def as_data(self, detail: Detail) -> dict[str, Any]:
        """Compact: rules as sentences, the baseline's source only with more detail than the summary."""
        data = self.model_dump(exclude={"tolerance", "source", "tolerance_at"})
        data[f"tolerance_at_{self.tolerance_at}"] = {name: str(rule) for name, rule in self.tolerance.items()}
        if detail != "summary":
            data["source"] = self.source
        return {key: value for key, value in data.items() if value}

    def lines(self, detail: Detail) -> list[str]:
        """The same facts as text."""
        scalars = "".join(f"; {dtype} scalar {name}" for name, dtype in self.scalars.items())
        found = [
            self.about,
            "sizes: " + "; ".join(f"{name} = {meaning}" for name, meaning in self.sizes.items()),
            "data: " + "; ".join(self.buffers) + scalars,
            f"required: {'; '.join(self.require)}" if self.require else "",
        ]
        for preset, sizes in self.presets.items():
            shown = " ".join(f"{name}={value}" for name, value in sizes.items())
            cost = f"{_short(self.flops[preset])}FLOP, {_short(self.bytes[preset])}B"
            found.append(f"{preset}: {shown} ({cost})")
        found.append("hidden sizes: " + "; ".join(f"{name} {rule}" for name, rule in self.hidden.items()))
        found += [
            f"tolerance of {name} at {self.tolerance_at}: {rule}" for name, rule in self.tolerance.items()
        ]
        baseline = self.source if detail != "summary" else self.schedule
        return [*found, f"schedule: {self.schedule_help}", "baseline:", baseline]


class WorkloadsAnswer(Answer):
    """The workloads by suite with their titles, or one of them in full."""

    workloads: Mapping[str, Mapping[str, str]] = {}
    workload: WorkloadView | None = None

    def block(self, detail: Detail) -> dict[str, Any]:
        """The list, or the one."""
        if self.workload:
            return {"workload": self.workload.as_data(detail)}
        return {"workloads": {suite: dict(titles) for suite, titles in self.workloads.items()}}

    def block_lines(self, detail: Detail) -> list[str]:
        """One line for a workload, or the one in full."""
        if self.workload:
            return self.workload.lines(detail)
        return [
            line
            for suite, titles in self.workloads.items()
            for line in (f"{suite}:", *(f"  {name}: {title}" for name, title in titles.items()))
        ]


def _short(number: float) -> str:
    for letter, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.0f} "
