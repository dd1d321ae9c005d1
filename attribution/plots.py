"""The report's charts as PNG and SVG files, by matplotlib (extra `plots`). For papers and slides."""

# matplotlib leaves **kwargs untyped in every method.
# pyright: reportUnknownMemberType=false

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..server.errors import ProgramMissing, StorageFailure
from .findings import Findings
from .game import EMPTY, pair_indices
from .report import Attribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_BARS = 24
_PLUS, _MINUS, _FLAT = "#0b6e99", "#c2510c", "#6b7380"


def save_plots(found: Attribution, folder: Path) -> list[Path]:
    """Write forest, heat map and worths of each level as PNG and SVG into `folder`; return the paths.

    Curves by generation are added where the table was grouped so. Raises ProgramMissing without matplotlib
    and StorageFailure for a folder that cannot be written.
    """
    new_figure = _matplotlib()
    paths: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for level in found.levels.values():
            for name, draw in _DRAWINGS.items():
                if name in ("interactions", "generations") and not _has(found, level, name):
                    continue
                figure = new_figure(
                    figsize=(6.4, max(3.2, 0.45 * len(found.players) + 2.0)), layout="constrained"
                )
                draw(figure.add_subplot(), found, level)
                paths += _save(figure, folder / f"{level.measure}-{name}")
    except OSError as error:
        raise StorageFailure(f"cannot write plots to {folder}: {error.strerror}") from None
    return paths


def _matplotlib() -> "type[Figure]":
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ProgramMissing("plots need matplotlib", hint="pip install 'warpwise[plots]'") from None
    return Figure


def _has(found: Attribution, level: Findings, name: str) -> bool:
    return bool(level.interaction) if name == "interactions" else found.by == "generation"


def _save(figure: "Figure", stem: Path) -> list[Path]:
    paths = [stem.with_suffix(suffix) for suffix in (".png", ".svg")]
    for path in paths:
        figure.savefig(path, dpi=160)
    return paths


def _forest(axes: "Axes", found: Attribution, level: Findings) -> None:
    for row, q in enumerate(reversed(level.phi)):
        if q.value is None:
            continue
        colour = _FLAT
        if q.low is not None and q.high is not None:
            colour = (_PLUS if q.low > 0 else _MINUS) if q.excludes_zero else _FLAT
            axes.plot([q.low, q.high], [row, row], color=colour, linewidth=4, solid_capstyle="round")
        axes.plot([q.value], [row], "o", color=colour)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(level.phi)), [q.name for q in reversed(level.phi)])
    axes.set_xlabel(f"effect on {level.measure}, for {level.phi[0].estimand}")


def _heat(axes: "Axes", found: Attribution, level: Findings) -> None:
    players = found.players
    n = len(players)
    cells = np.full((n, n), np.nan)
    for (i, j), q in zip(pair_indices(n), level.interaction, strict=True):
        if q.value is not None:
            cells[i, j] = cells[j, i] = q.value
            axes.text(j, i, f"{q.value:+.2f}", ha="center", va="center", fontsize=8)
    largest = float(np.nanmax(np.abs(cells))) if np.isfinite(cells).any() else 1.0
    axes.imshow(cells, cmap="PuOr_r", vmin=-largest or -1.0, vmax=largest or 1.0)
    axes.set_xticks(range(n), players, rotation=45, ha="right")
    axes.set_yticks(range(n), players)
    axes.set_title(f"interactions on {level.measure}")


def _worths(axes: "Axes", found: Attribution, level: Findings) -> None:
    known = sorted((q for q in level.worth if q.value is not None), key=lambda q: q.value or 0.0)[
        -_MOST_BARS:
    ]
    axes.barh(range(len(known)), [q.value or 0.0 for q in known], color=_PLUS, alpha=0.7)
    for row, q in enumerate(known):
        if q.low is not None and q.high is not None:
            axes.plot([q.low, q.high], [row, row], color="black", linewidth=1)
    axes.set_yticks(range(len(known)), [q.name if q.name != EMPTY else "(none)" for q in known], fontsize=7)
    axes.set_xlabel(f"worth: {level.measure}")


def _generations(axes: "Axes", found: Attribution, level: Findings) -> None:
    for i, name in enumerate(found.players):
        points = [
            (label, other.phi[i])
            for label, group in found.groups.items()
            for other in group.levels.values()
            if other.measure == level.measure
        ]
        known = [(float(label), q) for label, q in points if q.value is not None]
        line = axes.plot([x for x, _ in known], [q.value or 0.0 for _, q in known], marker="o", label=name)[0]
        banded = [(x, q.low, q.high) for x, q in known if q.low is not None and q.high is not None]
        if banded:
            x, low, high = (np.array(column) for column in zip(*banded, strict=True))
            axes.fill_between(x, low, high, color=line.get_color(), alpha=0.15)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xlabel("generation")
    axes.set_ylabel(f"effect on {level.measure}")
    axes.legend(fontsize=7)


Draw: TypeAlias = "Callable[[Axes, Attribution, Findings], None]"
_DRAWINGS: dict[str, Draw] = {
    "forest": _forest,
    "interactions": _heat,
    "worths": _worths,
    "generations": _generations,
}
