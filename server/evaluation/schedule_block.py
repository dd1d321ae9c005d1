"""Read the schedule block of a source: `// /// schedule`, TOML in comments, `// ///`. Structure only.

Whether its names exist and its numbers fit is judged by `schedule_check`.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from .dtypes import DTYPES, DType
from .expressions import FUNCTIONS, Expression
from .located_toml import Path, Place, TomlError, read
from .names import did_you_mean
from .problems import Problems, Reader
from .schedule import MAX_NESTING, DefineValue, LaunchSpec, Repeat, Schedule, Scratch, Step, Tune
from .workload import Workload

_OPEN = re.compile(r"[ \t]*//[ \t]*///[ \t]*schedule[ \t]*\Z")
_CLOSE = re.compile(r"[ \t]*//[ \t]*///[ \t]*\Z")
_COMMENT = re.compile(r"([ \t]*//(?: |(?=\t|\Z)|(?=\S)))(.*)\Z", re.DOTALL)
_ALMOST = re.compile(r"[ \t]*(?:/{2,4}|/\*)[ \t/*]*[ \t]schedule\b", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_TEXT_DEFINE = re.compile(r"[A-Za-z0-9_:<>.*+\-, ()]{1,64}\Z", re.ASCII)
HELP = (
    "Launches run in the order written. args: buffers, scratch, scalars, or integer expressions over sizes and defines "
    "(+ - * // %, ceildiv, min, max). A launch may also have shared (bytes) and cluster. "
    '[scratch] NAME = { dtype = "float32", shape = [...] }. [[repeat]] var = "t", count = "T" (or first, last, step) '
    "with [[repeat.launch]] inside, nested at most twice. [tune] DEFINE = [values], require = [comparisons]."
)
EXAMPLE = (
    '// /// schedule\n// [define]\n// BLOCK = 256\n// [[launch]]\n// kernel = "NAME"\n'
    '// grid = ["ceildiv(N, BLOCK)"]\n// block = ["BLOCK"]\n// args = ["BUFFER", "N"]\n// ///'
)


@dataclass(frozen=True, slots=True)
class Block:
    """The TOML of a schedule block, the file's line above its first one, and the columns cut off each line."""

    text: str
    line_offset: int
    columns: Mapping[int, int]


def find_block(source: str, problems: Problems) -> Block | None:
    """The schedule block of a source; None, with a problem, where there is none, two, or no end."""
    lines = source.replace("\r\n", "\n").split("\n")
    starts = [at for at, line in enumerate(lines) if _OPEN.match(line)]
    if not starts:
        almost = next((at for at, line in enumerate(lines) if _ALMOST.match(line)), None)
        place = None if almost is None else Place(almost + 1, 1)
        problems.add_in_file(
            "missing", "the source has no schedule block", place, f"Add one above the kernels:\n{EXAMPLE}"
        )
        return None
    if len(starts) > 1:
        problems.add_in_file(
            "syntax", "a second schedule block", Place(starts[1] + 1, 1), "Merge the two into one."
        )
        return None
    body: list[str] = []
    columns: dict[int, int] = {}
    for line in lines[starts[0] + 1 :]:
        match = _COMMENT.match(line)
        if _CLOSE.match(line):
            return Block("\n".join(body), starts[0] + 1, columns)
        if match is None:
            break
        body.append(match[2])
        columns[len(body)] = len(match[1])
    end = Place(starts[0] + len(body) + 1, 1)
    problems.add_in_file("syntax", "the schedule block has no end", end, "Close it with a line `// ///`.")
    return None


def read_schedule(
    source: str, file: str, workload: Workload, overrides: Mapping[str, DefineValue]
) -> tuple[Schedule | None, Problems]:
    """The schedule of a source, with `overrides` in place of its own defines, and all problems of its structure."""
    empty = Problems(file, source, "schedule")
    block = find_block(source, empty)
    if block is None:
        return None, empty
    problems = Problems(file, source, "schedule", block.columns, block.line_offset)
    try:
        document = read(block.text)
    except TomlError as error:
        problems.add("syntax", error.what, error.place)
        return None, problems
    reader = _BlockReader(document, problems)
    found = reader.schedule(workload, overrides, block.line_offset)
    return (None if problems.any else found), problems


def declared_defines(source: str, file: str) -> dict[str, str]:
    """The `[define]` of a source's schedule block as texts; empty without a block, or with one that cannot be read."""
    block = find_block(source, Problems(file, source, "schedule"))
    try:
        document = tomllib.loads(block.text) if block else {}
    except tomllib.TOMLDecodeError:
        return {}
    declared: object = document.get("define", {})
    if not isinstance(declared, dict):
        return {}
    named = cast("dict[str, object]", declared)
    return {name: str(value) for name, value in named.items() if isinstance(value, int | str)}


class _BlockReader(Reader):
    names: set[str]

    def schedule(self, workload: Workload, overrides: Mapping[str, DefineValue], line: int) -> Schedule:
        self.keys((), self.document.data, ["define", "launch", "repeat", "scratch", "tune", "require"])
        defines = self._defines(workload, overrides)
        numbers = {name for name, value in defines.items() if isinstance(value, int)}
        self.names = set(workload.sizes) | numbers
        scratch = self._scratch(workload, defines)
        self.pointers = [*workload.buffers, *scratch, *workload.scalars]
        steps = self._steps((), frozenset())
        if not steps and not self.problems.any:
            self.problems.add(
                "missing", "there is no [[launch]]", Place(1, 1), "Declare at least one launch."
            )
        require = self._constraints(("require",), self.names)
        return Schedule(line, defines, scratch, steps, require, self._tune(defines, numbers))

    def _defines(self, workload: Workload, overrides: Mapping[str, DefineValue]) -> dict[str, DefineValue]:
        table = self.table(("define",), "a table NAME = value", required=False)
        taken = {*workload.sizes, *workload.buffers, *workload.scalars, *FUNCTIONS}
        found: dict[str, DefineValue] = {}
        for name, value in table.items():
            path: Path = ("define", name)
            if not _IDENTIFIER.match(name) or name in taken:
                reason = "is a name of the workload" if name in taken else "is no identifier"
                self.problems.add("name", f"the define `{name}` {reason}", self.document.key(path))
            elif self._define_value(path, value):
                found[name] = overrides.get(name, value)
        return found | {name: value for name, value in overrides.items() if name not in found}

    def _define_value(self, path: Path, value: object) -> bool:
        fits = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 31
        if not fits and not (isinstance(value, str) and _TEXT_DEFINE.match(value)):
            what = f'`{path[1]}` must be a whole number of 32 bits or a short string such as "float4"'
            self.problems.add("type", what, self.document.value(path))
            return False
        return True

    def _scratch(self, workload: Workload, defines: Mapping[str, DefineValue]) -> dict[str, Scratch]:
        table = self.table(("scratch",), "a table NAME = { dtype, shape }", required=False)
        taken = {*workload.sizes, *workload.buffers, *workload.scalars, *defines, *FUNCTIONS}
        found: dict[str, Scratch] = {}
        for name in table:
            path: Path = ("scratch", name)
            given = self.table(path, "a table { dtype, shape }")
            if not given:
                continue
            self.keys(path, given, ["dtype", "shape"])
            if not _IDENTIFIER.match(name) or name in taken:
                self.problems.add(
                    "name", f"scratch `{name}` needs a name of its own", self.document.key(path)
                )
            dtype: DType = self.choice((*path, "dtype"), DTYPES)
            shape = self._expressions((*path, "shape"), self.names, (1, 8), required=True)
            found[name] = Scratch(name, dtype, shape)
        return found

    def _steps(self, path: Path, loops: frozenset[str]) -> tuple[Step, ...]:
        """Launches and loops of one level, in the order in which they are written."""
        found: list[tuple[Place, Step | None]] = []
        for kind in ("launch", "repeat"):
            listed = self.items((*path, kind), f"written as [[{kind}]]", required=False)
            for index, given in enumerate(listed):
                own: Path = (*path, kind, index)
                if not isinstance(given, dict):
                    self.problems.add(
                        "type", f"`{kind}` must be written as [[{kind}]]", self.document.value(own)
                    )
                    continue
                table = cast("dict[str, Any]", given)
                read_step = self._launch if kind == "launch" else self._repeat
                step = read_step(own, table, loops)
                found.append((self.document.key(own), step))
        found.sort(key=lambda item: (item[0].line, item[0].column))
        return tuple(step for _, step in found if step)

    def _launch(self, path: Path, given: Mapping[str, Any], loops: frozenset[str]) -> LaunchSpec:
        self.keys(path, given, ["kernel", "grid", "block", "args", "shared", "cluster"])
        names = self.names | loops
        shared = given.get("shared")
        return LaunchSpec(
            path=path,
            line=self.problems.place(self.document.key(path)).line,
            kernel=self.take((*path, "kernel"), str, "the name of a __global__ function") or "",
            grid=self._expressions((*path, "grid"), names, (1, 3), required=True),
            block=self._expressions((*path, "block"), names, (1, 3), required=True),
            arguments=self._expressions((*path, "args"), names | set(self.pointers), (0, 64), required=True),
            shared_bytes=None if shared is None else self.expression((*path, "shared"), shared, names),
            cluster=self._expressions((*path, "cluster"), names, (1, 3), required=False),
        )

    def _repeat(self, path: Path, given: Mapping[str, Any], loops: frozenset[str]) -> Repeat | None:
        self.keys(path, given, ["var", "count", "first", "last", "step", "launch", "repeat"])
        place = self.document.key(path)
        if len(loops) == MAX_NESTING:
            self.problems.add("nesting", f"loops nest at most {MAX_NESTING} deep", place)
            return None
        variable = self.take((*path, "var"), str, "the loop variable's name") or "_"
        if not _IDENTIFIER.match(variable) or variable in self.names | loops | set(self.pointers) | set(
            FUNCTIONS
        ):
            self.problems.add(
                "name", f"`{variable}` is taken or no identifier", self.document.value((*path, "var"))
            )
        if ("count" in given) == ("last" in given) or ("count" in given and given.keys() & {"first", "step"}):
            hint = (
                "`count` runs 0 to count - 1; `first` and `last` are both included, `step` is 1 unless given."
            )
            self.problems.add(
                "range", "a loop has either `count`, or `first` and `last` (and `step`)", place, hint
            )
            return None
        names = self.names | loops
        count = f"({given.get('count')}) - 1"
        first = self.expression((*path, "first"), given.get("first", 0), names)
        last = self._last(path, given, names, count)
        step = self.expression((*path, "step"), given.get("step", 1), names)
        steps = self._steps(path, loops | {variable})
        if not steps and not self.problems.any:
            hint = "Write its launches as [[repeat.launch]]."
            self.problems.add("missing", "the loop has no launch", place, hint)
        if first is None or last is None or step is None:
            return None
        return Repeat(path, self.problems.place(place).line, variable, first, last, step, steps)

    def _last(self, path: Path, given: Mapping[str, Any], names: set[str], count: str) -> Expression | None:
        if "last" in given:
            return self.expression((*path, "last"), given["last"], names)
        written = self.expression((*path, "count"), given["count"], names)
        return self.expression((*path, "count"), count, names) if written else None

    def _tune(self, defines: Mapping[str, DefineValue], numbers: set[str]) -> Tune:
        table = self.table(("tune",), "a table DEFINE = [values]", required=False)
        values: dict[str, tuple[DefineValue, ...]] = {}
        for name in table:
            path: Path = ("tune", name)
            if name == "require":
                continue
            if name not in defines:
                hint = did_you_mean(name, defines)
                self.problems.add("unknown-name", f"`{name}` is no define", self.document.key(path), hint)
                continue
            listed = self.items(path, "a list of values")
            values[name] = tuple(
                value for at, value in enumerate(listed) if self._same_kind((*path, at), value, defines[name])
            )
            if not listed:
                self.problems.add("range", f"`{name}` has no value to try", self.document.value(path))
        return Tune(values, self._constraints(("tune", "require"), numbers))

    def _same_kind(self, path: Path, value: object, default: DefineValue) -> bool:
        if isinstance(value, bool) or not isinstance(value, type(default)):
            kind = "whole numbers" if isinstance(default, int) else "strings"
            self.problems.add("type", f"`{path[1]}` takes {kind}", self.document.value(path))
            return False
        return True

    def _constraints(self, path: Path, names: Iterable[str]) -> tuple[Expression, ...]:
        texts = self.strings(path, 'a list of comparisons, such as ["N % 4 == 0"]')
        read = [self.expression((*path, at), text, names, comparison=True) for at, text in enumerate(texts)]
        return tuple(found for found in read if found)

    def _expressions(
        self, path: Path, names: Iterable[str], count: tuple[int, int], *, required: bool
    ) -> tuple[Expression, ...]:
        low, high = count
        items = self.items(path, f"a list of {low} to {high} expressions", required=required)
        if items == [] and low > 0:
            return ()
        if not low <= len(items) <= high:
            what = f"`{path[-1]}` has {len(items)} entries, not {low} to {high}"
            self.problems.add("range", what, self.document.value(path))
        read = [self.expression((*path, at), item, names) for at, item in enumerate(items)]
        return tuple(found for found in read if found)
