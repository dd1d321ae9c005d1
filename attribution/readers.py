"""Rollout tables from files: CSV, JSONL, an experiment's journal, Parquet. Streams; keeps no rows."""

import csv
import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from ..server.errors import InvalidRequest, NotFound, ProgramMissing
from .gathering import Gathering
from .rows import check_columns, parse_row
from .table import RolloutTable

MAX_GB = 1.0


def read_table(
    path: str | Path, players: Sequence[str] | None = None, max_gb: float = MAX_GB
) -> RolloutTable:
    """Read a rollout table, its format told by suffix (.csv, .jsonl, .ndjson, .parquet) or first bytes.

    In CSV the coalition is names joined by `+`, empty for none; in JSONL a list. A journal is JSONL whose
    lines carry the rollout under the key "rollout"; its other lines are skipped. Memory grows with the
    cells, not the rows. Raises InvalidRequest naming the row for bad data and for a file above `max_gb`
    gigabytes (10**9 bytes), NotFound for no file, ProgramMissing when Parquet needs the extra `parquet`.
    """
    file = Path(path)
    if not file.is_file():
        raise NotFound(f"no file {file}")
    size = file.stat().st_size / 1e9
    if size > max_gb:
        raise InvalidRequest(
            f"{file.name} has {size:.1f} GB, more than the limit of {max_gb:g} GB",
            hint="Give a larger --max-gb (a gigabyte takes some five minutes), or count repetitions beforehand.",
        )
    gathering = Gathering(players)
    for where, record in _records(file, gathering):
        gathering.add(parse_row(record, where), where)
    return gathering.finish()


def _records(file: Path, gathering: Gathering) -> Iterator[tuple[str, dict[str, object]]]:
    kind = file.suffix.lower()
    if kind not in (".csv", ".jsonl", ".ndjson", ".parquet"):
        with file.open("rb") as stream:
            first = stream.read(4)
        kind = ".parquet" if first == b"PAR1" else ".jsonl" if first[:1] == b"{" else ".csv"
    if kind == ".parquet":
        return _parquet(file, gathering)
    return _csv(file, gathering) if kind == ".csv" else _jsonl(file, gathering)


def _csv(file: Path, gathering: Gathering) -> Iterator[tuple[str, dict[str, object]]]:
    with file.open(encoding="utf-8-sig", newline="", errors="surrogateescape") as stream:
        lines = csv.reader(stream, strict=True)
        try:
            header = [name.strip() for name in next(lines, list[str]())]
            gathering.warn(check_columns(header, f"{file.name}, header"))
            for number, values in enumerate(lines, 1):
                if not values:
                    continue
                where = f"row {number} (line {lines.line_num})"
                if len(values) != len(header):
                    raise InvalidRequest(f"{where}: {len(values)} values for {len(header)} columns")
                yield where, dict(zip(header, values, strict=True))
        except csv.Error as error:
            raise InvalidRequest(f"{file.name}, line {lines.line_num}: not CSV: {error}") from None


def _jsonl(file: Path, gathering: Gathering) -> Iterator[tuple[str, dict[str, object]]]:
    checked = False
    with file.open(encoding="utf-8", errors="surrogateescape") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            where = f"line {number}"
            record = _json_object(line, where)
            if "rollout" in record:
                record = _as_object(record["rollout"], where)
            elif "event" in record:
                continue
            if not checked:
                gathering.warn(check_columns(list(record), where, required=()))
                checked = True
            yield where, record


def _json_object(line: str, where: str) -> dict[str, object]:
    try:
        record: object = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidRequest(f"{where}: not JSON: {error}", hint="Is the line cut off?") from None
    return _as_object(record, where)


def _as_object(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise InvalidRequest(f"{where}: not a JSON object")
    return cast("dict[str, object]", value)


def _parquet(file: Path, gathering: Gathering) -> Iterator[tuple[str, dict[str, object]]]:
    try:
        arrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        raise ProgramMissing(
            "reading Parquet needs pyarrow", hint="Install it: pip install 'warpwise[parquet]'."
        ) from None
    try:
        with parquet.ParquetFile(file) as source:
            names = [str(name) for name in source.schema_arrow.names]
            gathering.warn(check_columns(names, file.name))
            number = 0
            for batch in source.iter_batches(batch_size=8192):
                for record in batch.to_pylist():
                    number += 1
                    yield f"row {number}", record
    except arrow.ArrowInvalid as error:
        raise InvalidRequest(f"{file.name}: not Parquet: {error}") from None
