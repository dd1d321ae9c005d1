"""`warpwise workload check` tells an author everything that is wrong, at its place, and exits accordingly."""

import json
import shutil
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from warpwise.server.commands import workload
from warpwise.server.errors import NotFound
from warpwise.server.evaluation.shipped import FOLDER


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a shipped workload, and a state folder of its own."""
    monkeypatch.setenv("WARPWISE_STATE", str(tmp_path / "state"))
    return Path(shutil.copytree(FOLDER / "gemm", tmp_path / "gemm"))


def run(*arguments: str) -> tuple[int, str]:
    app = typer.Typer()
    workload.register(app)
    done = CliRunner().invoke(app, ["workload", "check", *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_sound_workload_passes_with_its_baseline_compiled(mine: Path) -> None:
    code, text = run(str(mine))
    assert code == 0
    lines = text.splitlines()
    assert all(line.startswith("ok    ") for line in lines)
    assert lines[-1] == "ok    baseline compiles: for sm_90, 1 kernels"


def test_a_fault_in_the_file_is_told_at_its_place_and_exits_1(mine: Path) -> None:
    edit(mine / "workload.toml", '["NI", "NJ"]', '["NI", "NQ"]')
    code, text = run(str(mine))
    assert code == 1
    assert text.splitlines() == [
        "WRONG workload.toml: 1 problem",
        "      gemm/workload.toml:20:42: unknown name `NQ`",
        "          Did you mean `NK`?",
    ]


def test_a_baseline_that_does_not_compile_is_told_at_its_line(mine: Path) -> None:
    edit(mine / "baseline.cu", "sum += A", "sum += undefined + A")
    code, text = run(str(mine))
    assert code == 1
    assert text.endswith(
        "WRONG baseline compiles: for sm_90, 0 kernels\n"
        '      baseline.cu:19:41: identifier "undefined" is undefined\n'
    )


def test_the_document_holds_every_check(mine: Path) -> None:
    edit(mine / "baseline.cu", '"B", "C"', '"B", "D"')
    code, text = run(str(mine), "--json", "--no-build")
    checks = json.loads(text)
    assert code == 1
    assert [check["check"] for check in checks if not check["ok"]] == ["baseline schedule"]
    (finding,) = checks[1]["findings"]
    assert finding["location"] == {"file": "baseline.cu", "line": 8, "column": 23}
    assert finding["rule"] == "schedule-unknown-name"


def test_a_folder_that_is_no_workload_cannot_be_checked(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere", Path(__file__)):
        with pytest.raises(NotFound, match=r"no workload\.toml"):
            run(str(path))
