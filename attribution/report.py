"""The whole answer on a table: one document with every number, its estimand and what to know first. No layout."""

from dataclasses import dataclass, replace

from ..server.errors import InvalidRequest
from .extras import cost_per_effect, other_indices, permutation_check, placebo_check
from .findings import Findings, analyse
from .quantities import Options, Quantity
from .table import Grouping, RolloutTable
from .uncertainty import LIKE_THESE, MIN_CLUSTERS, THESE
from .values import LEVELS, Level, Measure, sample
from .verdicts import Verdict, verdicts

SCHEMA = "warpwise.attribution/1"
ESTIMANDS = {
    LIKE_THESE: "the checkpoints are a sample: the interval speaks for others drawn as they were",
    THESE: "only the rollouts are a sample: the interval speaks for these checkpoints alone",
}


@dataclass(frozen=True, slots=True)
class Attribution:
    """The numbers of a table: `levels` and `measures` by name, `verdicts`, `groups` where a grouping was asked."""

    table: RolloutTable
    options: Options
    levels: dict[Level, Findings]
    measures: dict[Measure, Findings]
    verdicts: list[Verdict]
    cost_per_effect: dict[Level, list[Quantity]]
    placebo: dict[str, object]
    warnings: list[str]
    absent: dict[Measure, str]
    by: Grouping | None
    groups: dict[str, "Attribution"]

    @property
    def players(self) -> tuple[str, ...]:
        """The players in their declared order."""
        return self.table.players

    def as_json(self) -> dict[str, object]:
        """Return the document; every unknown number is None and says why. Plain dicts, lists and numbers."""
        options = self.options
        document: dict[str, object] = {
            "schema": SCHEMA,
            "players": list(self.players),
            "variant": options.variant,
            "levels_are": "exclusive" if options.exclusive else "cumulative",
            "pass_at": options.k,
            "confidence": options.confidence,
            "averaged_over": "all" if options.count_zero else "applicable",
            "estimands": ESTIMANDS,
        }
        document.update(self._body())
        document["by"] = None
        if self.by is not None:
            groups = {name: group.group_json() for name, group in self.groups.items()}
            document["by"] = {"column": self.by, "groups": groups}
        return document

    def group_json(self) -> dict[str, object]:
        """Return the part of the document that a group repeats."""
        return self._body()

    def _body(self) -> dict[str, object]:
        return {
            "table": _counts(self.table),
            "warnings": self.warnings,
            "levels": {name: _level_json(level) for name, level in self.levels.items()},
            "measures": {name: found.as_json() for name, found in self.measures.items()}
            | {name: {"reason": reason} for name, reason in self.absent.items()},
            "structurally_null": _structurally_null(self.table),
            "verdicts": {verdict.player: verdict.as_json() for verdict in self.verdicts},
            "cost_per_effect": {
                name: {q.name: q.as_json() for q in found} for name, found in self.cost_per_effect.items()
            },
            "placebo": self.placebo,
        }


def attribute(table: RolloutTable, options: Options | None = None, by: Grouping | None = None) -> Attribution:
    """Return what each player of a table was worth, with intervals, tests, verdicts and warnings.

    `by` repeats everything for each value of a column of the checkpoints. Raises InvalidRequest for a
    placebo that is no player, a group that is unknown somewhere, pass@k above the repetitions, or a variant
    that does not fit.
    """
    chosen = _consistent(table, options or Options())
    levels: dict[Level, Findings] = {
        level: analyse(
            sample(
                table, level, exclusive=chosen.exclusive, k=chosen.k, assumed_variance=chosen.assumed_variance
            ),
            chosen,
        )
        for level in LEVELS
    }
    plain = replace(chosen, k=1, assumed_variance=None, variant="banzhaf")
    measures, absent = _measures(table, plain)
    judged = [] if chosen.variant == "reference" else verdicts(list(levels.values()), chosen)
    placebo = placebo_check(list(levels.values()), chosen, chosen.confidence)
    costs: dict[Level, list[Quantity]] = {
        name: cost_per_effect(found, measures.get("cost"), chosen) for name, found in levels.items()
    }
    groups: dict[str, Attribution] = {}
    if by is not None:
        groups = {str(value): attribute(table.select(by, value), chosen) for value in table.groups(by)}
    warnings = _warnings(table, chosen, [*levels.values(), *measures.values()], placebo)
    return Attribution(table, chosen, levels, measures, judged, costs, placebo, warnings, absent, by, groups)


def _consistent(table: RolloutTable, options: Options) -> Options:
    if options.placebo is not None and options.placebo not in table.players:
        raise InvalidRequest(
            f"placebo {options.placebo!r} is no player; the players are {', '.join(table.players)}"
        )
    if options.variant == "reference":
        return replace(options, exclusive=True)
    return options


def _measures(table: RolloutTable, options: Options) -> tuple[dict[Measure, Findings], dict[Measure, str]]:
    found: dict[Measure, Findings] = {}
    absent: dict[Measure, str] = {}
    if table.log_speedup[:, 0].sum():
        found["log_speedup"] = analyse(sample(table, "log_speedup"), options)
    else:
        absent["log_speedup"] = "no rollout that passed has a speed-up"
    if table.cost[:, 0].sum():
        found["cost"] = analyse(sample(table, "cost"), options)
    else:
        absent["cost"] = "no rollout has a cost"
    return found, absent


def _level_json(level: Findings) -> dict[str, object]:
    return {
        **level.as_json(),
        "permutation": permutation_check(level),
        "indices": other_indices(level),
    }


def _counts(table: RolloutTable) -> dict[str, object]:
    players = table.applies.sum(axis=1)
    named = any(unit.cluster != unit.checkpoint for unit in table.units)
    return {
        "rows": table.rows,
        "used": int(table.outcomes.sum()),
        "infra_errors": int(table.infra.sum()),
        "invalid_outputs": table.invalid,
        "checkpoints": len(table.units),
        "clusters": len(set(table.clusters.tolist())),
        "clustered_by": "cluster" if named else "checkpoint",
        "cells": int((table.outcomes.sum(axis=1) > 0).sum()),
        "cells_of_a_full_table": float((2.0**players).sum()),
    }


def _structurally_null(table: RolloutTable) -> dict[str, list[str]]:
    applies = table.applies
    names = table.players
    pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
    return {
        "players": [name for i, name in enumerate(names) if not applies[:, i].any()],
        "pairs": [f"{names[i]}+{names[j]}" for i, j in pairs if not (applies[:, i] & applies[:, j]).any()],
    }


def _warnings(
    table: RolloutTable, options: Options, found: list[Findings], placebo: dict[str, object]
) -> list[str]:
    warnings: list[str] = []
    if placebo.get("passed") is False:
        warnings.append(f"placebo {placebo['player']} {placebo['reason']}")
    if options.variant == "reference":
        warnings.append(
            "variant 'reference': Shapley values and sigma_ij - sigma_ijk/3 as the published code computes them, "
            "not the paper's Banzhaf values"
        )
    clusters = len(set(table.clusters.tolist()))
    if clusters < MIN_CLUSTERS and not options.these_only:
        warnings.append(
            f"independent checkpoints (clusters): {clusters}. Intervals speak for these checkpoints only "
            f"(at least {MIN_CLUSTERS} are needed to speak for others)"
        )
    warnings += _table_warnings(table)
    for measure in found:
        warnings += measure.warnings
    return warnings


def _table_warnings(table: RolloutTable) -> list[str]:
    warnings: list[str] = []
    counts = _counts(table)
    missing = float(str(counts["cells_of_a_full_table"])) - int(str(counts["cells"]))
    if missing > 0:
        total = float(str(counts["cells_of_a_full_table"]))
        warnings.append(
            f"coalitions not run: {missing:,.0f} of the {total:,.0f} that the players of the checkpoints form"
        )
    if table.infra.sum():
        warnings.append(f"{int(table.infra.sum())} rollouts with infra errors are left out")
    if table.invalid:
        warnings.append(f"{table.invalid} rollouts with invalid model output count as FAIL")
    applies = table.applies.sum(axis=0)
    for name, count in zip(table.players, applies, strict=True):
        if count == 0:
            warnings.append(f"player {name} is structurally null: it is in no coalition")
        elif count < len(table.units):
            warnings.append(f"player {name} applies at {count} of {len(table.units)} checkpoints")
    null_pairs = _structurally_null(table)["pairs"]
    alive = [p for p in null_pairs if all(applies[table.players.index(n)] for n in p.split("+"))]
    if alive:
        warnings.append(f"pairs that never apply together are structurally null: {', '.join(alive)}")
    return warnings + list(table.warnings)
