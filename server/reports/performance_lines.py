"""A performance profile as a few lines a kernel for a reader: the facts of `performance_data`, in words."""

from typing import TYPE_CHECKING

from .answer import Detail
from .number import Number
from .performance_data import (
    ACCESSES,
    HOW,
    hottest,
    named,
    said,
    shares,
    short,
    told_kernels,
    told_rules,
    unknown,
    used,
)

if TYPE_CHECKING:
    from .performance import (
        HotLine,
        KernelPerformance,
        LaunchPerformance,
        LineAccess,
        ProfileAnswer,
        RankedRule,
        Roofline,
    )

_TEXT_WIDTH = 90
HOW_LINE = "derived: " + HOW["derived"] + "; estimated: " + HOW["estimated"] + "; the rest is measured"


def lines(answer: "ProfileAnswer", detail: Detail) -> list[str]:
    """The answer's own part of the text."""
    timing = answer.timing
    told = [part for part in (answer.device, f"set {answer.set}" if answer.set else None) if part]
    told += [f"{timing.profiled} of {timing.launches or timing.timed} launches profiled", timing.how]
    written = ["; ".join(told)]
    if timing.program:
        written.append(f"program: {_with_unit(timing.program)}")
    whole, brief, left_out = told_kernels(answer, detail)
    for kernel in whole:
        written += _kernel_lines(kernel, detail)
    written += [_head(kernel) for kernel in brief]
    written += [f"left out: {left_out} kernels"] if left_out else []
    return [*written, HOW_LINE] if answer.kernels else written


def _head(kernel: "KernelPerformance") -> str:
    launches = (
        f"{kernel.launches} launch{'es' if kernel.launches > 1 else ''}, {len(kernel.profiled)} profiled"
    )
    bound = f", bound by {kernel.bottleneck.by}" if kernel.bottleneck else ""
    return f"{kernel.kernel}: {_with_unit(kernel.total)}, {_with_unit(kernel.share)} of GPU time, {launches}{bound}"


def _kernel_lines(kernel: "KernelPerformance", detail: Detail) -> list[str]:
    shape = f"{kernel.profiled[0].grid} blocks of {kernel.profiled[0].block} threads"
    written = [f"{_head(kernel)}; {shape}"]
    if detail != "summary":
        written.append(f"  {kernel.signature}, {kernel.passes or 'unknown'} passes")
        written += [f"  {_launch_line(launch)}" for launch in kernel.profiled]
    figures = named(used(kernel)).items()
    written += ["  used: " + ", ".join(f"{name} {value:,} %" for name, value in figures)] if figures else []
    written += _roof_lines(kernel.roofline) if kernel.roofline else []
    written += _occupancy_lines(kernel, detail)
    written += [_hot_line(line, detail) for line in hottest(kernel, detail)]
    written += [_access_line(row) for row in kernel.accesses[: ACCESSES[detail]]]
    written += [_rule_line(rule, detail) for rule in told_rules(kernel.rules, detail)]
    return written + [f"  unavailable: {name} ({reason})" for name, reason in unknown(kernel).items()]


def _launch_line(launch: "LaunchPerformance") -> str:
    figures = {"compute": launch.compute_pct, "memory": launch.memory_pct, "DRAM": launch.dram_pct}
    told = ", ".join(
        f"{name} {_with_unit(value)}" for name, value in figures.items() if value.value is not None
    )
    return f"launch {launch.invocation}: {launch.grid} blocks of {launch.block}, {_with_unit(launch.duration)}, {told}"


def _roof_lines(roof: "Roofline") -> list[str]:
    told = [
        f"{one.precision} {_with_unit(one.gflops)} ({_with_unit(one.peak_pct)} of peak)"
        for one in roof.ceilings
    ]
    told += [f"DRAM {_with_unit(roof.dram)}"] if roof.dram.value is not None else []
    told += [_with_unit(roof.intensity)] if roof.intensity.value is not None else []
    if roof.floor.value is not None:
        told.append(f"floor {_with_unit(roof.floor)} = {_with_unit(roof.floor_pct)} of its time")
    return ["  roofline: " + ", ".join(told)] if told else []


def _occupancy_lines(kernel: "KernelPerformance", detail: Detail) -> list[str]:
    told: list[str] = []
    if held := kernel.occupancy:
        limits = f", limited by {' and '.join(held.limited_by)}" if held.limited_by else ""
        told.append(
            f"occupancy {_with_unit(held.achieved)} of possible {_with_unit(held.theoretical)}{limits}"
        )
    if waits := shares(kernel.stalls, detail):
        told.append("stalls: " + ", ".join(f"{reason} {share:g} %" for reason, share in waits.items()))
    return [f"  {'; '.join(told)}"] if told else []


def _hot_line(line: "HotLine", detail: Detail) -> str:
    waits = ", ".join(
        f"{reason} {share:g} %" for reason, share in shares(line.stalls, detail, most=2).items()
    )
    text = f"  | {line.text[:_TEXT_WIDTH]}" if line.text and detail != "summary" else ""
    few = f" of {line.samples} samples" if detail != "summary" else " of samples"
    return f"  hot: {line.file}:{line.line} {_with_unit(line.share)}{few} ({waits}); {line.sass}{text}"


def _access_line(row: "LineAccess") -> str:
    ideal = f", ideal {short(row.ideal)}" if row.ideal.value is not None else ""
    excess = f", excess {_with_unit(row.excess_pct)}" if row.excess_pct.value else ""
    what = f"{row.file}:{row.line} {row.space} {row.op} {_with_unit(row.per_request)}{ideal}{excess}"
    return f"  access: {what}; {row.requests:,} requests; {row.sass}"


def _rule_line(rule: "RankedRule", detail: Detail) -> str:
    possible = "unknown" if rule.bounded.value is None else f"<= {_with_unit(rule.bounded)}"
    why = f": {rule.why}" if rule.why else ""
    told = f"  ncu: {rule.title}: {possible} (ncu says {_with_unit(rule.estimate)}){why}"
    return told if detail == "summary" else f"{told} | {said(rule, detail)}"


def _with_unit(number: Number) -> str:
    value = short(number)
    return f"unknown {number.unit}" if value is None else f"{value:,} {number.unit}"
