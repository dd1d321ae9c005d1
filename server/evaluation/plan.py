"""Unroll a checked schedule at one set of sizes into launches that a launcher can carry out without thinking.

Every number is checked against the device's limits here, at the sizes asked for, so that nothing reaches the driver
that it would refuse.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .dtypes import DType, item_bytes
from .expressions import Expression, ExpressionError, parse
from .kernels import Kernel
from .limits import DeviceLimits
from .located_toml import Path
from .schedule import MAX_LAUNCHES, LaunchSpec, Repeat, Schedule, Step, integers
from .workload import Sizes, Workload

Dimensions = tuple[int, int, int]
_INTEGERS: Mapping[str, tuple[int, int]] = {
    "bool": (0, 1),
    **{f"int{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)},
}
MAX_SCRATCH_BYTES = 1 << 40
TOO_LONG = "too-long"


class PlanError(Exception):
    """A schedule that cannot run at these sizes: `rule`, `what`, where in the block (`path`), and a `hint`."""

    def __init__(self, rule: str, what: str, path: Path, hint: str | None = None) -> None:
        super().__init__(what)
        self.rule = rule
        self.what = what
        self.path = path
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Argument:
    """One kernel argument. `type` is `pointer` or the parameter's numpy type name; `value` an integer, or a name.

    A name is a buffer's or a scratch array's for a pointer, else that of a floating-point scalar of the workload.
    """

    type: str
    value: int | str


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch in numbers. `line` is where it is written in the source."""

    kernel: str
    grid: Dimensions
    block: Dimensions
    arguments: tuple[Argument, ...]
    shared_bytes: int
    cluster: Dimensions | None
    line: int


@dataclass(frozen=True, slots=True)
class Plan:
    """All launches in order, and the scratch arrays (type and shape) that they need."""

    launches: tuple[Launch, ...]
    scratch: Mapping[str, tuple[DType, tuple[int, ...]]]


def plan(
    schedule: Schedule, kernels: Mapping[str, Kernel], workload: Workload, sizes: Sizes, limits: DeviceLimits
) -> Plan:
    """The launches of a schedule at these sizes. `kernels` are those of the same source. Raises PlanError."""
    values = {**integers(schedule.defines), **sizes}
    for index, constraint in enumerate(schedule.require):
        if not _evaluate(constraint, values, ("require", index)):
            shown = ", ".join(f"{name} = {values[name]}" for name in sorted(constraint.names))
            hint = "Hidden sizes follow the workload's rule: handle every remainder inside the kernel."
            raise PlanError("require", f"`{constraint}` does not hold for {shown}", ("require", index), hint)
    scratch: dict[str, tuple[DType, tuple[int, ...]]] = {}
    for name, wanted in schedule.scratch.items():
        at: Path = ("scratch", name, "shape")
        shape = tuple(_evaluate(part, values, (*at, index)) for index, part in enumerate(wanted.dimensions))
        scratch[name] = (wanted.dtype, shape)
    _check_memory(scratch, workload.memory_bytes(sizes), limits)
    unroller = _Unroller(kernels, limits, frozenset(values))
    launches: list[Launch] = []
    for launch in unroller.steps(schedule.steps, values):
        launches.append(launch)
        if len(launches) > MAX_LAUNCHES:
            path = schedule.steps[-1].path
            raise PlanError(TOO_LONG, f"more than {MAX_LAUNCHES:,} launches", path, "Loop inside the kernel.")
    if not launches:
        raise PlanError(
            "range", "no loop of the schedule has an iteration: nothing is launched", schedule.steps[0].path
        )
    return Plan(tuple(launches), scratch)


class _Unroller:
    def __init__(
        self, kernels: Mapping[str, Kernel], limits: DeviceLimits, constants: frozenset[str]
    ) -> None:
        self.kernels = kernels
        self.limits = limits
        self.constants = constants
        self.turns = 0
        self.fixed: dict[Path, Launch] = {}

    def steps(self, steps: tuple[Step, ...], values: Mapping[str, int]) -> Iterator[Launch]:
        for step in steps:
            if isinstance(step, LaunchSpec):
                yield self._launch(step, values)
            else:
                yield from self._repeat(step, values)

    def _repeat(self, loop: Repeat, values: Mapping[str, int]) -> Iterator[Launch]:
        first = _evaluate(loop.first, values, (*loop.path, "first"))
        last = _evaluate(loop.last, values, (*loop.path, "last"))
        step = _evaluate(loop.step, values, (*loop.path, "step"))
        if step == 0:
            raise PlanError("range", "`step` is 0: the loop would not end", (*loop.path, "step"))
        turn = first
        while turn <= last if step > 0 else turn >= last:
            self.turns += 1
            if self.turns > 2 * MAX_LAUNCHES:
                raise PlanError(
                    TOO_LONG, f"more than {MAX_LAUNCHES:,} iterations", loop.path, "Loop inside the kernel."
                )
            yield from self.steps(loop.steps, {**values, loop.variable: turn})
            turn += step

    def _launch(self, spec: LaunchSpec, values: Mapping[str, int]) -> Launch:
        if spec.path in self.fixed:
            return self.fixed[spec.path]
        launch = self._numbers(spec, values)
        used = {name for part in _expressions(spec) for name in part.names}
        if not used & (values.keys() - self.constants):
            self.fixed[spec.path] = launch
        return launch

    def _numbers(self, spec: LaunchSpec, values: Mapping[str, int]) -> Launch:
        cluster = _dimensions(spec.cluster, values, (*spec.path, "cluster")) if spec.cluster else None
        launch = Launch(
            kernel=spec.kernel,
            grid=_dimensions(spec.grid, values, (*spec.path, "grid")),
            block=_dimensions(spec.block, values, (*spec.path, "block")),
            arguments=self._arguments(spec, values),
            shared_bytes=_evaluate(spec.shared_bytes, values, (*spec.path, "shared"))
            if spec.shared_bytes
            else 0,
            cluster=cluster,
            line=spec.line,
        )
        _check_launch(launch, spec.path, self.limits)
        self._check_bounds(launch, spec, values)
        return launch

    def _arguments(self, spec: LaunchSpec, values: Mapping[str, int]) -> tuple[Argument, ...]:
        parameters = self.kernels[spec.kernel].parameters
        found: list[Argument] = []
        for at, (expression, parameter) in enumerate(zip(spec.arguments, parameters, strict=True)):
            if expression.root.kind == "name" and expression.root.name not in values:
                kind = "pointer" if parameter.pointer else parameter.element or "float32"
                found.append(Argument(kind, expression.root.name))
                continue
            value = _evaluate(expression, values, (*spec.path, "args", at))
            kind = parameter.element or "int32"
            low, high = _INTEGERS[kind]
            if not low <= value <= high:
                what = f"{value:,} does not fit into parameter `{parameter.written} {parameter.name}` of `{spec.kernel}`"
                raise PlanError(
                    "argument", what, (*spec.path, "args", at), "Declare the parameter `long long`."
                )
            found.append(Argument(kind, value))
        return tuple(found)

    def _check_bounds(self, launch: Launch, spec: LaunchSpec, values: Mapping[str, int]) -> None:
        bound = self.kernels[spec.kernel].bound
        try:
            most = parse(bound).evaluate(values) if bound else None
        except ExpressionError:
            return  # a bound in C++ beyond this language: the driver checks it at the launch
        threads = math.prod(launch.block)
        if most is not None and threads > most:
            what = (
                f"a block of {threads} threads, but `{spec.kernel}` is bound to {most} by __launch_bounds__"
            )
            raise PlanError(
                "limit", what, (*spec.path, "block"), f"Use at most {most} threads or raise the bound."
            )


def _expressions(spec: LaunchSpec) -> Iterator[Expression]:
    yield from (*spec.grid, *spec.block, *spec.cluster, *spec.arguments)
    if spec.shared_bytes:
        yield spec.shared_bytes


def _evaluate(expression: Expression, values: Mapping[str, int], path: Path) -> int:
    try:
        return expression.evaluate(values)
    except ExpressionError as error:
        raise PlanError("expression", f"`{expression}`: {error.what}", path, error.hint) from error


def _dimensions(parts: tuple[Expression, ...], values: Mapping[str, int], path: Path) -> Dimensions:
    found = [_evaluate(part, values, (*path, at)) for at, part in enumerate(parts)]
    x, y, z = (*found, 1, 1, 1)[:3]
    return x, y, z


def _check_launch(launch: Launch, path: Path, limits: DeviceLimits) -> None:
    for name, given, most in (("grid", launch.grid, limits.grid), ("block", launch.block, limits.block)):
        for at, (value, limit) in enumerate(zip(given, most, strict=True)):
            axis = "xyz"[at]
            if value < 1:
                hint = "Use max(1, ...), or end the loop one iteration earlier."
                raise PlanError(
                    "limit", f"{name}.{axis} is {value}; it must be at least 1", (*path, name, at), hint
                )
            if value > limit:
                hint = (
                    f"Move work to {name}.x or into a loop inside the kernel."
                    if at
                    else "Give each thread more work."
                )
                raise PlanError(
                    "limit",
                    f"{name}.{axis} is {value:,}; {limits.arch} allows {limit:,}",
                    (*path, name, at),
                    hint,
                )
    threads = math.prod(launch.block)
    if threads > limits.threads_per_block:
        what = f"a block of {threads:,} threads; {limits.arch} allows {limits.threads_per_block:,}"
        raise PlanError("limit", what, (*path, "block"), "Make the block smaller.")
    if not 0 <= launch.shared_bytes <= limits.shared_bytes:
        what = f"{launch.shared_bytes:,} bytes of shared memory; {limits.arch} allows {limits.shared_bytes:,} per block"
        raise PlanError("limit", what, (*path, "shared"), "Use smaller tiles or fewer stages.")
    if launch.cluster is not None:
        _check_cluster(launch.cluster, launch.grid, path, limits)


def _check_cluster(cluster: Dimensions, grid: Dimensions, path: Path, limits: DeviceLimits) -> None:
    blocks = math.prod(cluster)
    if min(cluster) < 1 or blocks > limits.cluster_blocks:
        what = f"a cluster of {blocks} blocks; {limits.arch} allows {limits.cluster_blocks}"
        hint = (
            "Clusters need sm_90 or later."
            if limits.cluster_blocks == 1
            else "Use at most 8 blocks in a cluster."
        )
        raise PlanError("limit", what, (*path, "cluster"), hint)
    if any(count % part for count, part in zip(grid, cluster, strict=True)):
        what = f"the grid {grid} is no multiple of the cluster {cluster}"
        raise PlanError(
            "limit",
            what,
            (*path, "cluster"),
            "Round the grid up to whole clusters and guard inside the kernel.",
        )


def _check_memory(
    scratch: Mapping[str, tuple[DType, tuple[int, ...]]], buffers: int, limits: DeviceLimits
) -> None:
    total = 0
    for name, (dtype, shape) in scratch.items():
        if min(shape) < 1:
            raise PlanError("range", f"scratch `{name}` has the shape {shape}", ("scratch", name, "shape"))
        total += math.prod(shape) * item_bytes(dtype)
        most = min(MAX_SCRATCH_BYTES, (limits.memory_bytes or MAX_SCRATCH_BYTES) - buffers)
        if total > most:
            what = f"scratch needs {total:,} bytes; {max(most, 0):,} are left beside the workload's buffers"
            raise PlanError("limit", what, ("scratch", name), "Use a smaller scratch array.")
