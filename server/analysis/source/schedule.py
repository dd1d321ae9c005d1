"""What the schedule in a source's comments says of block shapes. Its checking and running belong to the evaluator."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any, cast

_SCHEDULE = re.compile(r"^// /// schedule\s*$(.*?)^// ///\s*$", re.MULTILINE | re.DOTALL)


def launches(source: str) -> Iterator[tuple[str, list[str]]]:
    """(kernel, extents of its block as text) of every launch of the schedule."""
    yield from _launches(_read(source))


def defines(source: str) -> dict[str, str]:
    """The defines that the schedule gives."""
    given = _read(source).get("define")
    return (
        {name: str(value) for name, value in cast("dict[str, Any]", given).items()}
        if isinstance(given, dict)
        else {}
    )


def _read(source: str) -> dict[str, Any]:
    match = _SCHEDULE.search(source)
    if match is None:
        return {}
    try:
        return tomllib.loads(re.sub(r"^// ?", "", match.group(1), flags=re.MULTILINE))
    except tomllib.TOMLDecodeError:
        return {}


def _launches(table: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    for entry in _tables(table.get("launch")):
        block = _list(entry.get("block"))
        if block:
            yield str(entry.get("kernel")), [str(extent) for extent in block]
    for entry in _tables(table.get("repeat")):
        yield from _launches(entry)


def _tables(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401  # whatever TOML holds
    return [cast("dict[str, Any]", entry) for entry in _list(value) if isinstance(entry, dict)]


def _list(value: Any) -> list[Any]:  # noqa: ANN401  # whatever TOML holds
    return [*value] if isinstance(value, list) else []
