"""A drawing as inline SVG, 360 units wide so that its text stays readable on a phone. Knows nothing of effects."""

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10

WIDTH = 360.0
_CHARACTER = 7.4


class Drawing:
    """Collects shapes and renders them; colours and fonts come from the page's style by class."""

    def __init__(self, height: float, label: str) -> None:
        self._height = height
        self._label = label
        self._parts: list[str] = []

    def text(
        self, x: float, y: float, content: str, kind: str = "", anchor: str = "start", turned: bool = False
    ) -> None:
        """Write at the baseline (x, y); `turned` writes upwards."""
        turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"{turn}>{escape(content)}</text>'
        )

    def line(self, start: tuple[float, float], end: tuple[float, float], kind: str) -> None:
        """Draw a straight line."""
        (x1, y1), (x2, y2) = start, end
        self._parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')

    def box(
        self, corner: tuple[float, float], size: tuple[float, float], kind: str, strength: float = 1.0
    ) -> None:
        """Draw a filled rectangle; `strength` is its opacity."""
        (x, y), (width, height) = corner, size
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}" '
            f'class="{kind}" fill-opacity="{strength:.2f}"/>'
        )

    def dot(self, x: float, y: float, radius: float, kind: str) -> None:
        """Draw a filled circle."""
        self._parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" class="{kind}"/>')

    def path(self, points: Sequence[tuple[float, float]], kind: str, closed: bool = False) -> None:
        """Draw a polyline or, closed, a polygon."""
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<{"polygon" if closed else "polyline"} points="{drawn}" class="{kind}"/>')

    def hint(self, content: str) -> None:
        """Give the last shape a tooltip."""
        last = self._parts.pop()
        if last.endswith("/>"):
            name = last[1 : last.index(" ")]
            self._parts.append(f"{last[:-2]}><title>{escape(content)}</title></{name}>")
        else:
            cut = last.rindex("</")
            self._parts.append(f"{last[:cut]}<title>{escape(content)}</title>{last[cut:]}")

    def render(self) -> str:
        """Return the element."""
        return (
            f'<svg viewBox="0 0 {WIDTH:.0f} {self._height:.0f}" role="img" aria-label="{escape(self._label)}">'
            f"{''.join(self._parts)}</svg>"
        )


class Scale:
    """Maps values to positions along an axis, with at most five round ticks."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = min(values), max(values)
        if high - low < 1e-9:
            low, high = low - 0.05, high + 0.05
        margin = (high - low) * 0.04
        self.low, self.high = low - margin, high + margin
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        """Return the position of a value."""
        return self._start + (value - self.low) / (self.high - self.low) * (self._end - self._start)

    def ticks(self, most: int = 5) -> list[float]:
        """Return round values within the axis."""
        raw = (self.high - self.low) / most
        power = 10.0 ** floor(log10(raw))
        step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
        first, last = ceil(self.low / step), floor(self.high / step)
        return [round(k * step, 10) for k in range(first, last + 1)]


def shorten(content: str, room: float) -> str:
    """Return the text cut to about `room` units, an ellipsis for its middle: names differ at either end."""
    most = max(int(room / _CHARACTER), 3)
    if len(content) <= most:
        return content
    head = (most - 1) // 3
    return f"{content[:head]}…{content[len(content) - (most - 1 - head) :]}"


def tick_label(value: float) -> str:
    """Return a short axis label."""
    return f"{value:g}".replace("-", "−")
