"""What is derived from the effects: cost for each unit of effect, placebo and permutation checks, other indices."""

from itertools import combinations

import numpy as np

from .findings import Findings
from .game import Floats, coalition_name, pair_names
from .interactions import banzhaf_interactions, mobius, shapley, shapley_interactions
from .lookup import ALL_LISTED
from .quantities import Options, Quantity
from .uncertainty import LIKE_THESE, MIN_CLUSTERS, cluster_moments, cluster_t, permutation_p

FLIPS = 10_000


def cost_per_effect(level: Findings, cost: Findings | None, options: Options) -> list[Quantity]:
    """Return, for each player, the added cost of a rollout for each unit of its effect on the level.

    The ratio of two Banzhaf values with a delta-method cluster-t interval; unknown, with the reason, where
    the cost is not recorded or the effect's own interval holds 0, for then the ratio means nothing.
    """
    found: list[Quantity] = []
    for i, effect in enumerate(level.phi):
        reason = _no_ratio(effect, cost, i)
        if reason is not None or cost is None:
            found.append(_unknown_ratio(effect, reason or ""))
            continue
        ratio = (cost.phi[i].value or 0.0) / (effect.value or 1.0)
        bounds = _ratio_bounds(level, cost, i, ratio, options)
        reason = (
            None if bounds else f"no interval: needs costs that vary, full tables and {MIN_CLUSTERS} clusters"
        )
        low, high = bounds or (None, None)
        found.append(
            Quantity(effect.name, ratio, low, high, effect.n, effect.n_applicable, effect.estimand, reason)
        )
    return found


def _no_ratio(effect: Quantity, cost: Findings | None, index: int) -> str | None:
    if cost is None:
        return "the table records no cost"
    if effect.value is None or cost.phi[index].value is None:
        return effect.reason or cost.phi[index].reason
    if not effect.excludes_zero:
        return "no effect is shown, so a cost for each unit of it means nothing"
    return None


def _unknown_ratio(effect: Quantity, reason: str) -> Quantity:
    return Quantity(effect.name, None, None, None, effect.n, effect.n_applicable, effect.estimand, reason)


def _ratio_bounds(
    level: Findings, cost: Findings, index: int, ratio: float, options: Options
) -> tuple[float, float] | None:
    if level.per_unit is None or cost.per_unit is None:
        return None
    effects, costs = level.per_unit[:, index], cost.per_unit[:, index]
    if effects.shape != costs.shape:
        return None
    labels = level.sample.table.clusters
    linear = ((costs - ratio * effects) / np.nanmean(effects))[:, None]
    if cluster_moments(linear, labels).clusters[0] < MIN_CLUSTERS:
        return None
    half = cluster_t(linear, labels, options.confidence)
    width = float(half.high[0] - half.value[0])
    return (ratio - width, ratio + width) if width > 0 else None


def placebo_check(levels: list[Findings], options: Options, confidence: float) -> dict[str, object]:
    """Return whether the placebo comes out null: at every level its interval, Bonferroni over levels, holds 0.

    A placebo that has an effect tells that coalitions differ by more than their content: the experiment
    leaks.
    """
    players = levels[0].sample.table.players if levels else ()
    name = options.placebo or ("placebo" if "placebo" in players else None)
    if name is None:
        return {"player": None, "passed": None, "reason": "no placebo player: name one with --placebo"}
    effects = {level.measure: level.phi[players.index(name)] for level in levels}
    known = {level: q.p for level, q in effects.items() if q.p is not None}
    if not known:
        return {"player": name, "passed": None, "reason": next(iter(effects.values())).reason}
    failed = [level for level, p in known.items() if p * len(known) < 1 - confidence]
    reason = (
        f"has an effect on {', '.join(failed)}: coalitions differ by more than their content"
        if failed
        else None
    )
    shown = {
        level: {"value": q.value, "low": q.low, "high": q.high, "p": q.p} for level, q in effects.items()
    }
    return {"player": name, "passed": not failed, "reason": reason, "levels": shown}


def permutation_check(level: Findings) -> dict[str, dict[str, object]]:
    """Return, for each player, p under sign flips of whole clusters; null with the reason where it cannot be had."""
    players = level.sample.table.players
    reason = None
    if level.per_unit is None:
        reason = "needs every coalition at every checkpoint"
    elif any(q.estimand != LIKE_THESE for q in level.phi):
        reason = f"needs {MIN_CLUSTERS} clusters"
    if reason is not None or level.per_unit is None:
        return {player: {"p": None, "reason": reason} for player in players}
    p = permutation_p(level.per_unit[:, : len(players)], level.sample.table.clusters, FLIPS)
    return {player: {"p": float(value), "reason": None} for player, value in zip(players, p, strict=True)}


def other_indices(level: Findings) -> dict[str, object]:
    """Return Shapley, Möbius and all orders of Banzhaf interaction of the mean game: point values, no intervals."""
    players = level.sample.table.players
    values = [q.value for q in level.worth]
    if len(players) > ALL_LISTED or len(values) != 1 << len(players) or any(v is None for v in values):
        return {"reason": "needs the worth of every coalition, of at most 10 players"}
    if not level.sample.table.applies.all():
        return {"reason": "some player does not apply everywhere: the mean game mixes checkpoints"}
    game = np.array(values, dtype=np.float64)
    names = [coalition_name(mask, players) for mask in range(len(game))]
    found: dict[str, object] = {
        "shapley": _named(players, shapley(game)),
        "mobius": _named(names, mobius(game)),
        "banzhaf_interaction": _named(names, banzhaf_interactions(game)),
        "reason": None,
    }
    if len(players) > 1:
        orders = shapley_interactions(game, 2)
        masks = [1 << i | 1 << j for i, j in combinations(range(len(players)), 2)]
        found["shapley_interaction"] = _named(pair_names(players), orders[masks])
    return found


def _named(names: "list[str] | tuple[str, ...]", values: Floats) -> dict[str, float]:
    return {name: float(value) for name, value in zip(names, values, strict=True)}
