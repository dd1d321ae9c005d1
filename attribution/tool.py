"""What each component was worth, told to an agent from a table of rollouts. It runs no rollouts."""

from typing import Annotated, Any, ClassVar, Literal

import anyio.to_thread
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from ..server.candidate import resolve
from ..server.reports.answer import Answer, Detail
from ..server.tool import Args, tool
from ..server.workbench import Workbench

Level = Literal["compile", "pass", "fast"]
_LISTED = 12
_BASE_FIELDS = ("value", "low", "high", "n", "n_applicable", "estimand", "reason")


class AttributeArgs(Args):
    """What each feedback component was worth: Banzhaf effects with intervals and verdicts, from a table of rollouts."""

    path: Annotated[str, Field(description="CSV, JSONL, journal or Parquet of rollouts, below the root.")]
    players: Annotated[
        tuple[str, ...] | SkipJsonSchema[None],
        Field(description="The components in order; default: as written."),
    ] = None
    level: Annotated[Level, Field(description="What counts as success: at least this verdict.")] = "pass"
    by: Annotated[
        Literal["generation", "workload", "model"] | SkipJsonSchema[None],
        Field(description="Also for each value of this column."),
    ] = None
    estimand: Annotated[
        Literal["applicable", "all"],
        Field(description="Average where a component applies, or everywhere with 0 elsewhere."),
    ] = "applicable"
    placebo: Annotated[
        str | SkipJsonSchema[None], Field(description="The component that must come out null.")
    ] = None
    variant: Annotated[
        Literal["banzhaf", "reference"], Field(description="reference: what the published code computes.")
    ] = "banzhaf"
    detail: Annotated[Detail, Field(description="How much to tell.")] = "summary"
    wait_s: Annotated[
        float, Field(ge=0, le=600, description="Seconds to wait before the answer becomes a job.")
    ] = 45


class AttributionAnswer(Answer):
    """The document of the table, told at one level; `raw` is the whole of it."""

    component: ClassVar[str | None] = "attribution"
    level: Level
    document: dict[str, Any]

    def block(self, detail: Detail) -> dict[str, Any]:
        """Warnings and verdicts; the level's effects, at `evidence` all levels with their pairs, at `raw` everything."""
        if detail == "raw":
            return self.document
        levels: dict[str, Any] = self.document["levels"]
        shown = [self.level] if detail == "summary" else list(levels)
        kinds = ("phi",) if detail == "summary" else ("phi", "interaction", "sigma")
        told = {
            name: {
                kind: _brief(levels[name][kind], _LISTED if detail == "summary" else None) for kind in kinds
            }
            for name in shown
        }
        kept = ("warnings", "structurally_null", "verdicts", "placebo", "table")
        return {"levels": told} | {key: self.document[key] for key in kept}

    def block_lines(self, detail: Detail) -> list[str]:
        """The warnings first, then one line for each component and each pair that is shown to matter."""
        lines = [f"warning: {warning}" for warning in self.document["warnings"]]
        levels: dict[str, Any] = self.document["levels"]
        for name in [self.level] if detail == "summary" else list(levels):
            lines.append(f"{name}, {_estimands(levels[name]['phi'])}:")
            lines += [f"  {player}: {_line(number)}" for player, number in levels[name]["phi"].items()]
            lines += [
                f"  {pair}: interaction {_line(number)}"
                for pair, number in levels[name]["interaction"].items()
                if detail != "summary" or (number["p_holm"] or 1) < 0.05
            ]
        lines += [
            f"{player}: {verdict['verdict'] or 'unknown'}, {verdict['reason']}"
            for player, verdict in self.document["verdicts"].items()
        ]
        return lines


@tool(title="Attribute effects", read_only=True, name="attribute", component="attribution")
async def attribute_tool(bench: Workbench, args: AttributeArgs) -> AttributionAnswer:
    """Read the table, compute, and keep the whole document and the report page as artifacts."""
    _, file = resolve(bench.client, args.path)

    def work() -> tuple[dict[str, Any], str, str, str]:
        from .formats import headline, to_json
        from .html import to_html
        from .quantities import Options
        from .readers import read_table
        from .report import attribute

        options = Options(count_zero=args.estimand == "all", placebo=args.placebo, variant=args.variant)
        found = attribute(read_table(file, args.players), options, args.by)
        return found.as_json(), headline(found), to_json(found), to_html(found)

    await bench.progress("reading the table and computing effects", None)
    document, summary, text, page = await anyio.to_thread.run_sync(work)
    return AttributionAnswer(
        summary=summary,
        level=args.level,
        document=document,
        artifacts=(
            bench.keep_artifact("attribution.json", text.encode(), "attribution"),
            bench.keep_artifact("attribution.html", page.encode(), "attribution"),
        ),
        next=(f'attribute(path="{args.path}", detail="evidence")',) if args.detail == "summary" else (),
    )


def _brief(numbers: dict[str, Any], most: int | None) -> dict[str, Any]:
    """The numbers without their family fields, the largest first where not all are told."""
    names = list(numbers)
    if most is not None and len(names) > most:
        names = sorted(names, key=lambda name: -abs(numbers[name]["value"] or 0.0))[:most]
    return {name: {field: _rounded(numbers[name][field]) for field in _BASE_FIELDS} for name in names}


def _rounded(value: object) -> object:
    return round(value, 4) if isinstance(value, float) else value


def _line(number: dict[str, Any]) -> str:
    if number["value"] is None:
        return f"unknown ({number['reason']})"
    if number["low"] is None:
        return f"{number['value']:+.3f}, no interval ({number['reason']})"
    return f"{number['value']:+.3f} [{number['low']:+.3f}, {number['high']:+.3f}]"


def _estimands(numbers: dict[str, Any]) -> str:
    return "for " + " and ".join(dict.fromkeys(number["estimand"] for number in numbers.values()))
