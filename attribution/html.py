"""The self-contained HTML report: warnings first, verdicts, charts, every number. No network, no script."""

from collections.abc import Iterable, Sequence
from html import escape

from .charts import MOST_BARS, curves, forest, heat_map, upset
from .findings import Findings
from .formats import headline, show
from .quantities import Quantity
from .report import ESTIMANDS, Attribution, attribute
from .style import STYLE
from .verdicts import Verdict

_TITLES = {
    "compile": "Compiles",
    "pass": "Passes",
    "fast": "Fast",
    "log_speedup": "Speed-up (log, 0 where it does not pass)",
    "cost": "Cost of a rollout",
}
_MOST_ROWS = 64


def to_html(found: Attribution) -> str:
    """Return the report as one page of HTML, all text escaped, readable from 400 px up."""
    parts = [_head(found), _warnings(found.warnings), _verdicts(found)]
    parts += [_measure(found, measure) for measure in (*found.levels.values(), *found.measures.values())]
    parts += [_generations(found), _groups(found), _notes(found)]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>What each component was worth</title><style>{STYLE}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _head(found: Attribution) -> str:
    links = "".join(
        f'<a href="#{name}">{escape(_TITLES[name])}</a>' for name in (*found.levels, *found.measures)
    )
    return (
        f"<header><h1>What each component was worth</h1><p>{escape(headline(found))}</p>"
        f'<nav><a href="#verdicts">Verdicts</a>{links}<a href="#notes">How to read this</a></nav></header>'
    )


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return '<section id="warnings" class="calm"><p>No warnings.</p></section>'
    items = "".join(f"<li>{escape(warning)}</li>" for warning in warnings)
    return f'<section id="warnings" class="alarm"><h2>Read first</h2><ul>{items}</ul></section>'


def _verdicts(found: Attribution) -> str:
    if not found.verdicts:
        return '<section id="verdicts"><h2>Verdicts</h2><p>None for this variant.</p></section>'
    cards = "".join(_card(found, verdict) for verdict in found.verdicts)
    return f'<section id="verdicts"><h2>Verdicts</h2><div class="cards">{cards}</div></section>'


def _card(found: Attribution, verdict: Verdict) -> str:
    word = verdict.word or "unknown"
    certainty = "" if verdict.shown or word != "dead" else " (not shown)"
    costs = [
        f"{quantity.value:.3g} for each unit of {level}"
        for level, quantities in found.cost_per_effect.items()
        for quantity in quantities
        if quantity.name == verdict.player and quantity.value is not None
    ]
    cost = f"<p class='cost'>Cost: {escape('; '.join(costs))}</p>" if costs else ""
    direction = f"<p>{escape(verdict.direction)}</p>" if verdict.direction else ""
    return (
        f'<article class="{word}"><h3>{escape(verdict.player)}</h3><b>{word}{certainty}</b>'
        f"{direction}<p>{escape(verdict.reason)}</p>{cost}</article>"
    )


def _measure(found: Attribution, measure: Findings) -> str:
    name = _TITLES[measure.measure]
    shown = len([q for q in measure.worth if q.value is not None])
    cut = f" ({MOST_BARS} of {shown}: the highest and the lowest)" if shown > MOST_BARS else ""
    figures = [_figure(f"Effect of each component: {name}", forest(measure.phi, f"phi, {name}"))]
    if measure.interaction:
        heat = heat_map(found.players, measure.interaction, f"interactions, {name}")
        figures.append(_figure("Interaction of each pair; a dot: shown to differ from 0", heat))
    if shown:
        bars = upset(found.players, measure.worth, f"worths, {name}", measure.sample.is_rate)
        figures.append(_figure(f"Worth of each coalition{cut}", bars))
    return (
        f'<section id="{measure.measure}"><h2>{escape(name)}</h2><p>Method: {escape(measure.method)}.</p>'
        f'<div class="figures">{"".join(figures)}</div>{_numbers(measure)}</section>'
    )


def _figure(caption: str, drawing: str) -> str:
    return f"<figure><figcaption>{escape(caption)}</figcaption>{drawing}</figure>"


def _numbers(measure: Findings) -> str:
    rows: list[Sequence[object]] = []
    for kind in ("phi", "interaction", "sigma", "worth"):
        quantities: list[Quantity] = getattr(measure, kind)
        for q in quantities[:_MOST_ROWS]:
            holm = "" if q.p_holm is None else f"{q.p_holm:.2g}"
            text = show(q, signed=kind != "worth")
            rows.append((kind, q.name, text, holm, q.n, q.n_applicable, q.estimand, q.reason or ""))
    head = ("kind", "name", "value [interval]", "p (Holm)", "rollouts", "checkpoints", "estimand", "reason")
    return f"<details><summary>All numbers</summary>{_table(head, rows)}</details>"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _generations(found: Attribution) -> str:
    """Curves by generation, whether or not that grouping was asked for."""
    generations = {unit.generation for unit in found.table.units}
    if None in generations or len(generations) < 2:
        why = "the table has no generations" if None in generations else "there is one generation only"
        return f'<section id="generations"><h2>By generation</h2><p>No curves: {why}.</p></section>'
    split = found if found.by == "generation" else attribute(found.table, found.options, "generation")
    figures: list[str] = []
    for level in found.levels:
        series: dict[str, list[tuple[str, Quantity]]] = {}
        for label, group in split.groups.items():
            for quantity in group.levels[level].phi:
                series.setdefault(f"{quantity.name}", []).append((label, quantity))
            for quantity in (group.levels[level].worth[0], group.levels[level].worth[-1]):
                series.setdefault(f"v({quantity.name})", []).append((label, quantity))
        title = f"{_TITLES[level]}: effects and worths by generation"
        figures.append(_figure(title, curves(series, title)))
    return (
        '<section id="generations"><h2>By generation</h2>'
        f'<div class="figures">{"".join(figures)}</div></section>'
    )


def _groups(found: Attribution) -> str:
    if found.by in (None, "generation"):
        return ""
    rows = [
        (label, level.measure, q.name, show(q), q.estimand, q.reason or "")
        for label, group in found.groups.items()
        for level in group.levels.values()
        for q in level.phi
    ]
    head = (str(found.by), "level", "component", "phi", "estimand", "reason")
    return f"<section id='groups'><h2>By {escape(str(found.by))}</h2>{_table(head, rows)}</section>"


def _notes(found: Attribution) -> str:
    estimands = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in ESTIMANDS.items())
    levels = "exactly at" if found.options.exclusive else "at or above"
    where = (
        "all checkpoints, 0 where it does not apply"
        if found.options.count_zero
        else "where a component applies"
    )
    return (
        '<section id="notes"><h2>How to read this</h2><dl>'
        "<dt>effect (phi)</dt><dd>Banzhaf value: what giving a component changes, averaged over every coalition of "
        "the others. Thick: the interval. Thin: the interval that holds for all components together.</dd>"
        "<dt>interaction</dt><dd>How much one component changes the effect of another, averaged likewise; below 0 "
        "they replace each other.</dd>"
        f"<dt>level</dt><dd>The rate of rollouts {levels} a verdict. Averages are taken over {where}.</dd>"
        "<dt>dead, redundant, live</dt><dd>live: an effect is shown. redundant: it helps alone and adds nothing to "
        "the rest. dead: no effect is shown; “not shown” means that effects beyond the margin are not excluded.</dd>"
        f"{estimands}</dl></section>"
    )
