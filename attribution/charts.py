"""The report's four charts: forest, heat map, UpSet, curves. They draw numbers and compute none."""

from collections.abc import Mapping, Sequence

from .formats import show
from .game import EMPTY, pair_indices
from .quantities import Quantity
from .svg import WIDTH, Drawing, Scale, shorten, tick_label

MOST_BARS = 24
_ROW = 36.0
_LEFT = 104.0


def forest(found: Sequence[Quantity], title: str) -> str:
    """Return the effects with their intervals (thick) and family intervals (thin), one row a component."""
    height = len(found) * _ROW + 30
    drawing = Drawing(height, title)
    bounds = [
        b for q in found for b in (q.low_family, q.high_family, q.low, q.high, q.value) if b is not None
    ]
    scale = Scale([0.0, *bounds], 8, WIDTH - 8)
    bottom = height - 24
    for tick in scale.ticks():
        drawing.line((scale.at(tick), 4), (scale.at(tick), bottom), "zero" if tick == 0 else "grid")
        drawing.text(scale.at(tick), bottom + 14, tick_label(tick), "axis", "middle")
    for row, quantity in enumerate(found):
        _forest_row(drawing, scale, quantity, row * _ROW + 14)
    return drawing.render()


def _forest_row(drawing: Drawing, scale: Scale, quantity: Quantity, y: float) -> None:
    drawing.text(4, y, shorten(quantity.name, 190), "name")
    drawing.hint(quantity.name)
    if quantity.value is None:
        drawing.text(WIDTH - 4, y, "unknown", "axis", "end")
        drawing.hint(quantity.reason or "")
        return
    drawing.text(WIDTH - 4, y, show(quantity), "value", "end")
    y += 11
    kind = "neutral"
    if quantity.low is not None and quantity.high is not None:
        kind = ("plus" if quantity.low > 0 else "minus") if quantity.excludes_zero else "neutral"
        if quantity.low_family is not None and quantity.high_family is not None:
            drawing.line(
                (scale.at(quantity.low_family), y), (scale.at(quantity.high_family), y), f"thin {kind}"
            )
        drawing.line((scale.at(quantity.low), y), (scale.at(quantity.high), y), f"thick {kind}")
        drawing.hint(f"{quantity.name}: {show(quantity)}, for {quantity.estimand}")
    drawing.dot(scale.at(quantity.value), y, 4, kind)


def heat_map(players: Sequence[str], pairs: Sequence[Quantity], title: str) -> str:
    """Return the pair interactions as a triangle of cells; a dot marks those shown to differ from 0."""
    n = len(players)
    side = min((WIDTH - _LEFT - 4) / max(n, 1), 46.0)
    top = 92.0
    drawing = Drawing(top + n * side + 8, title)
    largest = max((abs(q.value) for q in pairs if q.value is not None), default=0.0) or 1.0
    for i, name in enumerate(players):
        middle = (i + 0.5) * side
        drawing.text(_LEFT - 6, top + middle + 4, shorten(name, _LEFT - 8), "name", "end")
        drawing.hint(name)
        drawing.text(_LEFT + middle + 4, top - 6, shorten(name, top - 8), "name", turned=True)
        drawing.hint(name)
        drawing.box((_LEFT + i * side, top + i * side), (side - 2, side - 2), "void", 0.35)
    for (i, j), quantity in zip(pair_indices(n), pairs, strict=True):
        for row, column in ((i, j), (j, i)):
            _heat_cell(drawing, quantity, (_LEFT + column * side, top + row * side), side, largest)
    return drawing.render()


def _heat_cell(
    drawing: Drawing, quantity: Quantity, corner: tuple[float, float], side: float, largest: float
) -> None:
    x, y = corner
    if quantity.value is None:
        drawing.box(corner, (side - 2, side - 2), "void", 0.6)
        drawing.hint(f"{quantity.name}: unknown: {quantity.reason}")
        return
    kind = "plus" if quantity.value >= 0 else "minus"
    drawing.box(corner, (side - 2, side - 2), kind, 0.08 + 0.55 * abs(quantity.value) / largest)
    drawing.hint(f"{quantity.name}: {show(quantity)}, for {quantity.estimand}")
    if side >= 24:
        label = f"{quantity.value:+.2f}".replace("0.", ".").replace("-", "−")
        drawing.text(x + side / 2 - 1, y + side / 2 + 3, label, "cell", "middle")
    if quantity.p_holm is not None and quantity.p_holm < 0.05:
        drawing.dot(x + side - 7, y + 5, 2, "mark")


def upset(players: Sequence[str], worths: Sequence[Quantity], title: str, rate: bool) -> str:
    """Return the worths as bars with intervals over the matrix of who is in the coalition, highest first."""
    known = sorted((q for q in worths if q.value is not None), key=lambda q: -(q.value or 0.0))
    if len(known) > MOST_BARS:
        known = known[: MOST_BARS // 2] + known[-MOST_BARS // 2 :]
    bars, row = 130.0, 17.0
    drawing = Drawing(bars + 14 + len(players) * row + 6, title)
    bounds = [b for q in known for b in (q.low, q.high, q.value) if b is not None]
    scale = Scale([0.0, *bounds, *([1.0] if rate else [])], bars, 8)
    for tick in scale.ticks():
        drawing.line((_LEFT, scale.at(tick)), (WIDTH - 4, scale.at(tick)), "zero" if tick == 0 else "grid")
        drawing.text(_LEFT - 6, scale.at(tick) + 4, tick_label(tick), "axis", "end")
    for i, name in enumerate(players):
        drawing.text(_LEFT - 6, bars + 26 + i * row, shorten(name, _LEFT - 8), "name", "end")
        drawing.hint(name)
    step = (WIDTH - 4 - _LEFT) / max(len(known), 1)
    for column, quantity in enumerate(known):
        _upset_column(drawing, scale, quantity, players, (_LEFT + (column + 0.5) * step, min(step * 0.35, 7)))
    return drawing.render()


def _upset_column(
    drawing: Drawing, scale: Scale, quantity: Quantity, players: Sequence[str], place: tuple[float, float]
) -> None:
    x, half = place
    value = quantity.value or 0.0
    top, foot = sorted((scale.at(value), scale.at(0.0)))
    drawing.box((x - half, top), (2 * half, foot - top), "bar", 0.75)
    drawing.hint(f"{quantity.name}: {show(quantity, False)}, {quantity.n} rollouts, for {quantity.estimand}")
    if quantity.low is not None and quantity.high is not None:
        drawing.line((x, scale.at(quantity.low)), (x, scale.at(quantity.high)), "whisker")
    given = () if quantity.name == EMPTY else tuple(quantity.name.split("+"))
    rows = [144.0 + 8 + players.index(name) * 17 for name in given]
    for i, name in enumerate(players):
        drawing.dot(x, 144.0 + 8 + i * 17, min(half + 0.5, 4.5), "given" if name in given else "void")
    if len(rows) > 1:
        drawing.line((x, min(rows)), (x, max(rows)), "whisker")


def curves(series: Mapping[str, Sequence[tuple[str, Quantity]]], title: str) -> str:
    """Return one small panel for each series, (group, number) along it, with the interval as a band."""
    wide, tall = WIDTH / 2, 124.0
    drawing = Drawing(((len(series) + 1) // 2) * tall, title)
    bounds = [
        b for points in series.values() for _, q in points for b in (q.low, q.high, q.value) if b is not None
    ]
    for place, (name, points) in enumerate(series.items()):
        left, top = (place % 2) * wide, (place // 2) * tall
        scale = Scale([0.0, *bounds], top + tall - 26, top + 22)
        drawing.text(left + 30, top + 13, shorten(name, wide - 34), "name")
        drawing.hint(name)
        for tick in scale.ticks(3):
            kind = "zero" if tick == 0 else "grid"
            drawing.line((left + 32, scale.at(tick)), (left + wide - 8, scale.at(tick)), kind)
            drawing.text(left + 28, scale.at(tick) + 4, tick_label(tick), "axis", "end")
        _curve(drawing, scale, points, (left + 40, left + wide - 16), top + tall - 8)
    return drawing.render()


def _curve(
    drawing: Drawing,
    scale: Scale,
    points: Sequence[tuple[str, Quantity]],
    ends: tuple[float, float],
    foot: float,
) -> None:
    left, right = ends
    step = (right - left) / max(len(points) - 1, 1)
    spaced = [(left + k * step, label, q) for k, (label, q) in enumerate(points)]
    banded = [(x, q.low, q.high) for x, _, q in spaced if q.low is not None and q.high is not None]
    if len(banded) > 1:
        upper = [(x, scale.at(high)) for x, _, high in banded]
        lower = [(x, scale.at(low)) for x, low, _ in reversed(banded)]
        drawing.path([*upper, *lower], "band", closed=True)
    known = [(x, scale.at(q.value)) for x, _, q in spaced if q.value is not None]
    if len(known) > 1:
        drawing.path(known, "curve")
    for x, label, q in spaced:
        if q.value is not None:
            drawing.dot(x, scale.at(q.value), 2.5, "plus")
            drawing.hint(f"{label}: {show(q)}, for {q.estimand}")
    shown = max(1, -(-len(spaced) // 5))
    for x, label, _ in spaced[::shown]:
        drawing.text(x, foot, shorten(label, 26), "axis", "middle")
