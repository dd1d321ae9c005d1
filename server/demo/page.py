"""The demo's page: one self-contained HTML file of what the agent saw, with pictures. It asks and fetches nothing."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, cast

from .pictures import Point, Roof, bars, roofline
from .seen import Seen
from .steps import FOLDER, SOURCE_NAME, STEPS, Step

_STYLE = FOLDER / "page.css"


def write_page(seen: Sequence[Seen], live: bool) -> str:
    """The page as HTML text."""
    how = (
        "Everything was measured live."
        if live
        else (
            "Compile and analysis ran here; what the sanitizers and the profiler say was recorded on an NVIDIA H200 "
            "and is replayed: every answer says so."
        )
    )
    body = [
        "<h1>warpwise: from broken to fast</h1>",
        f'<p class="soft">What an agent saw over MCP while it mended one kernel. {escape(how)}</p>',
        _pictures(seen),
    ]
    for number, step in enumerate(STEPS, 1):
        answers = [one for one in seen if one.step is step]
        body.append(f"<h2>{number}. {escape(step.title)}</h2><p>{escape(step.story)}</p>")
        body.append(_source(step, [finding for one in answers for finding in one.data.get("findings", ())]))
        body += [_answer(one) for one in answers]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    title = "<title>warpwise: from broken to fast</title>"
    style = f"<style>{_STYLE.read_text(encoding='utf-8')}</style>"
    return (
        f'<!doctype html><html lang="en"><head>{head}{title}{style}</head><body>{"".join(body)}</body></html>'
    )


def _answer(one: Seen) -> str:
    why = f'<span class="soft">{escape(one.question.why)} ({one.wall_s:.2f} s)</span>'
    return f"<h3>{escape(one.question.tool)}</h3><p>{why}</p><pre>{escape(one.text)}</pre>"


def _source(step: Step, findings: Sequence[Mapping[str, Any]]) -> str:
    """The source with each finding written under its line."""
    by_line: dict[int, list[Mapping[str, Any]]] = {}
    for finding in findings:
        location = cast("Mapping[str, Any]", finding.get("location") or {})
        if location.get("file") == SOURCE_NAME and location.get("line"):
            by_line.setdefault(int(location["line"]), []).append(finding)
    rows: list[str] = []
    for number, line in enumerate(step.source().splitlines(), 1):
        here = by_line.get(number, [])
        style = f' class="{_worst(here)}"' if here else ""
        rows.append(f"<span{style}>{number:>3}  {escape(line) or ' '}</span>")
        told = {(found["severity"], found["message"]) for found in here}
        rows += [f'<i class="{severity}">{escape(message)}</i>' for severity, message in sorted(told)]
    return f'<pre class="source">{"".join(rows)}</pre>'


def _worst(findings: Sequence[Mapping[str, Any]]) -> str:
    order = ("error", "warning", "note")
    return min((str(finding["severity"]) for finding in findings), key=order.index)


def _kernel(one: Seen) -> Mapping[str, Any] | None:
    kernels = cast("Sequence[Mapping[str, Any]]", one.data.get("kernels") or ())
    return kernels[0] if one.question.tool == "profile" and kernels else None


def _pictures(seen: Sequence[Seen]) -> str:
    profiled = {one.step.title: kernel for one in seen if (kernel := _kernel(one)) is not None}
    rows: list[tuple[str, float | None, str]] = []
    for number, step in enumerate(STEPS, 1):
        kernel = profiled.get(step.title)
        time_us = kernel.get("time_us") if kernel else None
        note = f"{time_us:,.0f} µs" if time_us else "no time: it is not right"
        rows.append((f"{number}. {step.title}", time_us, note))
    chart = f"<figure>{bars(rows)}<figcaption class='soft'>GPU time of 1000 x 1000, by version</figcaption></figure>"
    roof = _roof(list(profiled.values()))
    points = [point for title, kernel in profiled.items() if (point := _point(title, kernel)) is not None]
    if roof is None or not points:
        return f'<div class="charts">{chart}</div>'
    under = f"<figure>{roofline(points, roof)}<figcaption class='soft'>Roofline: DRAM and FP32</figcaption></figure>"
    return f'<div class="charts">{chart}{under}</div>'


def _figures(kernel: Mapping[str, Any], part: str) -> Mapping[str, float]:
    """A group of a kernel's figures; empty where the profile has none."""
    return cast("Mapping[str, float]", kernel.get(part) or {})


def _point(title: str, kernel: Mapping[str, Any]) -> Point | None:
    found = _figures(kernel, "roofline")
    if not found.get("flop_per_byte") or not found.get("fp32_gflops"):
        return None
    return Point(title, found["flop_per_byte"], found["fp32_gflops"])


def _roof(kernels: Sequence[Mapping[str, Any]]) -> Roof | None:
    """The peaks behind the percentages that the profiler gave."""
    for kernel in kernels:
        found, dram_pct = _figures(kernel, "roofline"), _figures(kernel, "used_pct").get("dram")
        if found.get("fp32_pct") and found.get("fp32_gflops") and found.get("dram_gb_s") and dram_pct:
            return Roof(found["fp32_gflops"] / found["fp32_pct"] * 100, found["dram_gb_s"] / dram_pct * 100)
    return None
