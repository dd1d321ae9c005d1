"""Everything that can be checked about a workload without a GPU: for its author, and for the shipped ones in tests."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import BadWorkload
from ..reports.finding import Finding
from .comparison import compare
from .dtypes import is_float
from .limits import device_limits
from .oracle import Case, Oracle, load_oracle
from .plan import PlanError
from .schedule_check import Checked, check_schedule
from .workload import Buffer, Sizes, Workload
from .workload_file import examine

ORACLE_LIMIT_S = 0.05
HIDDEN_DRAWS = 50
_ORACLE_DRAWS = 5
_SEEDS = (1, 2, 3)
_ARCH = "sm_90"
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what was looked at, whether it holds, what was found; `findings` have places in the files."""

    name: str
    ok: bool
    detail: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkloadChecks:
    """All checks of a folder, and the workload and baseline schedule as far as they could be read."""

    workload: Workload | None
    baseline: Checked | None
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether every check holds."""
        return all(check.ok for check in self.checks)


def check_workload(folder: Path) -> WorkloadChecks:
    """Check a workload's folder: file, schedule, oracle at tiny and hidden sizes, and that cheap outputs fail.

    Raises NotFound where there is no `workload.toml`.
    """
    workload, problems = examine(folder)
    findings = problems.findings()
    read = Check("workload.toml", not findings, _count(findings, "sound"), findings)
    if workload is None:
        return WorkloadChecks(None, None, (read,))
    baseline = _baseline(workload)
    checks = [
        read,
        Check("baseline schedule", baseline.ok, _count(baseline.findings, "sound"), baseline.findings),
    ]
    if baseline.ok:
        checks.append(_checked("plans", lambda: _plans(workload, baseline)))
    try:
        oracle = load_oracle(workload)
    except BadWorkload as error:
        return WorkloadChecks(workload, baseline, (*checks, Check("oracle", False, error.what)))
    tiny = workload.presets["tiny"]
    checks.append(_checked("oracle at tiny", lambda: _sound(oracle, tiny)))
    if checks[-1].ok:
        checks.append(_checked("oracle time", lambda: _quick(oracle, tiny)))
        checks.append(_checked("repeatable", lambda: _repeatable(oracle, tiny)))
        checks.append(_checked("inputs vary", lambda: _varied(oracle, tiny)))
        checks.append(_checked("cheap outputs fail", lambda: _not_degenerate(oracle, tiny)))
        checks.append(_checked("oracle at hidden sizes", lambda: _hidden(oracle)))
    return WorkloadChecks(workload, baseline, tuple(checks))


def _baseline(workload: Workload) -> Checked:
    return check_schedule(workload.baseline(), "baseline.cu", workload, device_limits(_ARCH))


def _checked(name: str, look: Callable[[], str]) -> Check:
    """A check that raises BadWorkload where it does not hold, and says what it found where it does."""
    try:
        return Check(name, True, look())
    except BadWorkload as error:
        return Check(name, False, error.what)


def _plans(workload: Workload, baseline: Checked) -> str:
    drawn = workload.hidden_sizes("plans", HIDDEN_DRAWS)
    most = 0
    for sizes in (*workload.presets.values(), *drawn):
        try:
            most = max(most, len(baseline.plan(sizes).launches))
        except PlanError as error:
            raise BadWorkload(f"{error.what}, with {_shown(sizes)}") from error
    return f"all presets and {len(drawn)} hidden draws; at most {most:,} launches"


def _sound(oracle: Oracle, sizes: Sizes) -> str:
    for buffer, array in _references(oracle, sizes, _SEEDS[0]):
        if not np.all(np.isfinite(array)):
            raise BadWorkload(f"reference() gives `{buffer.name}` values that are not finite")
    return "names, shapes, types and finiteness of inputs and references"


def _quick(oracle: Oracle, sizes: Sizes) -> str:
    case = oracle.case(_SEEDS[0], sizes)
    spent: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        oracle.expected(case)
        spent.append(time.perf_counter() - start)
    if min(spent) > ORACLE_LIMIT_S:
        raise BadWorkload(
            f"reference() takes {min(spent) * 1e3:.0f} ms at tiny; it may take {ORACLE_LIMIT_S * 1e3:.0f}"
        )
    return f"{min(spent) * 1e3:.1f} ms at tiny"


def _repeatable(oracle: Oracle, sizes: Sizes) -> str:
    first, second = oracle.case(_SEEDS[0], sizes), oracle.case(_SEEDS[0], sizes)
    different = [
        name for name, array in first.arrays.items() if array.tobytes() != second.arrays[name].tobytes()
    ]
    if different or first.scalars != second.scalars:
        named = ", ".join(different) or "scalars"
        raise BadWorkload(
            f"inputs() gives other values ({named}) for the same generator: draw only from `rng`"
        )
    once, twice = oracle.expected(first), oracle.expected(first)
    if any(once[name].tobytes() != twice[name].tobytes() for name in once):
        raise BadWorkload("reference() gives other values for the same inputs")
    return "the same inputs and references for the same seed"


def _varied(oracle: Oracle, sizes: Sizes) -> str:
    first, second = oracle.case(_SEEDS[0], sizes), oracle.case(_SEEDS[1], sizes)
    if all(array.tobytes() == second.arrays[name].tobytes() for name, array in first.arrays.items()):
        raise BadWorkload("inputs() gives the same arrays for other seeds: a candidate could know the answer")
    outputs, others = oracle.expected(first), oracle.expected(second)
    constant = [name for name in outputs if outputs[name].tobytes() == others[name].tobytes()]
    if constant:
        raise BadWorkload(f"`{constant[0]}` does not depend on the inputs")
    return "inputs and references change with the seed"


def _not_degenerate(oracle: Oracle, sizes: Sizes) -> str:
    """Outputs that need no computation must be wrong, else the workload measures nothing."""
    tried = 0
    for seed in _SEEDS:
        case = oracle.case(seed, sizes)
        for buffer, want in _expected(oracle, case):
            for label, cheap in _cheap_outputs(case, buffer, want).items():
                tried += 1
                if _accepts(buffer, cheap, want, sizes):
                    raise BadWorkload(
                        f"{label} would pass as `{buffer.name}`: the workload or its tolerance is degenerate"
                    )
    return f"{tried} cheap outputs are all wrong"


def _cheap_outputs(case: Case, buffer: Buffer, want: Array) -> dict[str, Array]:
    found = {"zeros": np.zeros_like(want), "ones": np.ones_like(want)}
    spoilt = {"the negated result": -want}
    if is_float(buffer.dtype):
        spoilt["a result rounded to 8 bits"] = _rounded(want)
    if want.shape[0] > 1:
        tail = want.copy()
        tail[-1] = 0
        spoilt["a result without its last part"] = tail
    # What spoiling leaves as it was (a zero negated) is right.
    found |= {label: array for label, array in spoilt.items() if not np.array_equal(array, want)}
    if is_float(buffer.dtype):
        found["NaN"] = np.full_like(want, np.nan)
    if want.size > 1:
        found["the mean everywhere"] = np.full_like(want, np.mean(want))
    for name, array in case.arrays.items():
        if array.shape == want.shape:
            found[f"a copy of {name}"] = array.astype(want.dtype)
    return found


def _rounded(want: Array) -> Array:
    """The values with 4 significant bits, as a computation in 8-bit floating point would leave them."""
    mantissa, exponent = np.frexp(want)
    return np.ldexp(np.round(mantissa * 16) / 16, exponent)


def _accepts(buffer: Buffer, got: Array, want: Array, sizes: Sizes) -> bool:
    if buffer.tolerance is None:
        return False
    return compare(got, want, buffer.tolerance.allowance(buffer.dtype, sizes)).ok


def _hidden(oracle: Oracle) -> str:
    slowest = 0.0
    for sizes in oracle.workload.hidden_sizes("oracle", _ORACLE_DRAWS):
        start = time.perf_counter()
        for buffer, array in _references(oracle, sizes, _SEEDS[0]):
            if not np.all(np.isfinite(array)):
                raise BadWorkload(
                    f"reference() gives `{buffer.name}` values that are not finite, with {_shown(sizes)}"
                )
        slowest = max(slowest, time.perf_counter() - start)
    return f"{_ORACLE_DRAWS} draws, the slowest {slowest * 1e3:.1f} ms with its inputs"


def _references(oracle: Oracle, sizes: Sizes, seed: int) -> list[tuple[Buffer, Array]]:
    return _expected(oracle, oracle.case(seed, sizes))


def _expected(oracle: Oracle, case: Case) -> list[tuple[Buffer, Array]]:
    expected: Mapping[str, Array] = oracle.expected(case)
    return [(buffer, expected[buffer.name]) for buffer in oracle.workload.outputs]


def _shown(sizes: Sizes) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def _count(findings: tuple[Finding, ...], good: str) -> str:
    return good if not findings else f"{len(findings)} problem{'s' * (len(findings) > 1)}"
