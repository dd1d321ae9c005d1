"""The commands `warpwise attribute` and `warpwise attribute-plan`. They read, ask the library, and write."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from .report import Attribution

_Players = Annotated[
    str | None,
    typer.Option("--players", help="The components in order, a,b,c. Default: as the table has them."),
]
_By = Annotated[
    Literal["generation", "workload", "model"] | None,
    typer.Option("--by", help="Also give every number for each value of this column."),
]
_Estimand = Annotated[
    Literal["applicable", "all"],
    typer.Option(
        "--estimand", help="Average where a component applies, or over all checkpoints with 0 elsewhere."
    ),
]
_These = Annotated[
    bool,
    typer.Option(
        "--these-checkpoints", help="Intervals for these checkpoints alone, not for others like them."
    ),
]
_Exclusive = Annotated[
    bool, typer.Option("--exclusive", help="Rates of exactly a level, not of at least it.")
]
_K = Annotated[int, typer.Option("--pass-at", min=1, help="Unbiased pass@k instead of the rate.")]
_Variant = Annotated[
    Literal["banzhaf", "reference"],
    typer.Option("--variant", help="reference: what the published code computes, not what its paper says."),
]
_Assumed = Annotated[
    float | None,
    typer.Option(
        "--assume-variance", help="Stated variance of one rollout, e.g. 0.25, where none is repeated."
    ),
]
_Placebo = Annotated[str | None, typer.Option("--placebo", help="The component that must come out null.")]
_Margin = Annotated[float, typer.Option("--margin", help="Effects below this count as none.")]
_Confidence = Annotated[float, typer.Option("--confidence", help="Of every interval.")]
_Json = Annotated[bool, typer.Option("--json", help="Print the JSON document instead of Markdown.")]
_Html = Annotated[Path | None, typer.Option("--html", help="Write the self-contained report.")]
_Csv = Annotated[Path | None, typer.Option("--csv", help="Write every number, one a line.")]
_Markdown = Annotated[
    Path | None, typer.Option("--markdown", help="Write the page that is printed by default.")
]
_Plots = Annotated[
    Path | None, typer.Option("--plots", help="Write PNG and SVG plots into this folder (matplotlib).")
]
_MaxGb = Annotated[float, typer.Option("--max-gb", help="Refuse larger tables.")]

_Width = Annotated[float, typer.Option("--width", help="The wished half-width of the interval.")]
_Coalitions = Annotated[int, typer.Option("--coalitions", min=2, help="Coalitions at each checkpoint.")]
_Effect = Annotated[
    Literal["phi", "interaction", "sigma", "worth"],
    typer.Option("--effect", help="What is to be that narrow."),
]
_Repetitions = Annotated[int, typer.Option("--repetitions", min=1, help="Of each coalition.")]
_Within = Annotated[float, typer.Option("--within", help="Variance of one rollout, p(1-p).")]
_Between = Annotated[float, typer.Option("--between", help="Variance of the effect between checkpoints.")]
_Pilot = Annotated[Path | None, typer.Option("--pilot", help="A rollout table that shows both variances.")]
_Level = Annotated[Literal["compile", "pass", "fast"], typer.Option("--level", help="The pilot's level.")]
_RolloutCost = Annotated[float | None, typer.Option("--rollout-cost", help="Price of one rollout.")]
_CheckpointCost = Annotated[float, typer.Option("--checkpoint-cost", help="Price of one checkpoint.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the `warpwise` program."""
    app.command("attribute")(attribute_command)
    app.command("attribute-plan")(plan_command)


def attribute_command(  # noqa: PLR0913, PLR0917  # one parameter for each option
    table: Annotated[Path, typer.Argument(help="Rollouts: CSV, JSONL, a journal or Parquet.")],
    players: _Players = None,
    by: _By = None,
    json: _Json = False,
    html: _Html = None,
    csv: _Csv = None,
    markdown: _Markdown = None,
    plots: _Plots = None,
    estimand: _Estimand = "applicable",
    these_checkpoints: _These = False,
    exclusive: _Exclusive = False,
    pass_at: _K = 1,
    variant: _Variant = "banzhaf",
    assume_variance: _Assumed = None,
    placebo: _Placebo = None,
    margin: _Margin = 0.05,
    confidence: _Confidence = 0.95,
    max_gb: _MaxGb = 1.0,
) -> None:
    """What was each feedback component worth? Banzhaf effects with intervals, from a table of rollouts."""
    from .formats import to_json, to_markdown
    from .quantities import Options
    from .readers import read_table
    from .report import attribute

    options = Options(
        confidence=confidence,
        count_zero=estimand == "all",
        these_only=these_checkpoints,
        exclusive=exclusive,
        k=pass_at,
        variant=variant,
        assumed_variance=assume_variance,
        placebo=placebo,
        margin=margin,
    )
    found = attribute(read_table(table, split_players(players), max_gb), options, by)
    _write(found, html, csv, markdown, plots)
    typer.echo(to_json(found) if json else to_markdown(found), nl=False)


def split_players(text: str | None) -> list[str] | None:
    """Return the names of a comma-separated list, None for none given."""
    return None if text is None else [name.strip() for name in text.split(",")]


def _write(
    found: "Attribution", html: Path | None, csv: Path | None, markdown: Path | None, plots: Path | None
) -> None:
    from .formats import to_csv, to_markdown
    from .html import to_html
    from .plots import save_plots

    for path, render in ((html, to_html), (csv, to_csv), (markdown, to_markdown)):
        if path is not None:
            save_text(path, render(found))
    if plots is not None:
        save_plots(found, plots)


def save_text(path: Path, text: str) -> None:
    """Write a file. Raises StorageFailure when that cannot be done."""
    from ..server.errors import StorageFailure

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageFailure(f"cannot write {path}: {error.strerror}", hint="Check the folder.") from None


def plan_command(  # noqa: PLR0913, PLR0917  # one parameter for each option
    width: _Width,
    coalitions: _Coalitions,
    effect: _Effect = "phi",
    repetitions: _Repetitions = 1,
    within: _Within = 0.25,
    between: _Between = 0.0,
    pilot: _Pilot = None,
    level: _Level = "pass",
    players: _Players = None,
    rollout_cost: _RolloutCost = None,
    checkpoint_cost: _CheckpointCost = 0.0,
    confidence: _Confidence = 0.95,
) -> None:
    """How many checkpoints and rollouts does an interval of this half-width take? Prints JSON."""
    import json

    from .budget import Variances, pilot_variances, plan
    from .findings import analyse
    from .quantities import Options
    from .readers import read_table
    from .values import sample

    variances = Variances(within, between)
    if pilot is not None:
        table = read_table(pilot, split_players(players))
        variances = pilot_variances(analyse(sample(table, level), Options(confidence=confidence)), effect)
    found = plan(
        width,
        variances,
        coalitions=coalitions,
        repetitions=repetitions,
        effect=effect,
        confidence=confidence,
        rollout_cost=rollout_cost,
        checkpoint_cost=checkpoint_cost,
    )
    stated = {
        "within": variances.within,
        "between": variances.between,
        "from": str(pilot) if pilot else "stated",
    }
    typer.echo(json.dumps({**found.as_json(), "variances": stated}, indent=1, allow_nan=False))
