"""Compare what a program left with the references: statuses and findings from recorded buffers. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ..reports.finding import Finding
from .comparison import Comparison, compare
from .references import InputSets
from .trial import POISONS, TimingResult, TrialResult
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


def faults_of(
    workload: Workload, sets: InputSets, hidden_from: int, results: Iterable[TrialResult], program: str
) -> list[Fault]:
    """Everything wrong in a program's trials; sets from number `hidden_from` on are of hidden sizes."""
    faults: list[Fault] = []
    by_set: dict[int, list[TrialResult]] = {}
    for result in results:
        if result.trial.program == program:
            by_set.setdefault(result.trial.number, []).append(result)
    for number, runs in sorted(by_set.items()):
        hidden = number >= hidden_from
        failed = next((run for run in runs if run.status == "failed"), None)
        if failed:
            return [*faults, Fault(*_failure(failed), hidden, _failure_finding(failed, sets, hidden))]
        ran = [run for run in runs if run.status == "ran"]
        faults += _side_effects(ran, sets, number, hidden)
        faults += _wrong_outputs(workload, sets, number, ran, hidden)
    return faults


def _failure(run: TrialResult) -> tuple[Status]:
    name = (run.error or "").removeprefix("CUDA_ERROR_")
    if name in _LOAD:
        return ("load_error",)
    if name == "OUT_OF_MEMORY":
        return ("out_of_memory",)
    return ("launch_error",) if name in _LAUNCH else ("crashed",)


def _failure_finding(run: TrialResult, sets: InputSets, hidden: bool) -> Finding:
    (status,) = _failure(run)
    at = sizes_text(sets.sets[run.trial.number].sizes, hidden)
    return Finding(
        rule=f"evaluation/{status.replace('_', '-')}",
        severity="error",
        message=f"{run.error} in {(run.call or '').partition(':')[0]} {at}",
        evidence={"error": run.error, "sizes": dict(sets.sets[run.trial.number].sizes)},
        suggestion=_ADVICE.get(status),
        confirm="debug" if status == "crashed" else None,
    )


def _side_effects(runs: list[TrialResult], sets: InputSets, number: int, hidden: bool) -> list[Fault]:
    faults: list[Fault] = []
    at = sizes_text(sets.sets[number].sizes, hidden)
    for status, names, what in (
        ("overrun", {name for run in runs for name in run.overrun}, "writes outside of"),
        ("input_changed", {name for run in runs for name in run.changed}, "changes the read-only array"),
    ):
        for name in sorted(names):
            finding = Finding(
                rule=f"evaluation/{status.replace('_', '-')}",
                severity="error",
                message=f"{what} {name} {at}",
                suggestion=_ADVICE[status],
            )
            faults.append(Fault("overrun" if status == "overrun" else "input_changed", hidden, finding))
    return faults


def _wrong_outputs(
    workload: Workload, sets: InputSets, number: int, runs: list[TrialResult], hidden: bool
) -> list[Fault]:
    faults: list[Fault] = []
    for buffer in workload.outputs:
        for run in runs:
            found = _compared(workload, sets, number, buffer.name, run.outputs[buffer.name])
            if found.ok:
                continue
            unwritten = _unwritten(runs, buffer.name) if buffer.role == "out" else 0
            status: Status = "unwritten_output" if unwritten else _status(found)
            at = sizes_text(sets.sets[number].sizes, hidden)
            faults.append(Fault(status, hidden, _wrong_finding(status, buffer.name, found, unwritten, at)))
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
        rule=f"evaluation/{status.replace('_', '-')}",
        severity="error",
        message=share + worst + hint,
        evidence={"wrong": found.wrong, "elements": found.elements, "first_wrong": found.first_wrong},
        suggestion=_ADVICE.get(status),
    )


def timed_faults(workload: Workload, sets: InputSets, timing: TimingResult, program: str) -> list[Fault]:
    """What is wrong in the outputs of timed calls: every one was told by its digest, every distinct one is compared."""
    if timing.error is not None:
        finding = Finding(rule="evaluation/crashed", severity="error", message=f"while timed: {timing.error}")
        return [Fault("crashed", False, finding)]
    for output in timing.outputs:
        if output.program != program:
            continue
        for name, content in output.outputs.items():
            found = _compared(workload, sets, output.number, name, content)
            if not found.ok:
                share = f"{found.wrong:,} of {found.elements:,} elements"
                message = f"{output.count} timed calls left a wrong {name}: {share}"
                finding = Finding(
                    rule="evaluation/wrong-when-timed",
                    severity="error",
                    message=message,
                    suggestion="The result must not depend on earlier calls, on addresses or on timing.",
                )
                return [Fault(_status(found), False, finding)]
    if mismatches := timing.mismatches:
        finding = Finding(
            rule="evaluation/nondeterministic",
            severity="error",
            message=f"{mismatches} timed calls left outputs that all differ: too many to check each",
            suggestion="Make the result reproducible: fixed order of sums, no unordered atomics.",
        )
        return [Fault("nondeterministic", False, finding)]
    return []


def sizes_text(sizes: Mapping[str, int], hidden: bool) -> str:
    """`at N = 5, M = 7 (hidden)`."""
    listed = ", ".join(f"{name} = {value}" for name, value in sizes.items())
    return f"at {listed}" + (" (hidden)" if hidden else "")
