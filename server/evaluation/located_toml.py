"""TOML whose every key, value and array element knows its line and column. It judges no meaning.

tomllib reads the values; it keeps no positions, so a second scan over the same, by then valid, text finds them.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_CHARACTERS = 64 * 1024
Path = tuple[str | int, ...]
_AT = re.compile(r"\s*\(at line (\d+), column (\d+)\)|\s*\(at end of document\)")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\.|(?!""").)*"{3,5}|\'\'\'(?:(?!\'\'\').)*\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL
)
_SCALAR = re.compile(r"[^\s,\]}#][^,\]}#\n]*")
_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")


@dataclass(frozen=True, slots=True)
class Place:
    """A line and a column, both from 1."""

    line: int
    column: int


class TomlError(Exception):
    """The text is no TOML: `what` is wrong, at `place`."""

    def __init__(self, what: str, place: Place) -> None:
        super().__init__(what)
        self.what = what
        self.place = place


@dataclass(frozen=True, slots=True)
class Document:
    """The values, and the place of each path: of its key, and of its value under `values`."""

    data: Mapping[str, Any]
    keys: Mapping[Path, Place]
    values: Mapping[Path, Place]

    def key(self, path: Path) -> Place:
        """Where a key (or array element) stands; of the nearest parent that is written out, if it is not itself."""
        return self._nearest(self.keys, path)

    def value(self, path: Path) -> Place:
        """Where a value starts."""
        return self._nearest(self.values, path)

    def _nearest(self, places: Mapping[Path, Place], path: Path) -> Place:
        while path and path not in places:
            path = path[:-1]
        return places.get(path, Place(1, 1))


def read(text: str) -> Document:
    """The document of a text. Raises TomlError."""
    if len(text) > MAX_CHARACTERS:
        raise TomlError(f"longer than {MAX_CHARACTERS:,} characters", Place(1, 1))
    text = text.replace("\r\n", "\n")
    try:
        data = tomllib.loads(text)
    except RecursionError as error:
        raise TomlError("nested too deeply", Place(1, 1)) from error
    except ValueError as error:
        raise _located(str(error), text) from error
    scan = _Scan(text)
    scan.document()
    return Document(data, scan.keys, scan.values)


def _located(message: str, text: str) -> TomlError:
    found = _AT.search(message)
    lines = text.split("\n")
    place = (
        Place(int(found[1]), int(found[2])) if found and found[1] else Place(len(lines), len(lines[-1]) + 1)
    )
    what = _AT.sub("", message)
    return TomlError(what[:1].lower() + what[1:200], place if found else Place(1, 1))


class _Scan:
    """One pass over valid TOML. `table` is the path that the last header opened."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.keys: dict[Path, Place] = {}
        self.values: dict[Path, Place] = {}
        self.table: Path = ()
        self.lengths: dict[Path, int] = {}

    def document(self) -> None:
        while self._gap() < len(self.text):
            if self.text[self.at] == "[":
                self._header()
            else:
                self._pair(self.table)

    def _header(self) -> None:
        double = self.text.startswith("[[", self.at)
        place = self._place()
        self.at += 2 if double else 1
        names = self._dotted_key()
        steps: list[str | int] = []
        for depth, name in enumerate(names):
            steps.append(name)
            if depth < len(names) - 1 and tuple(steps) in self.lengths:
                steps.append(self.lengths[tuple(steps)] - 1)
        path: Path = tuple(steps)
        if double:
            index = self.lengths.get(path, 0)
            self.lengths[path] = index + 1
            self.keys.setdefault(path, place)
            path = (*path, index)
        self.keys[path] = self.values[path] = place
        self.table = path
        self._gap()
        self.at += 2 if double else 1

    def _pair(self, base: Path) -> None:
        place = self._place()
        names = self._dotted_key()
        for depth in range(len(names)):
            self.keys.setdefault((*base, *names[: depth + 1]), place)
        self._gap()
        self.at += 1  # the `=`
        self._gap()
        self._value((*base, *names))

    def _dotted_key(self) -> list[str]:
        names: list[str] = []
        while True:
            self._gap()
            quoted = _STRING.match(self.text, self.at)
            bare = quoted or _BARE_KEY.match(self.text, self.at)
            if bare is None:
                raise AssertionError(f"not a key at {self.at}")
            names.append(_unquoted(bare.group()) if quoted else bare.group())
            self.at = bare.end()
            self._gap()
            if self.at >= len(self.text) or self.text[self.at] != ".":
                return names
            self.at += 1

    def _value(self, path: Path) -> None:
        self.values[path] = self._place()
        opening = self.text[self.at]
        if opening == "[":
            self._items(path, "]")
        elif opening == "{":
            self._items(path, "}")
        else:
            match = _STRING.match(self.text, self.at) or _SCALAR.match(self.text, self.at)
            if match is None:
                raise AssertionError(f"not a value at {self.at}")
            self.at = match.end()

    def _items(self, path: Path, closing: str) -> None:
        self.at += 1
        index = 0
        while self.text[self._gap()] != closing:
            if self.text[self.at] == ",":
                self.at += 1
            elif closing == "}":
                self._pair(path)
            else:
                self.keys[(*path, index)] = self._place()
                self._value((*path, index))
                index += 1
        self.at += 1

    def _gap(self) -> int:
        gap = _GAP.match(self.text, self.at)
        self.at = gap.end() if gap else self.at
        return self.at

    def _place(self) -> Place:
        start = self.text.rfind("\n", 0, self.at) + 1
        return Place(self.text.count("\n", 0, self.at) + 1, self.at - start + 1)


def _unquoted(quoted: str) -> str:
    return next(iter(tomllib.loads(f"{quoted} = 0")))
