"""Check a candidate's schedule before anything is compiled: names, kernels, arguments, device limits, size ranges."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..reports.finding import Finding
from .dtypes import DType
from .expressions import Expression, ExpressionError
from .kernels import Kernel, Parameter, is_scalar, kernels
from .limits import DeviceLimits
from .located_toml import Path, TomlError, read
from .names import did_you_mean
from .plan import TOO_LONG, Plan, PlanError, plan
from .problems import Problems, Reader
from .schedule import MAX_POINTS, DefineValue, LaunchSpec, Schedule
from .schedule_block import find_block, read_schedule
from .workload import Sizes, Workload

_PUBLIC_SEED = "schedule"
_DRAWS = 16
_PRESETS = ("tiny", "xl", "small", "medium", "large")
_ENOUGH = 50_000
_BYTES = ("int8", "uint8")


@dataclass(frozen=True, slots=True)
class Checked:
    """A source against a workload: `schedule` is None exactly when a finding is an error."""

    workload: Workload
    limits: DeviceLimits
    schedule: Schedule | None
    kernels: Mapping[str, Kernel]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether it can be planned."""
        return self.schedule is not None

    def plan(self, sizes: Sizes) -> Plan:
        """The launches at these sizes. Raises PlanError; only a schedule without errors can be planned."""
        if self.schedule is None:
            raise PlanError("missing", "the schedule has errors", (), "Mend the findings first.")
        return plan(self.schedule, self.kernels, self.workload, sizes, self.limits)


def define_value(text: str) -> DefineValue:
    """A define as given on a command line: a whole number where it looks like one, else a string."""
    try:
        return int(text, 0)
    except ValueError:
        return text


def check_schedule(
    source: str,
    file: str,
    workload: Workload,
    limits: DeviceLimits,
    defines: Mapping[str, DefineValue] | None = None,
    included: Iterable[str] = (),
) -> Checked:
    """Check the schedule of a source, with `defines` in place of its own, at every preset and at sample draws.

    Kernels may stand in the source or in the texts that it includes. The draws are of the workload's public rule with
    a fixed seed; they are not the hidden sizes of any judgement.
    """
    schedule, problems = read_schedule(source, file, workload, defines or {})
    found: dict[str, Kernel] = {}
    if schedule is not None:
        for text in (*included, source):
            found |= kernels(text, schedule.defines)
        checker = _Checker(source, problems, workload, found)
        for launch in schedule.launches():
            checker.launch(launch, schedule)
        checker.tune(schedule)
        if not problems.any:
            checker.sizes(schedule, limits)
    return Checked(workload, limits, None if problems.any else schedule, found, problems.findings())


class _Checker:
    def __init__(
        self, source: str, problems: Problems, workload: Workload, found: Mapping[str, Kernel]
    ) -> None:
        self.problems = problems
        self.workload = workload
        self.kernels = found
        self.reader = _reader(source, problems)

    def launch(self, launch: LaunchSpec, schedule: Schedule) -> None:
        path: Path = (*launch.path, "kernel")
        kernel = self.kernels.get(launch.kernel)
        if kernel is None:
            hint = (
                did_you_mean(launch.kernel, self.kernels)
                if self.kernels
                else "Write a `__global__` function."
            )
            self._add("kernel", f"the source has no kernel `{launch.kernel}`", path, hint)
            return
        if kernel.template:
            hint = "Launch a plain `__global__` function; turn template parameters into defines."
            self._add("kernel", f"`{launch.kernel}` is a template and cannot be launched by name", path, hint)
            return
        if len(launch.arguments) != len(kernel.parameters):
            listed = ", ".join(f"{parameter.written} {parameter.name}" for parameter in kernel.parameters)
            what = f"{len(launch.arguments)} arguments for `{launch.kernel}`, which takes {len(kernel.parameters)}"
            self._add(
                "argument", what, (*launch.path, "args"), f"It is declared `{launch.kernel}({listed})`."
            )
            return
        for at, (argument, parameter) in enumerate(zip(launch.arguments, kernel.parameters, strict=True)):
            self._argument(argument, parameter, (*launch.path, "args", at), schedule)

    def _argument(self, argument: Expression, parameter: Parameter, path: Path, schedule: Schedule) -> None:
        name = argument.root.name if argument.root.kind == "name" else None
        pointers: dict[str, DType] = {buffer.name: buffer.dtype for buffer in self.workload.buffers.values()}
        pointers |= {scratch.name: scratch.dtype for scratch in schedule.scratch.values()}
        inside = sorted(argument.names & {*pointers, *self.workload.scalars})
        declared = f"parameter `{parameter.written} {parameter.name}`"
        if inside and name is None:
            what = f"`{inside[0]}` cannot be part of an expression"
            self._add("argument", what, path, "Pass the name alone and compute inside the kernel.")
        elif name in pointers:
            self._pointer(name, pointers[name], parameter, path)
        elif name in self.workload.scalars:
            if not is_scalar(parameter) or parameter.element not in ("float32", "float64"):
                what = f"scalar `{name}` is floating-point, {declared} is not"
                self._add("argument", what, path, f"Declare it `float {parameter.name or name}`.")
        elif parameter.pointer:
            hint = did_you_mean(str(name or argument), pointers)
            self._add("argument", f"{declared} is a pointer, `{argument}` a number", path, hint)
        elif not is_scalar(parameter):
            what = f"{declared} has a type that a launcher cannot pack"
            self._add("argument", what, path, "Use int, long long or another built-in type.")
        elif parameter.element in ("float16", "bfloat16", "float32", "float64"):
            what = f"{declared} is floating-point, `{argument}` a whole number"
            self._add("argument", what, path, "Declare the parameter `int` and convert inside the kernel.")

    def _pointer(self, name: str, dtype: DType, parameter: Parameter, path: Path) -> None:
        declared = f"parameter `{parameter.written} {parameter.name}`"
        if not parameter.pointer:
            self._add(
                "argument", f"`{name}` is a buffer, {declared} is no pointer", path, "Declare it with `*`."
            )
            return
        element = parameter.element
        if element is not None and element not in _BYTES and element.removeprefix("u") != dtype:
            hint = f"Declare it `{_CPP[dtype]}*`, or cast inside the kernel."
            self._add("argument", f"`{name}` holds {dtype}, {declared} points to {element}", path, hint)

    def tune(self, schedule: Schedule) -> None:
        points = 1
        for values in schedule.tune.values.values():
            points *= len(values)
        if points > MAX_POINTS:
            self._add(
                "range",
                f"{points:,} points to tune over; at most {MAX_POINTS:,}",
                ("tune",),
                "List fewer values.",
            )
            return
        try:
            if schedule.tune.values and next(schedule.tune.points(schedule.defines), None) is None:
                self._add("range", "no point of [tune] meets its `require`", ("tune",))
        except ExpressionError as error:
            self._add("expression", error.what, ("tune", "require"), error.hint)

    def sizes(self, schedule: Schedule, limits: DeviceLimits) -> None:
        """Plan at the presets and at sample draws; each problem is told once, with the first sizes that show it.

        It ends early where very long schedules were planned often enough, or one is too long.
        """
        tried = [(f"preset {preset}", self.workload.presets[preset]) for preset in _PRESETS]
        tried += [
            ("hidden sizes such as these", sizes)
            for sizes in self.workload.hidden_sizes(_PUBLIC_SEED, _DRAWS)
        ]
        planned = 0
        told: set[tuple[str, Path]] = set()
        for number, (label, sizes) in enumerate(tried):
            if planned > _ENOUGH and number >= 2:
                break
            try:
                planned += len(plan(schedule, self.kernels, self.workload, sizes, limits).launches)
            except PlanError as error:
                if (error.rule, error.path) in told:
                    continue
                told.add((error.rule, error.path))
                shown = ", ".join(f"{name} = {value}" for name, value in sizes.items())
                self._add(error.rule, f"{error.what} ({label}: {shown})", error.path, error.hint)
                if error.rule == TOO_LONG:
                    break

    def _add(self, rule: str, what: str, path: Path, hint: str | None = None) -> None:
        self.problems.add(rule, what, self.reader.document.value(path), hint)


_CPP: Mapping[DType, str] = {
    "float64": "double",
    "float32": "float",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "int64": "long long",
    "int32": "int",
}


def _reader(source: str, problems: Problems) -> Reader:
    """The block's document again, for the places of its values; it was read without a problem before."""
    block = find_block(source, problems)
    try:
        return Reader(read(block.text if block else ""), problems)
    except TomlError as error:
        raise AssertionError("a schedule that was read cannot be read again") from error
