"""A performance profile as compact data, and what of it is told at each detail. `performance_lines` writes the same.

Units stand in the keys. Everything is measured (or recorded, as the answer's provenance says) but for what `HOW` calls
derived or estimated. Percentages are of the device's peak, of time, or of warp samples, as named.
"""

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .answer import Detail
from .number import Number

if TYPE_CHECKING:
    from .performance import (
        HotLine,
        KernelPerformance,
        LaunchPerformance,
        LineAccess,
        ProfileAnswer,
        RankedRule,
        Roofline,
        Stall,
    )

_KERNELS: dict[Detail, int] = {"summary": 3, "evidence": 16, "raw": 64}
_OF_MANY: dict[Detail, int] = {"summary": 1, "evidence": 16, "raw": 64}
_BRIEFLY: dict[Detail, int] = {"summary": 5, "evidence": 48, "raw": 200}
_LINES: dict[Detail, int] = {"summary": 2, "evidence": 10, "raw": 40}
_RULES: dict[Detail, int] = {"summary": 2, "evidence": 20, "raw": 40}
_STALLS: dict[Detail, int] = {"summary": 3, "evidence": 8, "raw": 20}
ACCESSES: dict[Detail, int] = {"summary": 0, "evidence": 12, "raw": 60}
_SAID_WIDTH = 160
_HOT_PCT = 5.0
HOW = {"derived": "shares, bound, roofline, stalls", "estimated": "gains, samples, rules"}


def block(answer: "ProfileAnswer", detail: Detail) -> dict[str, Any]:
    """The answer's own part of the structured content."""
    timing = answer.timing
    times: dict[str, Any] = {"launches": timing.launches, "timed": timing.timed, "profiled": timing.profiled}
    times |= named({"gpu_us": timing.total, "program_s": timing.program}) | {"how": timing.how}
    whole, brief, left_out = told_kernels(answer, detail)
    data: dict[str, Any] = {"device": answer.device, "set": answer.set, "timing": _full(times)}
    data["kernels"] = [_kernel(kernel, detail) for kernel in whole] + [_briefly(kernel) for kernel in brief]
    data |= {"kernels_left_out": left_out} if left_out else {}
    return data | ({"numbers": HOW} if answer.kernels else {})


def told_kernels(
    answer: "ProfileAnswer", detail: Detail
) -> "tuple[list[KernelPerformance], list[KernelPerformance], int]":
    """(kernels told whole, kernels told in one line, how many are left out): those with most time first."""
    profiled = [kernel for kernel in answer.kernels if kernel.profiled]
    whole = profiled[: (_KERNELS if len(profiled) <= _KERNELS[detail] else _OF_MANY)[detail]]
    rest = [kernel for kernel in answer.kernels if kernel not in whole]
    return whole, rest[: _BRIEFLY[detail]], len(rest[_BRIEFLY[detail] :])


def _briefly(kernel: "KernelPerformance") -> dict[str, Any]:
    data: dict[str, Any] = {"kernel": kernel.kernel, "launches": kernel.launches}
    data |= {"profiled": len(kernel.profiled)} | named({"time_us": kernel.total, "time_pct": kernel.share})
    return data | ({"bound_by": kernel.bottleneck.by} if kernel.bottleneck else {})


def _kernel(kernel: "KernelPerformance", detail: Detail) -> dict[str, Any]:
    data = _briefly(kernel)
    if detail == "summary":
        data |= {"grid": kernel.profiled[0].grid, "block": kernel.profiled[0].block}
    else:
        data["per_launch"] = [_launch(launch) for launch in kernel.profiled]
        data |= {"signature": kernel.signature, "passes": kernel.passes}
    data["used_pct"] = named(used(kernel))
    if kernel.roofline:
        data["roofline"] = _roofline(kernel.roofline)
    if held := kernel.occupancy:
        data["occupancy_pct"] = named({"achieved": held.achieved, "possible": held.theoretical})
        data["occupancy_limited_by"] = list(held.limited_by)
    data["stalls_pct"] = shares(kernel.stalls, detail)
    data["hot_lines"] = [_hot(line, detail) for line in hottest(kernel, detail)]
    data["accesses"] = [_access(row) for row in kernel.accesses[: ACCESSES[detail]]]
    data["ncu_rules"] = [_rule(rule, detail) for rule in told_rules(kernel.rules, detail)]
    data["unavailable"] = unknown(kernel)
    return _full(data)


def used(kernel: "KernelPerformance") -> dict[str, Number | None]:
    """How busy each unit was, in percent of its peak."""
    dram = kernel.roofline.dram_pct if kernel.roofline else None
    return {"compute": kernel.compute_pct, "l1": kernel.l1_pct, "l2": kernel.l2_pct, "dram": dram}


def hottest(kernel: "KernelPerformance", detail: Detail) -> "list[HotLine]":
    """The lines with most samples; at a glance only those that matter."""
    least = _HOT_PCT if detail == "summary" else 0.0
    return [line for line in kernel.hot_lines[: _LINES[detail]] if (line.share.value or 0.0) >= least]


def _launch(launch: "LaunchPerformance") -> dict[str, Any]:
    figures = named(
        {
            "us": launch.duration,
            "compute_pct": launch.compute_pct,
            "memory_pct": launch.memory_pct,
            "dram_pct": launch.dram_pct,
        }
    )
    return {"launch": launch.invocation, "grid": launch.grid, "block": launch.block, **figures}


def _roofline(roof: "Roofline") -> dict[str, Any]:
    data: dict[str, Any] = {}
    for one in roof.ceilings:
        name = one.precision.replace(" ", "_")
        data |= named({f"{name}_gflops": one.gflops, f"{name}_pct": one.peak_pct})
    rest = {"dram_gb_s": roof.dram, "flop_per_byte": roof.intensity}
    return data | named({**rest, "floor_us": roof.floor, "floor_pct": roof.floor_pct})


def _hot(line: "HotLine", detail: Detail) -> dict[str, Any]:
    data: dict[str, Any] = {"at": f"{line.file}:{line.line}", "samples_pct": short(line.share)}
    data["stalls_pct"] = shares(line.stalls, detail, most=2)
    data["sass"] = line.sass
    if detail != "summary":
        data |= {"samples": line.samples, "text": line.text}
    return _full(data)


def _access(row: "LineAccess") -> dict[str, Any]:
    what = {
        "at": f"{row.file}:{row.line}",
        "access": f"{row.space} {row.op}",
        "requests": row.requests,
        "sass": row.sass,
    }
    return _full(
        {
            **what,
            **named(
                {row.per_request.unit: row.per_request, "ideal": row.ideal, "excess_pct": row.excess_pct}
            ),
        }
    )


def _rule(rule: "RankedRule", detail: Detail) -> dict[str, Any]:
    data = {
        "rule": rule.title,
        **named({"ncu_pct": rule.estimate, "possible_pct": rule.bounded}),
        "why": rule.why,
    }
    return _full(data if detail == "summary" else {**data, "id": rule.rule, "message": said(rule, detail)})


def said(rule: "RankedRule", detail: Detail) -> str:
    """The vendor's words; whole only in the raw answer."""
    return (
        rule.message if detail == "raw" else textwrap.shorten(rule.message, _SAID_WIDTH, placeholder=" ...")
    )


def told_rules(rules: "tuple[RankedRule, ...]", detail: Detail) -> "list[RankedRule]":
    """The rules with most to gain; at a glance the first, and the one whose own estimate of the time is furthest off."""
    if detail != "summary":
        return list(rules[: _RULES[detail]])
    told = [rule for rule in rules[:1] if rule.bounded.value]
    down = [rule for rule in rules if rule.why and rule.bounded.value is not None and rule not in told]
    return (
        told + sorted(down, key=lambda rule: (rule.bounded.value or 0.0) - (rule.estimate.value or 0.0))[:1]
    )


def unknown(kernel: "KernelPerformance") -> dict[str, str]:
    """What this report cannot tell of a kernel, and why, each reason once."""
    numbers: dict[str, Number] = {"compute": kernel.compute_pct, "l1": kernel.l1_pct, "l2": kernel.l2_pct}
    if kernel.roofline:
        numbers |= {
            "dram": kernel.roofline.dram,
            "intensity": kernel.roofline.intensity,
            "floor": kernel.roofline.floor,
        }
    if kernel.occupancy:
        numbers |= {
            "achieved occupancy": kernel.occupancy.achieved,
            "possible occupancy": kernel.occupancy.theoretical,
        }
    found = {name: number.reason or "" for name, number in numbers.items() if number.value is None}
    missing = {
        "stalls": (kernel.stalls, "WarpStateStats and warp samples were not collected"),
        "hot lines": (kernel.hot_lines, "no warp samples were collected"),
        "accesses": (
            kernel.accesses,
            "counters of single instructions (SourceCounters) were not collected, or no access",
        ),
    }
    return found | {name: reason for name, (value, reason) in missing.items() if not value}


def shares(stalls: "tuple[Stall, ...]", detail: Detail, most: int | None = None) -> dict[str, float]:
    """Reasons to wait with their shares in percent; at a glance without warps that were ready."""
    told = [
        stall for stall in stalls if detail != "summary" or stall.reason not in ("selected", "not_selected")
    ]
    known = {stall.reason: short(stall.share) for stall in told[: most or _STALLS[detail]]}
    return {reason: share for reason, share in known.items() if share is not None}


def named(numbers: Mapping[str, Number | None]) -> dict[str, float]:
    """The known numbers by name, shortened; what is unknown is told elsewhere with its reason."""
    return {
        name: value for name, number in numbers.items() if number and (value := short(number)) is not None
    }


def short(number: Number) -> float | None:
    """A number with the digits that mean something: four for what is large, three for a share."""
    if number.value is None:
        return None
    rounded = float(f"{number.value:.3g}" if abs(number.value) < 100 else f"{number.value:.4g}")
    return int(rounded) if rounded.is_integer() else rounded


def _full(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value not in (None, [], {}, ())}
