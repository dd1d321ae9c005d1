"""Read a workload's folder: `workload.toml` into a Workload, with every problem at its line and column.

The oracle and the baseline are only looked for here; `workload_check` runs and plans them.
"""

from collections.abc import Mapping
from pathlib import Path as FilePath

from ..errors import BadWorkload, NotFound
from .expressions import ExpressionError
from .located_toml import Path, TomlError, read
from .problems import Problems
from .workload import Workload
from .workload_reader import WorkloadReader

FILE = "workload.toml"
MAX_BUFFER_ELEMENTS = 1 << 36


def load(folder: FilePath) -> Workload:
    """The workload of a folder. Raises NotFound without `workload.toml`, BadWorkload with the first problems."""
    workload, problems = examine(folder)
    problems.require_none()
    if workload is None:
        raise BadWorkload(f"{folder.name}/{FILE} could not be read")
    return workload


def examine(folder: FilePath) -> tuple[Workload | None, Problems]:
    """The workload of a folder, if it can be made, and all problems of its file. Raises NotFound without a file."""
    path = folder / FILE
    if not path.is_file():
        raise NotFound(
            f"no {FILE} in {folder}", "A workload is a folder with workload.toml, oracle.py and baseline.cu."
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError) as error:
        raise BadWorkload(f"cannot read {folder.name}/{FILE}: {error}") from error
    problems = Problems(f"{folder.name}/{FILE}", text, "workload")
    try:
        document = read(text)
    except TomlError as error:
        problems.add("syntax", error.what, error.place)
        return None, problems
    reader = WorkloadReader(document, problems, folder)
    workload = reader.workload()
    if not problems.any:
        _Values(reader, workload).check()
    for needed in ("oracle.py", "baseline.cu"):
        if not (folder / needed).is_file():
            problems.add("missing-file", f"{needed} is missing beside {FILE}", None)
    return (None if problems.any else workload), problems


class _Values:
    """The workload's expressions at every preset and at sample draws."""

    def __init__(self, reader: WorkloadReader, workload: Workload) -> None:
        self.document = reader.document
        self.problems = reader.problems
        self.workload = workload

    def check(self) -> None:
        found = self.workload
        for preset, sizes in found.presets.items():
            self._evaluate(sizes, ("presets", preset))
        for sizes in self._some_hidden():
            self._evaluate(sizes, ("hidden",))

    def _some_hidden(self) -> tuple[dict[str, int], ...]:
        try:
            return self.workload.hidden_sizes("check", 20)
        except (BadWorkload, ExpressionError) as error:
            self.problems.add("hidden", str(error), self.document.key(("hidden",)))
            return ()

    def _evaluate(self, sizes: Mapping[str, int], path: Path) -> None:
        found = self.workload
        shown = ", ".join(f"{name}={value}" for name, value in sizes.items())
        try:
            broken = [str(constraint) for constraint in found.require if not constraint.holds(sizes)]
            empty = [
                buffer.name
                for buffer in found.buffers.values()
                if min(buffer.shape(sizes)) < 1 or buffer.elements(sizes) > MAX_BUFFER_ELEMENTS
            ]
            costs = [found.flops(sizes), found.traffic_bytes(sizes)]
        except ExpressionError as error:
            self.problems.add(
                "expression", f"{error.what}, with {shown}", self.document.key(path), error.hint
            )
            return
        for name in empty:
            shape = found.buffers[name].shape(sizes)
            self.problems.add(
                "shape", f"`{name}` has the shape {shape} with {shown}", self.document.key(("buffers", name))
            )
        for constraint in broken:
            self.problems.add(
                "require", f"`{constraint}` does not hold with {shown}", self.document.key(path)
            )
        if min(costs) < 0:
            self.problems.add(
                "cost", f"flops or bytes are negative with {shown}", self.document.key(("flops",))
            )
