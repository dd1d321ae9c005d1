"""A workload's oracle: load `oracle.py`, make inputs in the buffers' own types, and the float64 reference of them.

The oracle is the workload author's Python and runs in the process that calls this; it is never run beside a candidate.
"""

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import BadWorkload
from .dtypes import DType, is_float, numpy_dtype
from .workload import Buffer, Sizes, Workload

Array = NDArray[Any]
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One set of inputs as a kernel gets them: arrays in the buffers' types, scalars rounded to theirs."""

    sizes: Sizes
    arrays: Mapping[str, Array]
    scalars: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Oracle:
    """The two functions of an `oracle.py`, with everything they give back checked. Raises BadWorkload."""

    workload: Workload
    inputs: Function
    reference: Function
    array_module: types.ModuleType | None = None

    def case(self, seed: int, sizes: Sizes) -> Case:
        """The inputs that a seed gives at these sizes."""
        given = self._call("inputs", self.inputs, np.random.default_rng(seed), dict(sizes))
        wanted = {
            **{buffer.name: buffer for buffer in self.workload.inputs},
            **dict.fromkeys(self.workload.scalars),
        }
        self._require_names("inputs", given, wanted)
        arrays = {
            buffer.name: self._input(buffer, given[buffer.name], sizes) for buffer in self.workload.inputs
        }
        scalars = {
            name: self._scalar(name, dtype, given[name]) for name, dtype in self.workload.scalars.items()
        }
        return Case(sizes, arrays, scalars)

    def expected(self, case: Case) -> dict[str, Array]:
        """The reference of a case: float64, or int64 for an integer output; the case is left unchanged."""
        exact = {name: _exact(array) for name, array in case.arrays.items()}
        exact |= {name: np.asarray(value, np.float64) for name, value in case.scalars.items()}
        found = self._call("reference", self._on_arrays, exact, dict(case.sizes))
        self._require_names("reference", found, {buffer.name: buffer for buffer in self.workload.outputs})
        return {
            buffer.name: self._output(buffer, found[buffer.name], case.sizes)
            for buffer in self.workload.outputs
        }

    def _on_arrays(self, given: dict[str, Array], sizes: dict[str, int]) -> object:
        """The reference computed with the array module, and brought back to numpy."""
        module = self.array_module
        if module is None:
            return self.reference(given, sizes)
        found: object = self.reference({name: module.asarray(array) for name, array in given.items()}, sizes)
        if not isinstance(found, dict):
            return found
        return {name: module.asnumpy(array) for name, array in cast("dict[str, object]", found).items()}

    def _call(self, name: str, function: Function, *arguments: object) -> Mapping[str, Any]:
        try:
            with np.errstate(all="ignore"):
                found = function(*arguments)
        except MemoryError as error:
            raise BadWorkload(
                f"{self.workload.name}: {name}() ran out of memory", "Use smaller sizes."
            ) from error
        except (Exception, SystemExit) as error:  # an author's own code
            at = _line_in(error, str(self.workload.oracle_file))
            what = f"{self.workload.name}/oracle.py{at}: {name}() raised {type(error).__name__}: {error}"
            raise BadWorkload(what[:500]) from error
        if not isinstance(found, dict):
            raise BadWorkload(
                f"{self.workload.name}/oracle.py: {name}() must return a dict of arrays by name"
            )
        return cast("Mapping[str, Any]", found)

    def _require_names(self, function: str, given: Mapping[str, Any], wanted: Mapping[str, object]) -> None:
        missing, extra = sorted(wanted.keys() - given.keys()), sorted(given.keys() - wanted.keys())
        if missing or extra:
            parts = [f"lacks {', '.join(missing)}"] * bool(missing) + [
                f"has unknown {', '.join(extra)}"
            ] * bool(extra)
            raise BadWorkload(
                f"{self.workload.name}/oracle.py: what {function}() returns {' and '.join(parts)}"
            )

    def _array(self, buffer: Buffer, value: object, sizes: Sizes, function: str) -> Array:
        found = np.asarray(value)
        shape = buffer.shape(sizes)
        if found.shape != shape:
            what = f"{function}() gives `{buffer.name}` the shape {found.shape}, not {shape}"
            raise BadWorkload(f"{self.workload.name}/oracle.py: {what}")
        kinds = "fiu" if is_float(buffer.dtype) else "iu"
        if found.dtype.kind not in kinds:
            what = f"{function}() gives `{buffer.name}` the type {found.dtype} for a {buffer.dtype} buffer"
            raise BadWorkload(f"{self.workload.name}/oracle.py: {what}")
        return found

    def _input(self, buffer: Buffer, value: object, sizes: Sizes) -> Array:
        found = self._array(buffer, value, sizes, "inputs")
        with np.errstate(all="ignore"):
            rounded = np.ascontiguousarray(found.astype(numpy_dtype(buffer.dtype)))
        lossy = not is_float(buffer.dtype) and not np.array_equal(rounded, found)
        if lossy or (is_float(buffer.dtype) and not np.all(np.isfinite(rounded.astype(np.float64)))):
            raise BadWorkload(
                f"{self.workload.name}/oracle.py: inputs() leaves the range of {buffer.dtype} in `{buffer.name}`"
            )
        return rounded

    def _scalar(self, name: str, dtype: DType, value: object) -> float:
        found = np.asarray(value)
        if found.shape != () or found.dtype.kind not in "fiu" or not np.isfinite(found):
            raise BadWorkload(
                f"{self.workload.name}/oracle.py: inputs() must give `{name}` as one finite number"
            )
        return float(found.astype(numpy_dtype(dtype)))

    def _output(self, buffer: Buffer, value: object, sizes: Sizes) -> Array:
        found = self._array(buffer, value, sizes, "reference")
        return np.ascontiguousarray(found.astype(np.float64 if is_float(buffer.dtype) else np.int64))


def load_oracle(workload: Workload, array_module: types.ModuleType | None = None) -> Oracle:
    """The oracle of a workload. With `array_module` (cupy) its reference computes there, its inputs still in numpy.

    Raises BadWorkload where the file cannot be run or lacks a function.
    """
    plain = _run(workload)
    reference = plain
    if array_module is not None:
        reference = _run(workload)
        reference["np"] = array_module
    for name in ("inputs", "reference"):
        if not callable(plain.get(name)):
            raise BadWorkload(f"{workload.name}/oracle.py has no function {name}()")
    return Oracle(workload, plain["inputs"], reference["reference"], array_module)


def _run(workload: Workload) -> dict[str, Any]:
    """The names that an `oracle.py` defines."""
    path = workload.oracle_file
    names: dict[str, Any] = {"__name__": f"oracle of {workload.name}", "__file__": str(path)}
    try:
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)  # noqa: S102  # the author's file
    except (OSError, UnicodeDecodeError) as error:
        raise BadWorkload(f"cannot read {workload.name}/oracle.py: {error}") from error
    except (Exception, SystemExit) as error:  # an author's own code
        what = f"{workload.name}/oracle.py{_line_in(error, str(path))}: {type(error).__name__}: {error}"
        raise BadWorkload(what[:500]) from error
    return names


def _exact(array: Array) -> Array:
    """A copy in which the reference computes: float64, or int64."""
    return array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)


def _line_in(error: BaseException, path: str) -> str:
    """`:LINE` of the last frame inside the author's file, or of a syntax error."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f":{error.lineno}"
    line, frame = None, error.__traceback__
    while frame:
        if frame.tb_frame.f_code.co_filename == path:
            line = frame.tb_lineno
        frame = frame.tb_next
    return f":{line}" if line else ""
