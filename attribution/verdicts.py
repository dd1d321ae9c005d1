"""Dead, redundant or live: one word for each component, with what it rests on. Estimates nothing anew."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from .findings import Findings
from .game import Floats
from .lookup import Lookup, per_unit
from .quantities import Options, Quantity
from .uncertainty import MIN_CLUSTERS, cluster_moments, cluster_t, holm
from .values import Measure

Word: TypeAlias = Literal["live", "redundant", "dead"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a component is worth, in a word; None, with the `reason`, where nothing can be said.

    live: its effect, or an interaction with another component, is shown. redundant: it helps alone and adds
    nothing to the rest, and a negative interaction shows who replaces it. dead: no effect is shown; `shown`
    says whether effects beyond the margin are excluded (True) or only not seen (False). `level` is where
    the evidence is.
    """

    player: str
    word: Word | None
    shown: bool
    level: str | None
    direction: str | None
    reason: str

    def as_json(self) -> dict[str, object]:
        """Return the verdict as it stands in the document, without the player's name."""
        return {
            "verdict": self.word,
            "shown": self.shown,
            "level": self.level,
            "direction": self.direction,
            "reason": self.reason,
        }


def verdicts(levels: list[Findings], options: Options) -> list[Verdict]:
    """Return one verdict for each player.

    p-values are Holm's over the phi of all players at every level, and apart from these over all pairs at
    every level.
    """
    if not levels:
        return []
    players = levels[0].sample.table.players
    mains: list[tuple[Measure, Quantity]] = [(level.measure, q) for level in levels for q in level.phi]
    pairs: list[tuple[Measure, Quantity]] = [
        (level.measure, q) for level in levels for q in level.interaction
    ]
    significant = _significant(mains, options) | _significant(pairs, options)
    return [_verdict(player, i, levels, significant, options) for i, player in enumerate(players)]


def _significant(family: Sequence[tuple[Measure, Quantity]], options: Options) -> dict[tuple[str, str], bool]:
    tested = [(measure, q) for measure, q in family if q.p is not None]
    adjusted = holm([q.p or 0.0 for _, q in tested])
    return {
        (measure, q.name): bool(p < 1 - options.confidence)
        for (measure, q), p in zip(tested, adjusted, strict=True)
    }


def _verdict(
    player: str,
    index: int,
    levels: list[Findings],
    significant: dict[tuple[str, str], bool],
    options: Options,
) -> Verdict:
    known = [level for level in levels if level.phi[index].low is not None]
    if not known:
        return Verdict(player, None, False, None, None, levels[-1].phi[index].reason or "no interval")
    replaced = _redundant(player, index, known, significant, options)
    if replaced is not None:
        return replaced
    mains = [(level.measure, level.phi[index]) for level in known if significant.get((level.measure, player))]
    if mains:
        measure, effect = max(mains, key=lambda found: abs(found[1].value or 0.0))
        direction = "helps" if (effect.value or 0) > 0 else "hurts"
        return Verdict(player, "live", True, measure, direction, f"phi of {measure} is {_span(effect)}")
    pairs = [
        (level.measure, pair)
        for level in known
        for pair in level.interaction
        if player in pair.name.split("+") and significant.get((level.measure, pair.name))
    ]
    if pairs:
        measure, effect = max(pairs, key=lambda found: abs(found[1].value or 0.0))
        reason = f"interaction {effect.name} of {measure} is {_span(effect)}"
        return Verdict(player, "live", True, measure, "depends on others", reason)
    return _dead(player, index, known, options)


def _dead(player: str, index: int, known: list[Findings], options: Options) -> Verdict:
    widest = max(
        abs(bound)
        for level in known
        for bound in (level.phi[index].low, level.phi[index].high)
        if bound is not None
    )
    shown = widest <= options.margin
    if shown:
        reason = f"every phi lies within ±{options.margin:g}"
    else:
        reason = f"no effect shown; a phi of up to {widest:.3g} is not excluded (margin {options.margin:g})"
    return Verdict(player, "dead", shown, None, None, reason)


def _redundant(
    player: str, index: int, known: list[Findings], significant: dict[tuple[str, str], bool], options: Options
) -> Verdict | None:
    """Shown alone, nothing left at the margin, and a shown negative interaction with the one that replaces it."""
    for level in known:
        others = [
            pair
            for pair in level.interaction
            if player in pair.name.split("+")
            and significant.get((level.measure, pair.name))
            and (pair.value or 0.0) < 0
        ]
        alone, last = _alone_and_last(level, index, options)
        if not others or alone is None or last is None or alone[0] <= 0:
            continue
        if last[0] <= 0 and last[1] < alone[0]:
            partner = next(name for name in others[0].name.split("+") if name != player)
            reason = (
                f"alone it is worth {_range(alone)} of {level.measure}, with the rest {_range(last)}: "
                f"{partner} replaces it (interaction {_span(others[0])})"
            )
            return Verdict(player, "redundant", True, level.measure, "replaced", reason)
    return None


def _alone_and_last(
    level: Findings, index: int, options: Options
) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """Intervals of v(i) - v(none) and of v(all) - v(all without i)."""
    lookup = Lookup(level.sample)
    full = (1 << len(level.sample.table.players)) - 1
    masks = np.array([1 << index, 0, full, full & ~(1 << index)], dtype=np.int64)
    worths = per_unit(level.sample, lookup.worths(masks))
    worths = np.where(level.sample.table.applies[:, index : index + 1], worths, np.nan)
    return _interval(level, worths[:, 0] - worths[:, 1], options), _interval(
        level, worths[:, 2] - worths[:, 3], options
    )


def _interval(level: Findings, effect: Floats, options: Options) -> tuple[float, float] | None:
    column = effect[:, None]
    labels = level.sample.table.clusters
    if cluster_moments(column, labels).clusters[0] < MIN_CLUSTERS:
        return None
    found = cluster_t(column, labels, options.confidence)
    return float(found.low[0]), float(found.high[0])


def _span(effect: Quantity) -> str:
    return f"{effect.value or 0.0:+.3f} [{effect.low or 0.0:+.3f}, {effect.high or 0.0:+.3f}]"


def _range(bounds: tuple[float, float]) -> str:
    return f"[{bounds[0]:+.3f}, {bounds[1]:+.3f}]"
