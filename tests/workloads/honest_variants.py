"""Honest variants of a kernel, made mechanically: tuning points, restricted pointers, unrolled loops, other flags."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from warpwise.server.evaluation.schedule_check import Checked

_POINTER = re.compile(r"(\b(?:float|double|int|long long|__half|__nv_bfloat16|half)\s*\*)\s*(?=\w)")
_INNER_LOOP = re.compile(r"^([ \t]*)(for \([^{}\n]*\)[^{}\n;]*;)[ \t]*$", re.MULTILINE)
_POINTS = 4


@dataclass(frozen=True)
class Variant:
    """A right kernel that is not the baseline: its source, defines and flags."""

    name: str
    source: str
    defines: dict[str, str] = field(default_factory=dict[str, str])
    flags: tuple[str, ...] = ()


def honest_variants(checked: Checked) -> Iterator[Variant]:
    """At least three variants of a workload's baseline."""
    assert checked.schedule is not None
    source, schedule = checked.workload.baseline(), checked.schedule
    points = [point for point in schedule.tune.points(schedule.defines) if point != schedule.defines]
    for point in itertools.islice(points, 0, None, max(1, len(points) // _POINTS)):
        defines = {name: str(value) for name, value in point.items()}
        yield Variant(", ".join(f"{name}={value}" for name, value in defines.items()), source, defines)
    yield Variant("no fused multiply-add", source, flags=("-fmad=false",))
    yield Variant("at most 32 registers", source, flags=("-maxrregcount=32",))
    if not _passes_one_array_twice(checked):
        yield Variant("__restrict__", _POINTER.sub(r"\1 __restrict__ ", source))
    if _INNER_LOOP.search(source):
        yield Variant("loops unrolled", _INNER_LOOP.sub(r'\1_Pragma("unroll 4") \2', source))


def _passes_one_array_twice(checked: Checked) -> bool:
    assert checked.schedule is not None
    for launch in checked.schedule.launches():
        names = [str(argument) for argument in launch.arguments if str(argument) in checked.workload.buffers]
        if len(names) != len(set(names)):
            return True
    return False
