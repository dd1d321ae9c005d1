"""The demo page's pictures as inline SVG: a roofline, and the time of each version. Nothing is fetched, nothing runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 460, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 24, 52


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel under the roof: FLOP per DRAM byte, GFLOP/s, and its name."""

    name: str
    intensity: float
    gflops: float


@dataclass(frozen=True, slots=True)
class Roof:
    """The device's peaks that were measured with the kernels: GFLOP/s and GB/s."""

    gflops: float
    dram_gb_s: float


def roofline(points: Sequence[Point], roof: Roof) -> str:
    """Log-log: the roof of bandwidth and arithmetic, and each kernel under it."""
    ridge = roof.gflops / roof.dram_gb_s
    xs = [ridge, *(point.intensity for point in points)]
    ys = [roof.gflops, *(point.gflops for point in points)]
    x_low, x_high = 10 ** math.floor(math.log10(min(xs)) - 0.2), 10 ** math.ceil(math.log10(max(xs)) + 0.1)
    y_low, y_high = 10 ** math.floor(math.log10(min(ys)) - 0.1), 10 ** math.ceil(math.log10(max(ys)))

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(value / x_low) / math.log(x_high / x_low)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(value / y_low) / math.log(y_high / y_low)

    start = max(x_low, y_low / roof.dram_gb_s)
    parts = [_open("Roofline: GFLOP/s over FLOP per DRAM byte")]
    parts += [_tick_x(x(value), _number(value)) for value in _decades(x_low, x_high)]
    parts += [_tick_y(y(value), _number(value)) for value in _decades(y_low, y_high)]
    roof_line = [
        (x(start), y(start * roof.dram_gb_s)),
        (x(ridge), y(roof.gflops)),
        (x(x_high), y(roof.gflops)),
    ]
    parts.append(f'<polyline class="roof" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in roof_line)}"/>')
    for number, point in enumerate(points):
        a, b = x(point.intensity), y(point.gflops)
        anchor, shift = ("end", -10) if a > WIDTH * 0.7 else ("start", 10)
        parts.append(f'<circle class="kernel k{number}" cx="{a:.1f}" cy="{b:.1f}" r="6"/>')
        label = f"{escape(point.name)}: {point.gflops:,.0f} GFLOP/s"
        parts.append(
            f'<text class="label" x="{a + shift:.1f}" y="{b + 18:.1f}" text-anchor="{anchor}">{label}</text>'
        )
    parts.append(
        f'<text class="axis" x="{WIDTH / 2}" y="{HEIGHT - 10}" text-anchor="middle">FLOP per DRAM byte</text>'
    )
    parts.append(f'<text class="axis" x="{LEFT}" y="{TOP - 8}">GFLOP/s</text>')
    return "".join(parts) + "</svg>"


def bars(rows: Sequence[tuple[str, float | None, str]]) -> str:
    """One bar a version: (name, microseconds or None, what to say)."""
    step = 44
    height = TOP + step * len(rows) + 8
    longest = max((value for _, value, _ in rows if value), default=1.0)
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="Time of each version">'
    ]
    for number, (name, value, note) in enumerate(rows):
        top = TOP + number * step
        parts.append(f'<text class="label" x="0" y="{top}">{escape(name)}</text>')
        length = 0.0 if value is None else max(2.0, (WIDTH - 90) * value / longest)
        if value is not None:
            parts.append(f'<rect class="bar" x="0" y="{top + 6}" width="{length:.1f}" height="16" rx="3"/>')
        parts.append(
            f'<text class="note" x="{length + (8 if value else 0):.1f}" y="{top + 19}">{escape(note)}</text>'
        )
    return "".join(parts) + "</svg>"


def _open(label: str) -> str:
    frame = f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM}"/>'
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">{frame}'
    )


def _tick_x(at: float, text: str) -> str:
    line = f'<line class="grid" x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{HEIGHT - BOTTOM}"/>'
    return (
        f'{line}<text class="tick" x="{at:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{text}</text>'
    )


def _tick_y(at: float, text: str) -> str:
    line = f'<line class="grid" x1="{LEFT}" y1="{at:.1f}" x2="{WIDTH - RIGHT}" y2="{at:.1f}"/>'
    return f'{line}<text class="tick" x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{text}</text>'


def _decades(low: float, high: float) -> list[float]:
    return [10.0**power for power in range(round(math.log10(low)), round(math.log10(high)) + 1)]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
