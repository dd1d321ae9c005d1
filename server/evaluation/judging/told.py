"""What a contest tells of itself in every answer: sizes, phases, conditions, what it checked and what it did not."""

from ...reports.evaluation import HiddenSizes, Measurement
from ...reports.finding import SkippedCheck
from .contest import Outcome
from .entries import Request

_ELSEWHERE = (
    "writes outside of arrays",
    "guards see 4 KiB around each array when values are checked; the sanitizers see all (sanitize=true)",
)
_CONTEXT = (
    "device memory of the launcher itself",
    "kernels share its context: one that searches all addresses for it is not excluded",
)


def hidden_of(outcome: Outcome) -> HiddenSizes:
    """The hidden sizes, told with the verdict only."""
    return HiddenSizes(
        seed=outcome.seed,
        repeated=outcome.request.hidden_seed is not None,
        sizes=tuple(dict(sizes) for sizes in outcome.hidden),
    )


def measurement_of(outcome: Outcome) -> Measurement:
    """Milliseconds by phase, and the GPU's state around the run."""
    return Measurement(
        phases_ms={name: round(seconds * 1e3, 1) for name, seconds in outcome.phases_s.items()},
        conditions=outcome.conditions.told() if outcome.conditions else {},
    )


def checks_run(outcome: Outcome) -> tuple[str, ...]:
    """What was checked."""
    if outcome.result is None:
        return ("schedule", "build")
    checks = ["schedule", "build", f"values at visible and {len(outcome.hidden)} hidden sizes"]
    checks += ["unwritten outputs (two poisons)", "overruns", "read-only arrays"]
    timing = outcome.result.timing
    if timing is not None and timing.samples:
        checks += [
            "timing",
            f"every timed output ({len(timing.samples)} calls, {outcome.request.visible_sets} sets)",
        ]
        checks += ["event against host clock"]
        if outcome.conditions and outcome.conditions.after.peak_bytes_s:
            checks.append("memory roofline")
    return tuple(checks)


def checks_skipped(outcome: Outcome, *, sanitized: bool) -> list[SkippedCheck]:
    """What was not checked or is not excluded, and why."""
    request = outcome.request
    skipped = [SkippedCheck(check=check, reason=reason) for check, reason in (_CONTEXT,)]
    if not sanitized:
        skipped.append(SkippedCheck(check=_ELSEWHERE[0], reason=_ELSEWHERE[1]))
    skipped += _of_timing(outcome, request)
    return skipped


def _of_timing(outcome: Outcome, request: Request) -> list[SkippedCheck]:
    timing = outcome.result.timing if outcome.result else None
    if request.timing is None:
        return [SkippedCheck(check="timing", reason="not asked (timing=false)")]
    if timing is None or not timing.samples:
        return [SkippedCheck(check="timing", reason="only programs that run are timed")]
    found: list[SkippedCheck] = []
    if request.visible_sets < request.timed_sets:
        reason = f"the arrays are large: {request.visible_sets} sets of inputs in turn"
        found.append(SkippedCheck(check=f"{request.timed_sets} timed sets", reason=reason))
    if timing.stopped == "outputs":
        reason = "each call's output differs in its last digits and is kept: timing ended early"
        found.append(SkippedCheck(check="the width asked of the interval", reason=reason))
    if outcome.conditions is None or outcome.conditions.after.peak_bytes_s is None:
        found.append(SkippedCheck(check="memory roofline", reason="NVML does not tell this GPU's bandwidth"))
    return found
