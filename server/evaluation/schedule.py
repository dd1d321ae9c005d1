"""The schedule of a candidate as data: launches, loops, scratch buffers, defines and the space to tune over.

`schedule_block` reads it from the source, `schedule_check` checks it, `plan` unrolls it at one set of sizes.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .dtypes import DType
from .expressions import Expression
from .located_toml import Path

DefineValue = int | str
MAX_NESTING = 2
MAX_LAUNCHES = 100_000
MAX_POINTS = 100_000


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """One launch as written. Each argument is a name (buffer, scratch or float scalar) or an integer expression."""

    path: Path
    line: int
    kernel: str
    grid: tuple[Expression, ...]
    block: tuple[Expression, ...]
    arguments: tuple[Expression, ...]
    shared_bytes: Expression | None = None
    cluster: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Repeat:
    """A loop: `variable` runs from `first` to `last` (both included) by `step`, which may be negative."""

    path: Path
    line: int
    variable: str
    first: Expression
    last: Expression
    step: Expression
    steps: tuple["Step", ...]


Step = LaunchSpec | Repeat


@dataclass(frozen=True, slots=True)
class Scratch:
    """A temporary array that the launcher allocates; its contents are not defined at the start."""

    name: str
    dtype: DType
    dimensions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Tune:
    """The values that each define may take, and what must hold among them."""

    values: Mapping[str, tuple[DefineValue, ...]]
    require: tuple[Expression, ...]

    def points(self, defines: Mapping[str, DefineValue]) -> Iterator[dict[str, DefineValue]]:
        """Every allowed assignment of the defines, in the written order; defines that are not tuned keep their value."""
        for chosen in itertools.product(*self.values.values()):
            point = {**defines, **dict(zip(self.values, chosen, strict=True))}
            numbers = integers(point)
            if all(constraint.holds(numbers) for constraint in self.require):
                yield point


@dataclass(frozen=True, slots=True)
class Schedule:
    """Everything that stands in the block. `require` must hold for every set of sizes that it is run on."""

    line: int
    defines: Mapping[str, DefineValue]
    scratch: Mapping[str, Scratch]
    steps: tuple[Step, ...]
    require: tuple[Expression, ...]
    tune: Tune

    def launches(self) -> Iterator[LaunchSpec]:
        """Every launch as written, loops entered once."""
        yield from _launches(self.steps)

    def repeats(self) -> Iterator[Repeat]:
        """Every loop as written."""
        yield from _repeats(self.steps)


def integers(defines: Mapping[str, DefineValue]) -> dict[str, int]:
    """The defines that expressions may use."""
    return {name: value for name, value in defines.items() if isinstance(value, int)}


def _launches(steps: tuple[Step, ...]) -> Iterator[LaunchSpec]:
    for step in steps:
        if isinstance(step, LaunchSpec):
            yield step
        else:
            yield from _launches(step.steps)


def _repeats(steps: tuple[Step, ...]) -> Iterator[Repeat]:
    for step in steps:
        if isinstance(step, Repeat):
            yield step
            yield from _repeats(step.steps)
