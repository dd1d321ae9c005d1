"""What a timing stands on: how the GPU was before and after, and which times cannot be believed. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

from ..gpu_state import GpuState
from ..reports.finding import Finding
from .launched import TimingResult
from .verdict import Status
from .workload import Sizes, Workload

BANDWIDTH_SLACK = 0.9
WALL_FACTOR = 1.5
WALL_SLACK_US = 500.0
_SHOWN = ("sm_mhz", "memory_mhz", "power_w", "temperature_c")


@dataclass(frozen=True, slots=True)
class Conditions:
    """The GPU's state around a run."""

    before: GpuState
    after: GpuState

    def told(self) -> dict[str, Any]:
        """As data: [before, after] by name, what held the clocks back, the number of other processes."""
        found: dict[str, Any] = {}
        for name in _SHOWN:
            pair = [getattr(self.before, name), getattr(self.after, name)]
            if pair != [None, None]:
                found[name] = pair
        if held := self.held_back:
            found["held_back"] = list(held)
        for name in ("foreign", "unattributed"):
            counts = [count for count in (getattr(self.before, name), getattr(self.after, name)) if count]
            if counts:
                found[f"{name}_processes"] = max(counts)
        if self.after.peak_bytes_s:
            found["peak_gb_s"] = round(self.after.peak_bytes_s / 1e9)
        return found

    @property
    def held_back(self) -> tuple[str, ...]:
        """Why the clocks were lower than they could be, before or after."""
        return tuple(dict.fromkeys((*self.before.held_back, *self.after.held_back)))

    def notes(self) -> list[Finding]:
        """What may have bent the times."""
        notes: list[Finding] = []
        if others := max(self.before.foreign or 0, self.after.foreign or 0):
            message = f"{others} other process{'es'[: 2 * (others > 1)]} on this GPU: times may be off"
            notes.append(Finding(rule="evaluation/foreign-process", severity="note", message=message))
        if self.held_back:
            message = f"the GPU's clocks were held back: {', '.join(self.held_back)}"
            notes.append(Finding(rule="evaluation/clocks", severity="note", message=message))
        return notes


def floor_us(workload: Workload, sizes: Sizes, peak_bytes_s: float) -> float:
    """The microseconds that reading the inputs from memory takes at least."""
    given = sum(buffer.size_bytes(sizes) for buffer in workload.inputs)
    return min(given, workload.traffic_bytes(sizes)) / peak_bytes_s * 1e6


def doubts(
    timing: TimingResult, programs: Iterable[str], workload: Workload, sizes: Sizes, state: GpuState
) -> dict[str, tuple[Status, Finding]]:
    """Programs whose times cannot be believed: faster than memory allows, or the host's clock tells another time."""
    found: dict[str, tuple[Status, Finding]] = {}
    for program in programs:
        cold_us = median(timing.cold_us(program))
        least_us = floor_us(workload, sizes, state.peak_bytes_s) if state.peak_bytes_s else 0.0
        if cold_us < BANDWIDTH_SLACK * least_us:
            message = f"{cold_us:.4g} us, but reading the inputs takes at least {least_us:.4g} us"
            finding = Finding(
                rule="evaluation/below-roofline",
                severity="warning",
                message=message,
                suggestion="The inputs were not read from memory: check that nothing is kept from call to call.",
            )
            found[program] = ("below_roofline", finding)
        elif calls := timing.warm.get(program):
            event_us, wall_us = median(one.event_us for one in calls), median(one.wall_us for one in calls)
            if wall_us > WALL_FACTOR * event_us + WALL_SLACK_US:
                message = f"the GPU's events say {event_us:.4g} us, the host's clock {wall_us:.4g} us"
                finding = Finding(
                    rule="evaluation/suspect-timing",
                    severity="warning",
                    message=message,
                    suggestion="Another process may use the GPU: try again when it is idle.",
                )
                found[program] = ("suspect_timing", finding)
    return found
