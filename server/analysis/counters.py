"""The counters of one kernel, of one launch or of several together, as numbers with unit and provenance.

Names are ncu's. Nothing is interpreted here: what a counter means for the kernel is in `roofline`, `bottleneck`,
`accesses` and `rule_ranking`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..reports.number import Number, unavailable
from ..toolchain.ncu_report import Access, Reading, SourceLine, VendorRule

DURATION = "gpu__time_duration.sum"
_Item = TypeVar("_Item")
_TAKEN_FROM_LONGEST = ("launch__", "device__", "profiler__", "breakdown:", "sm__maximum", "smsp__maximum")


@dataclass(frozen=True, slots=True)
class Counters:
    """What was counted for one kernel: over `launches` launches, `reading` holding their sums or time-weighted means.

    `spilled_bytes` is what ptxas said when it built the kernel, where that is known.
    """

    reading: Reading
    launches: int
    spilled_bytes: int | None = None

    def get(self, name: str) -> float | None:
        """A counter's value, or None where the report lacks it."""
        return self.reading.number(name)

    def first(self, *names: str) -> float | None:
        """The value of the first counter that the report has."""
        return next((value for name in names if (value := self.get(name)) is not None), None)

    def number(self, name: str, unit: str, scale: float = 1.0) -> Number:
        """A counter with its unit (scaled to it): measured for one launch, a time-weighted mean or sum for several."""
        value = self.get(name)
        if value is None:
            return unavailable(unit, f"{name} was not collected")
        if self.launches == 1:
            return Number(value=value * scale, unit=unit)
        how = f"{name} over {self.launches} launches"
        return Number(value=value * scale, unit=unit, provenance="derived", reason=how)


def derived(value: float | None, unit: str, how: str) -> Number:
    """A number computed from counters by the formula `how`; unavailable where one of them is missing or senseless."""
    if value is None or not math.isfinite(value):
        return unavailable(unit, f"cannot be computed: {how}")
    return Number(value=value, unit=unit, provenance="derived", reason=how)


def estimated(value: float | None, unit: str, how: str) -> Number:
    """A number that is a bound or a guess by the rule `how`."""
    if value is None or not math.isfinite(value):
        return unavailable(unit, how)
    return Number(value=value, unit=unit, provenance="estimated", reason=how)


def ratio(part: float | None, whole: float | None) -> float | None:
    """part / whole, or None where either is unknown or there is no whole."""
    return None if part is None or not whole else part / whole


def total(readings: Sequence[Reading], spilled_bytes: int | None = None) -> Counters:
    """Launches of one kernel taken together: counts add up, rates and shares are weighted by each launch's time.

    What describes the launch or the device is the longest launch's. At least one reading is needed.
    """
    if len(readings) == 1:
        return Counters(readings[0], 1, spilled_bytes)
    longest = max(readings, key=lambda reading: reading.duration_ns or 0.0)
    weights = [reading.duration_ns or 0.0 for reading in readings]
    names = set(readings[0].metrics).intersection(*(reading.metrics for reading in readings[1:]))
    metrics: dict[str, float | int | str] = {}
    for name in sorted(names):
        values = [reading.number(name) for reading in readings]
        known = [value for value in values if value is not None]
        if len(known) < len(values) or name.startswith(_TAKEN_FROM_LONGEST):
            metrics[name] = longest.metrics[name]
        else:
            metrics[name] = sum(known) if _is_count(name) else _mean(known, weights)
    merged = longest.model_copy(
        update={
            "metrics": metrics,
            "duration_ns": sum(weights),
            "rules": _rules(readings, weights),
            "lines": _lines(readings),
            "lines_left_out": max(reading.lines_left_out for reading in readings),
        }
    )
    return Counters(merged, len(readings), spilled_bytes)


def _is_count(name: str) -> bool:
    return name.endswith(".sum") or "." not in name


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    whole = sum(weights)
    if not whole:
        return sum(values) / len(values)
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / whole


def _rules(readings: Sequence[Reading], weights: Sequence[float]) -> tuple[VendorRule, ...]:
    """Each rule once, its estimate weighted by time; a launch for which it did not fire counts as 0 %."""
    found: dict[tuple[str, str], VendorRule] = {}
    estimates: dict[tuple[str, str], float] = {}
    whole = sum(weights) or 1.0
    for reading, weight in zip(readings, weights, strict=True):
        for rule in reading.rules:
            key = (rule.rule, rule.title)
            found.setdefault(key, rule)
            if rule.estimate_pct is not None:
                estimates[key] = estimates.get(key, 0.0) + rule.estimate_pct * weight / whole
    return tuple(rule.model_copy(update={"estimate_pct": estimates.get(key)}) for key, rule in found.items())


def _lines(readings: Sequence[Reading]) -> tuple[SourceLine, ...]:
    lines = _grouped(
        [line for reading in readings for line in reading.lines],
        lambda line: (line.file, line.line),
        _add_lines,
    )
    return tuple(sorted(lines, key=lambda line: (-line.samples, -line.instructions, line.file, line.line)))


def _add_lines(one: SourceLine, other: SourceLine) -> SourceLine:
    accesses = _grouped(
        [*one.accesses, *other.accesses], lambda row: (row.space, row.op, row.sass), _add_accesses
    )
    return one.model_copy(
        update={
            "samples": one.samples + other.samples,
            "instructions": one.instructions + other.instructions,
            "stalls": _added(one.stalls, other.stalls),
            "sass": one.sass or other.sass,
            "accesses": tuple(sorted(accesses, key=lambda row: -row.excess)),
        }
    )


def _add_accesses(one: Access, other: Access) -> Access:
    known = one.ideal is not None and other.ideal is not None
    return one.model_copy(
        update={
            "instructions": max(one.instructions, other.instructions),
            "requests": one.requests + other.requests,
            "units": one.units + other.units,
            "ideal": (one.ideal or 0) + (other.ideal or 0) if known else None,
        }
    )


def _added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in sorted({*one, *other})}


def _grouped(
    items: Sequence[_Item], key: Callable[[_Item], object], add: Callable[[_Item, _Item], _Item]
) -> list[_Item]:
    found: dict[object, _Item] = {}
    for item in items:
        name = key(item)
        found[name] = add(found[name], item) if name in found else item
    return list(found.values())
