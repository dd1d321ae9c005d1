"""The fields of `workload.toml`, one by one, each problem at its line and column. Structure only."""

import keyword
import re
from collections.abc import Iterable, Mapping
from pathlib import Path as FilePath

from .dtypes import DTYPES, DType, is_float
from .expressions import Expression, parse
from .located_toml import Document, Path
from .problems import Problems, Reader
from .sizes import LARGEST_HIDDEN, SIZE_KINDS, SizeKind, SizeRule
from .tolerance import KINDS, SCALES, Kind, Scale, Tolerance
from .workload import PRESETS, ROLES, SUITES, Buffer, Role, Suite, Workload

_KEYS = [
    "name",
    "title",
    "suite",
    "about",
    "flops",
    "bytes",
    "require",
    "tolerance",
    "sizes",
    "scalars",
    "buffers",
    "presets",
    "hidden",
]
_NAME = re.compile(r"[A-Za-z]\w*\Z", re.ASCII)
_FOLDER_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")


class WorkloadReader(Reader):
    """One workload file, read field by field."""

    def __init__(self, document: Document, problems: Problems, folder: FilePath) -> None:
        super().__init__(document, problems)
        self.folder = folder

    def workload(self) -> Workload:
        """The workload as far as it can be read; sound only where no problem was found."""
        self.keys((), self.document.data, _KEYS)
        sizes = self._sizes()
        scalars = self._scalars()
        buffers = self._buffers(sizes)
        self._distinct([*sizes, *scalars, *buffers])
        hidden = self._hidden(sizes)
        suite: Suite = self.choice(("suite",), SUITES)
        return Workload(
            name=self._name(),
            title=self.take(("title",), str, "a title of a few words") or "",
            suite=suite,
            about=self.take(("about",), str, "the mathematics in a line or two") or "",
            folder=self.folder,
            sizes=sizes,
            scalars=scalars,
            buffers=buffers,
            presets=self._presets(sizes),
            hidden=hidden,
            require=self._require(sizes),
            flop_formula=self._formula(("flops",), sizes, required=True) or parse("0"),
            traffic=self._formula(("bytes",), sizes, required=False),
        )

    def _name(self) -> str:
        name = self.take(("name",), str, "the folder's name") or ""
        if name and (name != self.folder.name or not _FOLDER_NAME.match(name)):
            what = f"`name` is {name!r}, but the folder is called {self.folder.name!r}"
            self.problems.add(
                "name", what, self.document.value(("name",)), "Use one name: a-z, 0-9 and hyphens."
            )
        return name

    def _identifier(self, path: Path) -> None:
        name = str(path[-1])
        if not _NAME.match(name) or keyword.iskeyword(name) or name in ("ceildiv", "min", "max"):
            what = f"`{name}` is no usable name"
            self.problems.add(
                "name", what, self.document.key(path), "Use letters, digits and _, a letter first."
            )

    def _distinct(self, names: list[str]) -> None:
        for name in sorted({name for name in names if names.count(name) > 1}):
            self.problems.add("name", f"`{name}` is declared twice", self.document.key(("buffers", name)))

    def _sizes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in self.table(("sizes",), 'a table of integer parameters: NAME = "meaning"'):
            self._identifier(("sizes", name))
            found[name] = self.take(("sizes", name), str, "its meaning, as a string") or ""
        return found

    def _scalars(self) -> dict[str, DType]:
        table = self.table(("scalars",), 'a table: NAME = "float32"', required=False)
        floats: tuple[DType, ...] = ("float32", "float64")
        for name in table:
            self._identifier(("scalars", name))
        found: dict[str, DType] = {}
        for name in table:
            found[name] = self.choice(("scalars", name), floats)
        return found

    def _buffers(self, sizes: Mapping[str, str]) -> dict[str, Buffer]:
        table = self.table(("buffers",), "a table: NAME = { dtype, shape, role }")
        found = {
            name: self._buffer(("buffers", name), sizes)
            for name, given in table.items()
            if isinstance(given, dict)
        }
        for name in table.keys() - found.keys():
            what = f"buffer `{name}` must be a table {{ dtype, shape, role }}"
            self.problems.add("type", what, self.document.value(("buffers", name)))
        if found and not any(buffer.is_output for buffer in found.values()):
            self.problems.add("role", "no buffer has the role out or inout", self.document.key(("buffers",)))
        return found

    def _buffer(self, path: Path, sizes: Mapping[str, str]) -> Buffer:
        self._identifier(path)
        self.keys(path, self.table(path, "a table"), ["dtype", "shape", "role", "tolerance"])
        dtype: DType = self.choice((*path, "dtype"), DTYPES)
        role: Role = self.choice((*path, "role"), ROLES)
        shape = self.items((*path, "shape"), "a list of expressions, one a dimension")
        found = [self.expression((*path, "shape", at), item, sizes) for at, item in enumerate(shape)]
        if not 1 <= len(found) <= 8:
            self.problems.add(
                "shape", "a buffer has 1 to 8 dimensions", self.document.value((*path, "shape"))
            )
        tolerance = self._tolerance(path, dtype, sizes) if role != "in" else None
        return Buffer(str(path[-1]), dtype, tuple(item for item in found if item), role, tolerance)

    def _tolerance(self, buffer: Path, dtype: DType, sizes: Mapping[str, str]) -> Tolerance:
        own: Path = (*buffer, "tolerance")
        path = own if own in self.document.keys else ("tolerance",)
        if not is_float(dtype):
            return Tolerance("exact")
        table = self.table(path, "a table { kind, length, scale, stored }")
        if not table:
            return Tolerance("exact")
        self.keys(path, table, ["kind", "length", "scale", "stored"])
        kind: Kind = self.choice((*path, "kind"), KINDS)
        scale: Scale = self.choice((*path, "scale"), SCALES, required=False)
        stored = self.take((*path, "stored"), int, "a small whole number", required=False) or 0
        length = self._formula((*path, "length"), sizes, required=kind in ("reduction", "iterative"))
        if not 0 <= stored <= 4:
            self.problems.add(
                "range", "`stored` lies between 0 and 4", self.document.value((*path, "stored"))
            )
        return Tolerance(kind, length, scale, stored)

    def _presets(self, sizes: Mapping[str, str]) -> dict[str, dict[str, int]]:
        table = self.table(("presets",), "a table: tiny, small, medium, large, xl = { NAME = number }")
        self.keys(("presets",), table, PRESETS)
        found: dict[str, dict[str, int]] = {}
        for preset in PRESETS:
            path: Path = ("presets", preset)
            given = self.table(path, f"a table of {', '.join(sizes)}")
            self.keys(path, given, sizes)
            numbers = {name: self.take((*path, name), int, "a whole number") or 0 for name in sizes}
            for name, number in numbers.items():
                if number < 1 and name in given:
                    self.problems.add(
                        "range", f"`{name}` must be at least 1", self.document.value((*path, name))
                    )
            found[preset] = numbers
        return found

    def _hidden(self, sizes: Mapping[str, str]) -> dict[str, SizeRule]:
        table = self.table(("hidden",), "a table: NAME = { range = [low, high], kinds = [...] }")
        self.keys(("hidden",), table, sizes)
        return {name: self._rule(("hidden", name)) for name in sizes}

    def _rule(self, path: Path) -> SizeRule:
        given = self.table(path, "a table { range = [low, high], kinds, multiple }")
        if not given:
            return SizeRule(1, 1)
        self.keys(path, given, ["range", "kinds", "multiple"])
        bounds = self.items((*path, "range"), "[low, high]")
        multiple = self.take((*path, "multiple"), int, "a whole number", required=False)
        multiple = 1 if multiple is None else multiple
        whole = all(isinstance(bound, int) and not isinstance(bound, bool) for bound in bounds)
        if len(bounds) != 2 or not whole or not 1 <= bounds[0] <= bounds[1] <= LARGEST_HIDDEN or multiple < 1:
            what = f"a range is [low, high] with 1 <= low <= high <= {LARGEST_HIDDEN:,}, and `multiple` at least 1"
            self.problems.add("range", what, self.document.value(path))
            return SizeRule(1, 1)
        kinds = self.strings((*path, "kinds"), f"a list of {', '.join(SIZE_KINDS)}") or ("any",)
        known: tuple[SizeKind, ...] = tuple(
            self.one_of((*path, "kinds", at), kind, SIZE_KINDS) for at, kind in enumerate(kinds)
        )
        rule = SizeRule(bounds[0], bounds[1], known, multiple)
        impossible = [kind for kind in known if not rule.possible(kind)]
        for kind in impossible:
            what = f"no size from {rule.low} to {rule.high} is a {kind} multiple of {rule.multiple}"
            self.problems.add("range", what, self.document.value(path))
        return rule

    def _require(self, sizes: Mapping[str, str]) -> tuple[Expression, ...]:
        texts = self.strings(("require",), "a list of comparisons over the sizes")
        read = [
            self.expression(("require", at), text, sizes, comparison=True) for at, text in enumerate(texts)
        ]
        return tuple(found for found in read if found)

    def _formula(self, path: Path, sizes: Iterable[str], *, required: bool) -> Expression | None:
        given = self.take(path, object, "an expression over the sizes", required=required)
        return None if given is None else self.expression(path, given, sizes)
