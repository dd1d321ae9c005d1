"""Compare what a program left with the references: statuses and findings from recorded buffers. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ..reports.finding import Finding
from .comparison import Comparison, compare
from .launched import LauncherResult, TimedOutput, TrialResult
from .references import InputSets
from .trial import POISONS, TIMING
from .verdict import Status
from .workload import Workload

_LOAD = ("INVALID_IMAGE", "NO_BINARY_FOR_GPU", "NOT_FOUND", "INVALID_PTX", "UNSUPPORTED_PTX_VERSION")
_LAUNCH = ("INVALID_VALUE", "LAUNCH_OUT_OF_RESOURCES", "INVALID_CLUSTER_SIZE", "INVALID_CONFIGURATION")
_ADVICE: Mapping[str, str] = {
    "load_error": "Build for this GPU's architecture.",
    "launch_error": "Check block size, shared memory and registers against the device's limits.",
    "out_of_memory": "Use less scratch memory.",
    "crashed": "Run debug on it: the sanitizer names the line.",
    "unwritten_output": "Write every element of the output at every size.",
    "overrun": "Guard the index at the end of the array; debug names the line.",
    "input_changed": "Do not write to arrays that are only read.",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: its status, where it was seen (`hidden` sizes or not), and the finding about it."""

    status: Status
    hidden: bool
    finding: Finding


def faults_of(workload: Workload, sets: InputSets, result: LauncherResult, program: str) -> list[Fault]:
    """Everything wrong in a program's trials and, where they are right, in its timed calls."""
    return _trial_faults(workload, sets, result.of(program)) or timed_faults(workload, sets, result, program)


def _trial_faults(workload: Workload, sets: InputSets, results: Iterable[TrialResult]) -> list[Fault]:
    faults: list[Fault] = []
    by_set: dict[int, list[TrialResult]] = {}
    for result in results:
        if result.status == "hung":
            return [_hung(result.call)]
        by_set.setdefault(result.trial.number, []).append(result)
    for number, runs in sorted(by_set.items()):
        if failed := next((run for run in runs if run.status == "failed"), None):
            return [*faults, _failure(failed, sets)]
        ran = [run for run in runs if run.status == "ran"]
        faults += _side_effects(ran, sets, number)
        faults += _wrong_outputs(workload, sets, number, ran)
    return faults


def _hung(doing: str | None) -> Fault:
    where = "while timed" if doing == TIMING else "while its values were checked"
    finding = Finding(
        rule="evaluation/timeout",
        severity="error",
        message=f"the kernels were still running at the deadline ({where})",
        suggestion="Look for a loop that does not end, or a barrier that not all threads reach.",
    )
    return Fault("timeout", False, finding)


def _failure(run: TrialResult, sets: InputSets) -> Fault:
    name = (run.error or "").removeprefix("CUDA_ERROR_")
    status: Status = "launch_error" if name in _LAUNCH else "crashed"
    if name in _LOAD:
        status = "load_error"
    elif name == "OUT_OF_MEMORY":
        status = "out_of_memory"
    number = run.trial.number
    finding = Finding(
        rule=rule_of(status),
        severity="error",
        message=f"{run.error} in {(run.call or '').partition(':')[0]} {sets.at(number)}",
        evidence={"error": run.error, "sizes": dict(sets.sets[number].sizes)},
        suggestion=_ADVICE.get(status),
        confirm="debug" if status == "crashed" else None,
    )
    return Fault(status, sets.is_hidden(number), finding)


def rule_of(status: Status) -> str:
    """The rule of a finding that stands for a status."""
    return f"evaluation/{status.replace('_', '-')}"


def _side_effects(runs: list[TrialResult], sets: InputSets, number: int) -> list[Fault]:
    kinds: tuple[tuple[Status, set[str], str], ...] = (
        ("overrun", {name for run in runs for name in run.overrun}, "writes outside of"),
        ("input_changed", {name for run in runs for name in run.changed}, "changes the read-only array"),
    )
    return [
        _side_effect(status, f"{what} {name} {sets.at(number)}", sets.is_hidden(number))
        for status, names, what in kinds
        for name in sorted(names)
    ]


def _side_effect(status: Status, message: str, hidden: bool) -> Fault:
    finding = Finding(
        rule=rule_of(status), severity="error", message=message, suggestion=_ADVICE[status], confirm="debug"
    )
    return Fault(status, hidden, finding)


def _wrong_outputs(workload: Workload, sets: InputSets, number: int, runs: list[TrialResult]) -> list[Fault]:
    faults: list[Fault] = []
    for buffer in workload.outputs:
        for run in runs:
            found = _compared(workload, sets, number, buffer.name, run.outputs[buffer.name])
            if found.ok:
                continue
            unwritten = _unwritten(runs, buffer.name) if buffer.role == "out" else 0
            status: Status = "unwritten_output" if unwritten else _status(found)
            finding = _wrong_finding(status, buffer.name, found, unwritten, sets.at(number))
            faults.append(Fault(status, sets.is_hidden(number), finding))
            break
    return faults


def _compared(workload: Workload, sets: InputSets, number: int, name: str, content: bytes) -> Comparison:
    buffer = workload.buffers[name]
    assert buffer.tolerance is not None
    allowance = buffer.tolerance.allowance(buffer.dtype, sets.sets[number].sizes)
    return compare(sets.given(number, name, content), sets.reference(number, name), allowance)


def _status(found: Comparison) -> Status:
    return found.status if found.status != "correct" else "wrong_values"


def _unwritten(runs: list[TrialResult], name: str) -> int:
    """Bytes that kept the poison in both runs, poisoned differently."""
    if {run.trial.poison for run in runs} != set(POISONS):
        return 0
    kept = [np.frombuffer(run.outputs[name], np.uint8) == run.trial.poison for run in runs]
    return int(np.count_nonzero(np.logical_and.reduce(kept)))


def _wrong_finding(status: Status, name: str, found: Comparison, unwritten: int, at: str) -> Finding:
    share = f"{found.wrong:,} of {found.elements:,} elements of {name} are wrong {at}"
    if unwritten:
        share = f"{unwritten:,} bytes of {name} are never written {at}"
    worst = ""
    if found.worst is not None and not unwritten:
        index = ", ".join(map(str, found.worst.index))
        worst = f"; worst at [{index}]: got {found.worst.got:.6g}, want {found.worst.want:.6g}"
        worst += f" (error {found.worst.error:.2g}, allowed {found.worst.allowed:.2g})"
    hint = f"; {found.hint}" if found.hint else ""
    return Finding(
        rule=rule_of(status),
        severity="error",
        message=share + worst + hint,
        evidence={"wrong": found.wrong, "elements": found.elements, "first_wrong": found.first_wrong},
        suggestion=_ADVICE.get(status),
    )


def timed_faults(workload: Workload, sets: InputSets, result: LauncherResult, program: str) -> list[Fault]:
    """What is wrong in a program's timed calls, of which every distinct output (told by its digest) is compared."""
    timing = result.timing
    if timing is None:
        return []
    if timing.error is not None:
        message = f"while timed: {timing.error}"
        finding = Finding(rule="evaluation/crashed", severity="error", message=message, confirm="debug")
        return [Fault("crashed", False, finding)] if timing.failed == program else []
    faults = [
        _side_effect("input_changed", f"timed calls change the read-only array {name}", False)
        for name in timing.changed.get(program, ())
    ]
    if timing.tampered:
        faults.append(_side_effect("overrun", "timed calls write to memory that is not theirs", False))
    for output in timing.outputs:
        if output.program == program:
            faults += _timed_output(workload, sets, output)
    return faults


def _timed_output(workload: Workload, sets: InputSets, output: TimedOutput) -> list[Fault]:
    for name, content in output.outputs.items():
        found = _compared(workload, sets, output.number, name, content)
        if not found.ok:
            share = f"{found.wrong:,} of {found.elements:,} elements"
            finding = Finding(
                rule="evaluation/wrong-when-timed",
                severity="error",
                message=f"{output.count} timed calls left a wrong {name}: {share}",
                suggestion="The result must not depend on earlier calls, on addresses or on timing.",
            )
            return [Fault(_status(found), False, finding)]
    return []
