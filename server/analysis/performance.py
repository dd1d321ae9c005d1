"""From what was read of a program's launches to the profile of each kernel. It measures nothing and runs nothing."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..reports.finding import Finding, ranked
from ..reports.number import Number, unavailable
from ..reports.performance import KernelPerformance, LaunchPerformance
from ..toolchain.ncu_report import Head, Reading
from . import accesses, bottleneck, performance_findings, roofline, rule_ranking
from .counters import DURATION, Counters, derived, ratio, total
from .kernel_names import display_name
from .launch_choice import Place

_NAME_WIDTH = 60
PASSES = "profiler__replayer_passes"
METRICS: tuple[str, ...] = (
    *(DURATION, PASSES, "launch__registers_per_thread", "launch__shared_mem_per_block*"),
    *accesses.METRICS,
    *bottleneck.METRICS,
    *performance_findings.METRICS,
    *roofline.METRICS,
    *rule_ranking.METRICS,
)


@dataclass(frozen=True, slots=True)
class Timed:
    """All launches of one kernel: how many, their GPU time in ns (None: not measured), its part of all kernels' time."""

    head: Head
    launches: int
    time_ns: float | None
    share: float | None


def timed_kernels(heads: Sequence[Head]) -> list[Timed]:
    """The kernels of a list of launches, most time first."""
    by_kernel: dict[str, list[Head]] = {}
    for head in heads:
        by_kernel.setdefault(head.mangled, []).append(head)
    times = {name: _sum([head.duration_ns for head in found]) for name, found in by_kernel.items()}
    whole = _sum(list(times.values()))
    kernels = [
        Timed(found[0], len(found), times[name], ratio(times[name], whole))
        for name, found in by_kernel.items()
    ]
    return sorted(kernels, key=lambda kernel: -(kernel.time_ns or 0.0))


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def profiles(
    heads: Sequence[Head], readings: Mapping[Place, Reading], spilled: Mapping[str, int] | None = None
) -> tuple[tuple[KernelPerformance, ...], tuple[Finding, ...]]:
    """(every kernel, most time first, also those only timed; all findings, most to gain of the whole time first).

    `spilled` are the bytes that ptxas spilled in each kernel, by linker name, where that is known.
    """
    kernels: list[KernelPerformance] = []
    found: list[tuple[float, Finding]] = []
    for kernel in timed_kernels(heads):
        own = {place: reading for place, reading in readings.items() if place.mangled == kernel.head.mangled}
        profile, told = _profile(kernel, own, spilled or {}) if own else (_basis(kernel), [])
        kernels.append(profile)
        share = 1.0 if kernel.share is None else kernel.share
        found += [(share * float(finding.evidence.get("gain_pct", 0.0)), finding) for finding in told]
    found.sort(key=lambda pair: -pair[0])
    return tuple(kernels), ranked([finding for _, finding in found])


def _profile(
    kernel: Timed, readings: Mapping[Place, Reading], spilled: Mapping[str, int]
) -> tuple[KernelPerformance, list[Finding]]:
    counters = total(list(readings.values()), spilled.get(kernel.head.mangled))
    rules, hot = rule_ranking.ranked_rules(counters), accesses.hot_lines(counters)
    bound = bottleneck.bottleneck(counters)
    basis = _basis(kernel)
    passes = counters.get(PASSES)
    found: dict[str, object] = {
        "profiled": tuple(_launch(place, reading) for place, reading in readings.items()),
        "compute_pct": counters.number(bottleneck.COMPUTE, "%"),
        "l1_pct": bottleneck.l1(counters),
        "l2_pct": counters.number(bottleneck.L2, "%"),
        "bottleneck": bound,
        "roofline": roofline.roofline(counters),
        "occupancy": bottleneck.occupancy(counters),
        "stalls": bottleneck.stalls(counters),
        "hot_lines": hot,
        "accesses": accesses.line_accesses(counters),
        "rules": rules,
        "passes": None if passes is None else int(passes),
    }
    told = performance_findings.findings(basis.kernel, counters, bound, rules, hot)
    return basis.model_copy(update=found), told


def _basis(kernel: Timed) -> KernelPerformance:
    missing = unavailable("%", "this kernel was not profiled in depth")
    time_us = None if kernel.time_ns is None else kernel.time_ns / 1e3
    return KernelPerformance(
        kernel=textwrap.shorten(display_name(kernel.head.mangled), _NAME_WIDTH, placeholder="..."),
        signature=kernel.head.demangled,
        launches=kernel.launches,
        profiled=(),
        total=_time(time_us, kernel.launches),
        share=derived(
            None if kernel.share is None else 100.0 * kernel.share, "%", "kernel's time / all kernels' time"
        ),
        compute_pct=missing,
        l1_pct=missing,
        l2_pct=missing,
    )


def _time(time_us: float | None, launches: int = 1) -> Number:
    if time_us is None:
        return unavailable("us", f"{DURATION} was not collected")
    if launches == 1:
        return Number(value=time_us, unit="us")
    return derived(time_us, "us", f"the sum over {launches} launches")


def _launch(place: Place, reading: Reading) -> LaunchPerformance:
    counters = Counters(reading, 1)
    bound = bottleneck.bottleneck(counters)
    return LaunchPerformance(
        invocation=place.invocation,
        grid=_shape(reading.grid),
        block=_shape(reading.block),
        duration=_time(None if reading.duration_ns is None else reading.duration_ns / 1e3),
        compute_pct=counters.number(bottleneck.COMPUTE, "%"),
        memory_pct=counters.number(bottleneck.MEMORY, "%"),
        dram_pct=counters.number(bottleneck.DRAM, "%"),
        bound=bound.by if bound else None,
    )


def _shape(sides: tuple[int, int, int] | None) -> str:
    if sides is None:
        return "unknown"
    used = max((number for number, side in enumerate(sides, 1) if side != 1), default=1)
    return "x".join(str(side) for side in sides[:used])
