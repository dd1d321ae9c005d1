"""Where the outputs of two programs differ by more than both may be off together. Pure."""

import numpy as np

from .launched import LauncherResult
from .references import InputSets
from .workload import Buffer, Workload


def difference(
    workload: Workload, sets: InputSets, result: LauncherResult, first: str, second: str
) -> str | None:
    """The first place where they differ on the smallest set on which they do, as text; None where they agree."""
    held = {
        (one.trial.program, one.trial.number): one.outputs for one in result.trials if one.status == "ran"
    }
    numbers = sorted(
        {number for _, number in held}, key=lambda number: workload.memory_bytes(sets.sets[number].sizes)
    )
    for number in numbers:
        for buffer in workload.outputs:
            contents = [held.get((name, number), {}).get(buffer.name) for name in (first, second)]
            left, right = contents
            if left is not None and right is not None:
                found = _apart(sets, number, buffer, left, right)
                if found:
                    return found
    return None


def _apart(sets: InputSets, number: int, buffer: Buffer, left: bytes, right: bytes) -> str | None:
    assert buffer.tolerance is not None
    one, other = (sets.given(number, buffer.name, content).astype(np.float64) for content in (left, right))
    want = sets.reference(number, buffer.name).astype(np.float64)
    allowed = buffer.tolerance.allowance(buffer.dtype, sets.sets[number].sizes)
    scale = float(np.sqrt(np.mean(np.square(want)))) if want.size else 0.0
    with np.errstate(all="ignore"):
        limit = 2 * (allowed.relative * np.abs(one) + allowed.absolute * scale)
        apart = ~(np.abs(one - other) <= limit) & ~(np.isnan(one) & np.isnan(other)) & (one != other)
    if not np.any(apart):
        return None
    index = tuple(int(part) for part in np.argwhere(apart)[0])
    values = f"A {one[index]:.6g}, B {other[index]:.6g}"
    share = f"{int(apart.sum()):,} of {apart.size:,} elements"
    return f"{buffer.name}{list(index)} {sets.at(number)}: {values} ({share})"
