"""The commands as a user types them: documents, files, plans, refusals."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from warpwise.attribution.command import register
from warpwise.server.errors import InvalidRequest, StorageFailure, WarpwiseError

DATA = Path(__file__).parents[2] / "attribution" / "data"
FEEDBACK = str(DATA / "simulated_feedback.csv")
PLAYERS = "compiler,debugger,analyzer,profiler,placebo"


def run(*arguments: str) -> Result:
    app = typer.Typer()
    register(app)
    return CliRunner().invoke(app, list(arguments))


def document(*arguments: str) -> dict[str, Any]:
    result = run("attribute", *arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def refusal(*arguments: str) -> WarpwiseError:
    error = run(*arguments).exception
    assert isinstance(error, WarpwiseError)
    return error


def test_the_example_table_gives_its_known_effects_as_json() -> None:
    found = document(FEEDBACK, "--players", PLAYERS, "--by", "generation")
    phi = found["levels"]["pass"]["phi"]
    truth = {"compiler": 0.14, "debugger": 0.4, "analyzer": 0.14, "profiler": 0.12, "placebo": 0.0}
    assert list(phi) == list(truth)
    assert all(phi[name]["low_family"] <= value <= phi[name]["high_family"] for name, value in truth.items())
    assert list(found["by"]["groups"]) == ["0", "1", "2", "3"]
    assert found["verdicts"]["placebo"]["verdict"] == "dead"
    assert found["table"]["infra_errors"] == 6


def test_a_fraction_of_the_coalitions_clustered_by_run_is_enough() -> None:
    found = document(str(DATA / "simulated_fraction.csv"))
    memcheck = found["levels"]["pass"]["phi"]["debugger.memcheck"]
    assert memcheck["low"] > 0.2
    assert found["table"]["clusters"] == 12
    assert found["table"]["clustered_by"] == "cluster"


def test_options_reach_the_document() -> None:
    found = document(
        *(FEEDBACK, "--estimand", "all", "--exclusive", "--confidence", "0.9", "--placebo", "profiler"),
        *("--these-checkpoints", "--assume-variance", "0.25", "--margin", "0.2"),
    )
    assert (found["averaged_over"], found["levels_are"], found["confidence"]) == ("all", "exclusive", 0.9)
    assert found["placebo"]["player"] == "profiler"
    assert found["levels"]["pass"]["phi"]["debugger"]["estimand"] == "these checkpoints"


def test_the_same_table_gives_the_same_bytes() -> None:
    assert run("attribute", FEEDBACK, "--json").stdout == run("attribute", FEEDBACK, "--json").stdout


def test_every_format_is_written_where_asked_and_markdown_is_printed(tmp_path: Path) -> None:
    paths = {kind: tmp_path / f"report.{kind}" for kind in ("html", "csv", "markdown")}
    options = [text for kind, path in paths.items() for text in (f"--{kind}", str(path))]
    result = run("attribute", FEEDBACK, *options)
    assert result.exit_code == 0
    assert result.stdout == paths["markdown"].read_text()
    assert paths["html"].read_text().startswith("<!doctype html>")
    assert len(paths["csv"].read_text().splitlines()) > 300


def test_a_misspelt_player_is_refused_with_the_row() -> None:
    error = refusal("attribute", FEEDBACK, "--players", "compiler,debuger,analyzer,profiler,placebo")
    assert error.what.startswith("row 5 (line 6): unknown player 'debugger'")
    assert error.hint == "Did you mean 'debuger'?"


def test_pass_at_k_beyond_the_repetitions_is_refused_naming_the_cell() -> None:
    error = refusal("attribute", FEEDBACK, "--pass-at", "3")
    assert "checkpoint k-002, coalition none has 2" in error.what


def test_a_file_that_cannot_be_written_is_a_storage_failure(tmp_path: Path) -> None:
    absent = str(tmp_path / "absent" / "report.html")
    assert isinstance(refusal("attribute", FEEDBACK, "--html", absent), StorageFailure)
    (tmp_path / "file").write_text("")
    blocked = str(tmp_path / "file" / "plots")
    assert isinstance(refusal("attribute", FEEDBACK, "--plots", blocked), StorageFailure)


def test_a_plan_from_stated_variances_counts_rollouts_and_cost() -> None:
    arguments = ("--width", "0.05", "--coalitions", "16", "--between", "0.01", "--rollout-cost", "0.02")
    found = json.loads(run("attribute-plan", *arguments).stdout)
    assert found["half_width"] <= 0.05
    assert found["rollouts"] == found["checkpoints"] * 16
    assert found["cost"] == pytest.approx(found["rollouts"] * 0.02)
    assert found["variances"] == {"within": 0.25, "between": 0.01, "from": "stated"}


def test_a_plan_from_a_pilot_takes_its_variances(tmp_path: Path) -> None:
    rows = [line for line in Path(FEEDBACK).read_text().splitlines() if ",true" not in line]
    lost = {
        tuple(line.split(",")[0:6:5]) for line in Path(FEEDBACK).read_text().splitlines() if ",true" in line
    }
    assert len(lost) == 6
    pilot = tmp_path / "pilot.csv"
    pilot.write_text("\n".join(rows) + "\n")
    found = json.loads(
        run("attribute-plan", "--width", "0.04", "--coalitions", "32", "--pilot", str(pilot)).stdout
    )
    assert found["variances"]["from"] == str(pilot)
    assert 0.1 < found["variances"]["within"] < 0.25
    assert isinstance(refusal("attribute-plan", "--width", "0", "--coalitions", "8"), InvalidRequest)
