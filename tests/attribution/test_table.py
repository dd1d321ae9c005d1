"""Rollout tables from files and records: every format alike, and what is wrong named by its row."""

import csv
import io
import json
import random
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from warpwise.attribution.gathering import table_from_rows
from warpwise.attribution.readers import read_table
from warpwise.attribution.report import attribute
from warpwise.attribution.rows import COLUMNS
from warpwise.server.errors import InvalidRequest, NotFound

DATA = Path(__file__).parents[2] / "attribution" / "data"
ROW: dict[str, object] = {"checkpoint": "k-1", "coalition": "a", "repetition": 0, "verdict": "PASS"}


def as_csv(rows: Iterable[dict[str, object]], columns: Iterable[str] = COLUMNS) -> str:
    text = io.StringIO()
    names: list[str] = list(columns)
    writer = csv.DictWriter(text, names, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def full_rows(checkpoints: int = 6, repetitions: int = 2) -> list[dict[str, object]]:
    """All four coalitions of a and b; a makes it pass at every checkpoint but the first."""
    return [
        {
            "checkpoint": f"k-{c}",
            "coalition": coalition,
            "repetition": r,
            "verdict": "PASS" if "a" in coalition and (c or r) else "FAIL",
            "speedup": 1.5 if "a" in coalition and (c or r) else "",
            "cost": 2.0,
        }
        for c in range(checkpoints)
        for coalition in ("", "a", "b", "a+b")
        for r in range(repetitions)
    ]


def test_csv_jsonl_journal_and_parquet_give_the_same_document(tmp_path: Path) -> None:
    rows = full_rows()
    parsed = [
        {
            **row,
            "coalition": [name for name in str(row["coalition"]).split("+") if name],
            "speedup": row["speedup"] or None,
        }
        for row in rows
    ]
    (tmp_path / "t.csv").write_text("\ufeff" + as_csv(rows))
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps(row) for row in parsed) + "\n\n")
    events = [
        json.dumps({"event": "start"}),
        *(json.dumps({"event": "done", "rollout": row}) for row in parsed),
    ]
    (tmp_path / "journal").write_text("\n".join(json.dumps(json.loads(line)) for line in events))
    arrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    parquet.write_table(arrow.Table.from_pylist(parsed), tmp_path / "t.parquet")
    documents = [
        attribute(read_table(tmp_path / name, ["a", "b"])).as_json()
        for name in ("t.csv", "t.jsonl", "journal", "t.parquet")
    ]
    table = documents[0]["table"]
    assert isinstance(table, dict)
    assert (table["rows"], table["checkpoints"], table["cells"]) == (48, 6, 24)
    assert all(document == documents[0] for document in documents)


def test_the_order_of_the_rows_does_not_matter() -> None:
    rows = full_rows()
    shuffled = rows.copy()
    random.Random(4).shuffle(shuffled)
    assert attribute(table_from_rows(shuffled)).as_json() == attribute(table_from_rows(rows)).as_json()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coalition": "a+x"}, "row 3: unknown player 'x'"),
        ({"coalition": "a+a"}, "row 3: coalition 'a+a' names a player twice"),
        ({"coalition": "a+"}, "row 3: coalition 'a+' holds an empty name"),
        ({"verdict": "GOOD"}, "row 3: verdict 'GOOD' is none of FAIL, COMPILE, PASS, FAST"),
        ({"verdict": ""}, "row 3: no verdict"),
        ({"speedup": "nan"}, "row 3: speedup is nan"),
        ({"speedup": float("nan")}, "row 3: speedup is nan"),
        ({"speedup": "-1.5"}, "row 3: speedup -1.5 is not positive"),
        ({"speedup": 0}, "row 3: speedup 0 is not positive"),
        ({"speedup": "inf"}, "row 3: speedup is inf"),
        ({"speedup": "quick"}, "row 3: speedup 'quick' is not a number"),
        ({"cost": -1}, "row 3: cost -1 is negative"),
        ({"checkpoint": " "}, "row 3: no checkpoint"),
        ({"coalition": None}, "row 3: no coalition"),
        ({"repetition": 0.5}, "row 3: repetition 0.5 is not a whole number"),
        ({"repetition": 1}, "row 3: checkpoint k-1, coalition a: repetition 1 is listed twice"),
        ({"repetition": 5000}, "row 4: checkpoint k-1, coalition a: repetition 5000 is listed twice"),
        ({"infra_error": "maybe"}, "row 3: infra_error 'maybe' is neither true nor false"),
        ({"workload": "conv"}, "row 3: checkpoint k-1 has workload conv here and gemm before"),
        ({"generation": "x"}, "row 3: generation 'x' is not a number"),
    ],
)
def test_a_bad_row_is_named_with_what_is_wrong(change: dict[str, object], message: str) -> None:
    row = {**ROW, "workload": "gemm"}
    third = {**row, "repetition": 2, **change}
    with pytest.raises(InvalidRequest) as refused:
        table_from_rows([row, {**row, "repetition": 1}, third, third], ["a", "b"])
    assert refused.value.what.startswith(message)


def test_a_bad_line_of_a_file_is_named_by_row_and_line(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text('checkpoint,coalition,verdict\n"k\n1",a,PASS\nk-2,a,WRONG\n')
    with pytest.raises(InvalidRequest, match=r"^row 2 \(line 4\): verdict 'WRONG'"):
        read_table(file)
    file.write_text("checkpoint,coalition,verdict\nk-1,a\n")
    with pytest.raises(InvalidRequest, match=r"^row 1 \(line 2\): 2 values for 3 columns"):
        read_table(file)
    cut = tmp_path / "t.jsonl"
    cut.write_text(json.dumps(ROW) + '\n{"checkpoint": "k-')
    with pytest.raises(InvalidRequest, match=r"^line 2: not JSON"):
        read_table(cut)
    cut.write_text("[1]\n")
    with pytest.raises(InvalidRequest, match=r"^line 1: not a JSON object"):
        read_table(cut)


def test_a_near_miss_of_a_name_is_pointed_out(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest) as refused:
        table_from_rows([{**ROW, "coalition": "debuger"}], ["debugger"])
    assert refused.value.hint == "Did you mean 'debugger'?"
    file = tmp_path / "t.csv"
    file.write_text("checkpoint,coalition,verdit\n")
    with pytest.raises(InvalidRequest, match=r"no column 'verdict'; is 'verdit' meant"):
        read_table(file)
    file.write_text("checkpoint,coalition,verdict,speed_up\nk-1,a,PASS,\n")
    assert read_table(file).warnings[0] == "column 'speed_up' is not used (is 'speedup' meant?)"
    file.write_text("checkpoint,coalition,verdict,verdict\n")
    with pytest.raises(InvalidRequest, match="column 'verdict' is there twice"):
        read_table(file)


def test_infra_errors_are_left_out_and_counted_and_invalid_output_is_a_failure() -> None:
    rows: list[dict[str, object]] = [
        ROW,
        {**ROW, "repetition": 1, "verdict": "", "infra_error": "true"},
        {**ROW, "repetition": 2, "verdict": "", "status": "invalid_output"},
        {**ROW, "repetition": 3, "verdict": "FAIL", "status": "invalid_output"},
    ]
    table = table_from_rows(rows)
    assert (table.rows, table.invalid, table.infra.tolist(), table.outcomes.tolist()) == (
        4,
        2,
        [1],
        [[2, 0, 1, 0]],
    )


def test_coalitions_in_another_order_are_the_same_set_and_said_so() -> None:
    rows = full_rows()
    for row in rows:
        if row["coalition"] == "a+b" and row["repetition"] == 1:
            row["coalition"] = "b+a"
    table = table_from_rows(rows, ["a", "b"])
    assert table.warnings == ("rows that write their coalition in another order than a+b, read as sets: 6",)
    with pytest.raises(InvalidRequest, match=r"row 2: .*repetition 0 is listed twice"):
        table_from_rows([{**ROW, "coalition": "a+b"}, {**ROW, "coalition": "b+a"}], ["a", "b"])


def test_players_are_ordered_as_declared_else_as_all_rows_write_them_else_by_name() -> None:
    rows: list[dict[str, object]] = [{**ROW, "coalition": name} for name in ("b", "a", "b+a")]
    assert table_from_rows(rows, ["a", "b", "c"]).players == ("a", "b", "c")
    assert table_from_rows(rows).players == ("b", "a")
    assert table_from_rows(rows[:2]).players == ("a", "b")
    chain: list[dict[str, object]] = [{**ROW, "coalition": name} for name in ("c+a", "a+b")]
    assert table_from_rows(chain).players == ("c", "a", "b")
    mixed = table_from_rows([*rows, {**ROW, "coalition": "a+b", "repetition": 1}])
    assert mixed.players == ("a", "b")
    assert mixed.warnings == ("rows that write their coalition in another order than a+b, read as sets: 1",)


@pytest.mark.parametrize(
    ("players", "message"),
    [
        ([], "no players"),
        (["a", "a"], "declared twice"),
        (["a+b"], "'a[+]b' cannot be the name"),
        (["none"], "'none' cannot be the name"),
        ([f"p{i}" for i in range(63)], "63 players: at most 62"),
    ],
)
def test_players_that_cannot_be_are_refused(players: list[str], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        table_from_rows([ROW], players)


def test_a_table_without_repetitions_is_read_and_flagged() -> None:
    row = {key: value for key, value in ROW.items() if key != "repetition"}
    table = table_from_rows([row, row])
    assert table.outcomes.tolist() == [[0, 0, 2, 0]]
    assert table.warnings == ("rows without a repetition number, so that duplicates cannot be detected: 2",)


def test_clusters_are_the_cluster_column_where_there_is_one_and_must_be_complete() -> None:
    rows = [{**row, "cluster": f"run-{str(row['checkpoint'])[-1:] in '012'}"} for row in full_rows()]
    assert table_from_rows(rows).clusters.tolist() == [0, 0, 0, 1, 1, 1]
    assert table_from_rows(full_rows()).clusters.tolist() == list(range(6))
    with pytest.raises(InvalidRequest, match="k-5 has no cluster"):
        table_from_rows(
            [{**row, "cluster": "" if row["checkpoint"] == "k-5" else "r"} for row in full_rows()]
        )


def test_two_models_at_a_checkpoint_are_two_units_of_one_cluster() -> None:
    rows = [{**row, "model": model} for model in ("big", "small") for row in full_rows(2)]
    table = table_from_rows(rows)
    assert [(unit.checkpoint, unit.model) for unit in table.units] == [
        ("k-0", "big"),
        ("k-0", "small"),
        ("k-1", "big"),
        ("k-1", "small"),
    ]
    assert table.clusters.tolist() == [0, 0, 1, 1]
    assert table.groups("model") == ["big", "small"]
    assert table.select("model", "big").rows == 16


def test_a_grouping_that_is_unknown_somewhere_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="some checkpoints have no workload"):
        table_from_rows(full_rows()).groups("workload")


def test_five_gigabytes_are_refused_at_once_with_the_way_out(tmp_path: Path) -> None:
    file = tmp_path / "large.csv"
    with file.open("wb") as stream:
        stream.truncate(5_000_000_000)
    with pytest.raises(InvalidRequest, match=r"5\.0 GB, more than the limit of 1 GB") as refused:
        read_table(file)
    assert "--max-gb" in refused.value.hint


def test_files_that_hold_nothing_or_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no file"):
        read_table(tmp_path / "absent.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InvalidRequest, match="no column 'checkpoint'"):
        read_table(tmp_path / "empty.csv")
    (tmp_path / "bare.csv").write_text("checkpoint,coalition,verdict\n")
    with pytest.raises(InvalidRequest, match="holds no rollouts"):
        read_table(tmp_path / "bare.csv")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(InvalidRequest, match="not Parquet"):
        read_table(tmp_path / "bad.parquet")
    (tmp_path / "bad.csv").write_text('checkpoint,coalition,verdict\n"k-1')
    with pytest.raises(InvalidRequest, match="not CSV"):
        read_table(tmp_path / "bad.csv")


def test_the_example_tables_are_what_their_script_makes() -> None:
    script = Path(__file__).parents[2] / "benchmarks" / "attribution_example.py"
    scope: dict[str, Any] = {"__file__": str(script), "__name__": "example"}
    exec(compile(script.read_text(), str(script), "exec"), scope)
    for name, make in scope["TABLES"].items():
        assert (DATA / name).read_text() == scope["as_csv"](make())
