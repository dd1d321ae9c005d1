"""The tool `attribute` as an agent calls it, and as a host lists it."""

import json
import subprocess  # noqa: TID251  # asks a fresh interpreter what it imports
import sys
from pathlib import Path

import pytest

from warpwise.attribution.tool import AttributeArgs, AttributionAnswer, attribute_tool
from warpwise.server.errors import InvalidRequest, NotFound
from warpwise.server.tool import Tool, load_tools
from warpwise.server.workbench import Workbench

DATA = Path(__file__).parents[2] / "attribution" / "data"


async def called(bench: Workbench, root: Path, **arguments: object) -> AttributionAnswer:
    (root / "t.csv").write_text((DATA / "simulated_feedback.csv").read_text())
    answer = await attribute_tool.run(bench, AttributeArgs.model_validate({"path": "t.csv", **arguments}))
    assert isinstance(answer, AttributionAnswer)
    return answer


async def test_the_summary_tells_warnings_effects_and_verdicts_of_one_level(
    bench: Workbench, root: Path
) -> None:
    answer = await called(bench, root)
    data = answer.structured("summary")
    assert set(data["levels"]) == {"pass"}
    debugger = data["levels"]["pass"]["phi"]["debugger"]
    assert 0.3 < debugger["low"] < debugger["value"] < debugger["high"] < 0.5
    assert (debugger["estimand"], debugger["n_applicable"]) == ("checkpoints like these", 20)
    assert data["verdicts"]["debugger"]["verdict"] == "live"
    text = answer.text("summary")
    assert text.index("warning: 6 rollouts with infra errors") < text.index("debugger: +0.4")
    assert "placebo: dead, no effect shown" in text
    assert "compiler+analyzer: interaction +0.3" in text


async def test_an_answer_stays_short_and_the_whole_document_is_an_artifact(
    bench: Workbench, root: Path
) -> None:
    answer = await called(bench, root)
    assert len(json.dumps(answer.structured("summary"))) < 6000
    assert [artifact.name for artifact in answer.artifacts] == ["attribution.json", "attribution.html"]
    evidence = answer.structured("evidence")
    assert list(evidence["levels"]) == ["compile", "pass", "fast"]
    assert set(evidence["levels"]["fast"]) == {"phi", "interaction", "sigma"}
    assert len(answer.structured("raw")["levels"]["pass"]["worth"]) == 32


async def test_arguments_reach_the_document(bench: Workbench, root: Path) -> None:
    answer = await called(bench, root, by="model", level="fast", placebo="placebo", estimand="all")
    raw = answer.structured("raw")
    assert (raw["by"]["column"], raw["averaged_over"]) == ("model", "all")
    assert set(answer.structured("summary")["levels"]) == {"fast"}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"path": "../t.csv"}, InvalidRequest, "outside the root"),
        ({"path": "absent.csv"}, NotFound, "no file absent.csv"),
        ({"players": ["debugger"]}, InvalidRequest, "unknown player"),
        ({"variant": "reference"}, InvalidRequest, "exactly 3 players"),
    ],
)
async def test_what_cannot_be_answered_is_refused(
    bench: Workbench, root: Path, arguments: dict[str, object], error: type[InvalidRequest], message: str
) -> None:
    with pytest.raises(error, match=message):
        await called(bench, root, **arguments)


def test_the_tool_is_listed_by_its_entry_point_with_every_argument_described() -> None:
    found = load_tools()["attribute"]
    assert isinstance(found, Tool)
    properties = AttributeArgs.model_json_schema()["properties"]
    assert all(field["description"] for field in properties.values())
    assert found.read_only


def test_listing_the_tool_does_not_load_numpy() -> None:
    code = (
        "import sys, warpwise.attribution.tool, warpwise.attribution.command; print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
