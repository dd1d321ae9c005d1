"""Problems found in one file, gathered with their places, so that an author gets all of them at once."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from ..errors import BadWorkload
from ..reports.finding import Finding, Location
from . import expressions
from .expressions import Expression, ExpressionError
from .located_toml import Document, Path, Place
from .names import did_you_mean

T = TypeVar("T")
W = TypeVar("W", bound=str)


class Problems:
    """Findings about one file. `line_offset` and `columns` (by line) map places of an embedded text to the file."""

    def __init__(
        self,
        file: str,
        source: str,
        prefix: str,
        columns: Mapping[int, int] | None = None,
        line_offset: int = 0,
    ) -> None:
        self.file = file
        self.prefix = prefix
        self.found: list[Finding] = []
        self._lines = source.split("\n")
        self._columns = columns or {}
        self._line_offset = line_offset

    @property
    def any(self) -> bool:
        """Whether a problem was found."""
        return bool(self.found)

    def place(self, place: Place) -> Place:
        """A place of the embedded text as a place of the file."""
        return Place(place.line + self._line_offset, place.column + self._columns.get(place.line, 0))

    def add(self, rule: str, what: str, place: Place | None, hint: str | None = None) -> None:
        """One problem at a place of the embedded text."""
        at = self.place(place) if place else None
        self.add_in_file(rule, what, at, hint)

    def add_in_file(self, rule: str, what: str, place: Place | None, hint: str | None = None) -> None:
        """One problem at a place of the file itself."""
        location = (
            Location(file=self.file, line=place.line, column=place.column)
            if place
            else Location(file=self.file)
        )
        text = self._lines[place.line - 1].strip()[:160] if place and place.line <= len(self._lines) else ""
        finding = Finding(
            rule=f"{self.prefix}-{rule}",
            severity="error",
            message=what,
            location=location,
            excerpt=text or None,
            suggestion=hint,
        )
        if finding not in self.found:
            self.found.append(finding)

    def findings(self) -> tuple[Finding, ...]:
        """All problems, in the order of the file."""
        return tuple(sorted(self.found, key=_order))

    def require_none(self) -> None:
        """Raise BadWorkload with the first three problems where there is an error."""
        if not self.found:
            return
        found = list(self.findings())
        shown = "; ".join(f"{finding.location}: {finding.message}" for finding in found[:3])
        more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
        raise BadWorkload(shown + more, found[0].suggestion)


def _order(finding: Finding) -> tuple[int, int]:
    place = finding.location
    return (place.line or 0, place.column or 0) if place else (0, 0)


class Reader:
    """Typed reading of one document: every wrong type, missing or unknown key becomes a problem at its place."""

    def __init__(self, document: Document, problems: Problems) -> None:
        self.document = document
        self.problems = problems

    def keys(self, path: Path, table: Mapping[str, Any], known: Iterable[str]) -> None:
        """Report the keys of a table that are not known."""
        names = list(known)
        for key in table:
            if key not in names:
                place = self.document.key((*path, key))
                self.problems.add("unknown-key", f"unknown key `{key}`", place, did_you_mean(key, names))

    def take(self, path: Path, kind: type[T], wanted: str, *, required: bool = True) -> T | None:
        """The value at a path when it has this type."""
        value: object = self.document.data
        for step in path:
            if isinstance(value, dict):
                if step not in value:
                    if required:
                        self.problems.add(
                            "missing", f"`{path[-1]}` is missing: {wanted}", self.document.key(path)
                        )
                    return None
                value = cast("dict[str | int, object]", value)[step]
            elif isinstance(value, list) and isinstance(step, int):
                value = cast("list[object]", value)[step]
            else:
                return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.problems.add("type", f"`{path[-1]}` must be {wanted}", self.document.value(path))
            return None
        return value

    def table(self, path: Path, wanted: str, *, required: bool = True) -> dict[str, Any]:
        """The table at a path; empty, with a problem, where there is none."""
        return cast("dict[str, Any] | None", self.take(path, dict, wanted, required=required)) or {}

    def items(self, path: Path, wanted: str, *, required: bool = True) -> list[Any]:
        """The list at a path; empty, with a problem, where there is none."""
        return cast("list[Any] | None", self.take(path, list, wanted, required=required)) or []

    def one_of(self, path: Path, given: str, known: tuple[W, ...]) -> W:
        """The known value that is written at a path; the first one, with a problem, where it is none of them."""
        for choice in known:
            if choice == given:
                return choice
        what = f"{given!r} is none of the known values"
        self.problems.add("value", what, self.document.value(path), did_you_mean(given, known))
        return known[0]

    def choice(self, path: Path, known: tuple[W, ...], *, required: bool = True) -> W:
        """The known value at a path; the first one where there is none."""
        given = self.take(path, str, "one of " + ", ".join(known), required=required)
        return known[0] if given is None else self.one_of(path, given, known)

    def strings(self, path: Path, wanted: str, *, required: bool = False) -> tuple[str, ...]:
        """A list of strings."""
        items = self.items(path, wanted, required=required)
        found: list[str] = []
        for index, item in enumerate(items):
            if isinstance(item, str):
                found.append(item)
            else:
                self.problems.add(
                    "type", f"`{path[-1]}` must be {wanted}", self.document.value((*path, index))
                )
        return tuple(found)

    def expression(
        self, path: Path, value: object, names: Iterable[str], *, comparison: bool = False
    ) -> Expression | None:
        """The expression written at a path (a string or an integer), using only these names."""
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            self.problems.add(
                "type", "an expression is a string or a whole number", self.document.value(path)
            )
            return None
        read = expressions.parse_constraint if comparison else expressions.parse
        try:
            found = read(str(value))
        except ExpressionError as error:
            self.expression_error(path, error)
            return None
        unknown = found.names - set(names)
        for name in sorted(unknown):
            missing = ExpressionError(f"unknown name `{name}`", found.column(name), did_you_mean(name, names))
            self.expression_error(path, missing, "unknown-name")
        return None if unknown else found

    def expression_error(self, path: Path, error: ExpressionError, rule: str = "expression") -> None:
        """A problem inside the expression at a path, at its own column."""
        start = self.document.value(path)
        column = start.column + (error.column or 0)
        self.problems.add(rule, error.what, Place(start.line, column), error.hint)
