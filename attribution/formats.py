"""The document as JSON, CSV and Markdown text. Computes nothing."""

import csv
import io
import json
from collections.abc import Iterator, Sequence

from .findings import Findings
from .quantities import Quantity
from .report import Attribution

COLUMNS: tuple[str, ...] = (
    "group",
    "measure",
    "kind",
    "name",
    "value",
    "low",
    "high",
    "se",
    "n",
    "n_applicable",
    "estimand",
    "p",
    "p_holm",
    "low_family",
    "high_family",
    "reason",
)
_MOST_LISTED = 40


def to_json(found: Attribution) -> str:
    """Return the document as JSON text with a final newline; no NaN, unknown numbers are null."""
    return json.dumps(found.as_json(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def to_csv(found: Attribution) -> str:
    """Return one line for each number, with the columns of `COLUMNS`; the group is empty for the whole table."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for group, part in (("", found), *found.groups.items()):
        for measure, kind, quantity in _numbers(part):
            writer.writerow(
                {
                    "group": group,
                    "measure": measure,
                    "kind": kind,
                    "name": quantity.name,
                    **quantity.as_json(),
                }
            )
    return text.getvalue()


def _numbers(found: Attribution) -> Iterator[tuple[str, str, Quantity]]:
    for measure in (*found.levels.values(), *found.measures.values()):
        for kind in ("phi", "interaction", "sigma", "worth"):
            for quantity in getattr(measure, kind):
                yield measure.measure, kind, quantity
    for level, costs in found.cost_per_effect.items():
        for quantity in costs:
            yield level, "cost_per_effect", quantity


def show(quantity: Quantity, signed: bool = True) -> str:
    """Return a number with its interval as text, `unknown` where there is none."""
    if quantity.value is None:
        return "unknown"
    form = "+.3f" if signed else ".3f"
    if quantity.low is None or quantity.high is None:
        return f"{quantity.value:{form}} [unknown]"
    return f"{quantity.value:{form}} [{quantity.low:{form}}, {quantity.high:{form}}]"


def headline(found: Attribution) -> str:
    """Return one sentence: what was read, and whom the intervals speak for."""
    table = found.table
    levels = next(iter(found.levels.values()))
    estimands = dict.fromkeys(quantity.estimand for quantity in levels.phi)
    used = int(table.outcomes.sum())
    clusters = len(set(table.clusters.tolist()))
    where = f"{len(table.units)} checkpoints" + (
        f" in {clusters} clusters" if clusters < len(table.units) else ""
    )
    return (
        f"{used:,} rollouts at {where}, {len(found.players)} components; "
        f"{found.options.confidence:.0%} intervals for {' and '.join(estimands)}."
    )


def to_markdown(found: Attribution) -> str:
    """Return the answer as a Markdown page: warnings first, then verdicts, effects, interactions and worths."""
    lines = ["# What each component was worth", "", headline(found), ""]
    lines += [f"> **Warning:** {warning}" for warning in found.warnings]
    lines += [""] if found.warnings else []
    if found.verdicts:
        lines += _table(
            ("component", "verdict", "direction", "evidence"),
            [
                (
                    v.player,
                    v.word or "unknown",
                    v.direction or "",
                    v.reason,
                )
                for v in found.verdicts
            ],
        )
    for measure in (*found.levels.values(), *found.measures.values()):
        lines += _measure(measure)
    for name, group in found.groups.items():
        lines += [f"## {found.by} {name}", "", headline(group), ""]
        lines += [f"> **Warning:** {warning}" for warning in group.warnings] + [""]
        for level in group.levels.values():
            lines += [f"### {level.measure}", ""]
            lines += _table(
                ("component", "phi", "estimand"), [(q.name, show(q), q.estimand) for q in level.phi]
            )
    return "\n".join(lines) + "\n"


def _measure(measure: Findings) -> list[str]:
    lines = [f"## {measure.measure}", "", f"Method: {measure.method}.", ""]
    lines += _table(
        ("component", "phi", "p (Holm)", "checkpoints", "estimand", "note"),
        [
            (
                q.name,
                show(q),
                "" if q.p_holm is None else f"{q.p_holm:.3g}",
                q.n_applicable,
                q.estimand,
                q.reason or "",
            )
            for q in measure.phi
        ],
    )
    if measure.interaction:
        lines += _table(
            ("pair", "interaction", "sigma", "note"),
            [
                (i.name, show(i), show(s), i.reason or s.reason or "")
                for i, s in zip(measure.interaction, measure.sigma, strict=True)
            ],
        )
    shown = measure.worth[:_MOST_LISTED]
    lines += _table(
        ("coalition", "worth", "rollouts", "note"),
        [(q.name, show(q, False), q.n, q.reason or "") for q in shown],
    )
    if len(measure.worth) > len(shown):
        lines += [f"{len(measure.worth) - len(shown)} further coalitions are in the JSON and CSV.", ""]
    return lines


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return [*lines, ""]


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
