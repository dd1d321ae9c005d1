"""How much faster, for certain? Paired, interleaved samples in; median, 95 % interval, comparison out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..reports.speedup import Comparison, SpeedupReport
from .launched import TimingResult
from .trial import Flush
from .workload import Sizes

MINIMAL_EFFECT = 0.01
RESAMPLES = 2000
FLUSHES: Mapping[Flush, str] = {
    "read": "persisting L2 reset, memset and read of 2 x L2",
    "memset": "persisting L2 reset, memset of 2 x L2",
}


@dataclass(frozen=True, slots=True)
class Speedup:
    """Time of B over time of A: above 1, A is faster. The 95 % interval is of the ratio of medians."""

    ratio: float
    low: float
    high: float
    pairs: int

    @property
    def comparison(self) -> Comparison:
        """FASTER or SLOWER where the interval excludes 1 and the effect is >= 1 %; SAME where it lies within ±1 %."""
        if self.low > 1 and self.ratio >= 1 + MINIMAL_EFFECT:
            return "FASTER"
        if self.high < 1 and self.ratio <= 1 / (1 + MINIMAL_EFFECT):
            return "SLOWER"
        if self.low >= 1 / (1 + MINIMAL_EFFECT) and self.high <= 1 + MINIMAL_EFFECT:
            return "SAME"
        return "INCONCLUSIVE"


def speedup(a_us: Sequence[float], b_us: Sequence[float]) -> Speedup:
    """The speed-up of A over B from pairs of microseconds taken side by side, by a paired bootstrap of the medians.

    Needs at least 5 pairs of positive times; raises ValueError otherwise. The resampling is seeded by the data, so the
    same samples give the same interval. (Efron and Tibshirani, "An Introduction to the Bootstrap", chapter 13.)
    """
    first, second = np.asarray(a_us, np.float64), np.asarray(b_us, np.float64)
    if first.shape != second.shape or first.size < 5 or not (np.all(first > 0) and np.all(second > 0)):
        raise ValueError("a speed-up needs at least 5 pairs of positive times")
    logs = np.log(second) - np.log(first)
    count = logs.size
    rng = np.random.default_rng(np.frombuffer(logs.tobytes(), np.uint32))
    chosen = rng.integers(0, count, (RESAMPLES, count))
    medians = np.log(np.median(second[chosen], axis=1)) - np.log(np.median(first[chosen], axis=1))
    low, high = np.percentile(medians, (2.5, 97.5))
    center = float(np.log(np.median(second)) - np.log(np.median(first)))
    half = max(float(high) - center, center - float(low), _resolution(first, second))
    ratio, below, above = (float(np.exp(value)) for value in (center, center - half, center + half))
    return Speedup(ratio, below, above, count)


def _resolution(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """The clock's tick as a part of the time: a median of quantised times is never known better (32 ns, H200)."""
    return 0.016 / float(min(np.median(first), np.median(second)))


def report(timing: TimingResult, first: str, second: str, sizes: Sizes, flush: Flush) -> SpeedupReport | None:
    """The speed-up of one timed program over another; None where too few pairs were timed."""
    cold = {name: timing.cold_us(name) for name in (first, second)}
    try:
        found = speedup(cold[first], cold[second])
    except ValueError:
        return None
    return SpeedupReport(
        of=first,
        over=second,
        comparison=found.comparison,
        ratio=round(found.ratio, 4),
        low=round(found.low, 4),
        high=round(found.high, 4),
        pairs=found.pairs,
        cold_us={name: round(float(np.median(times)), 3) for name, times in cold.items()},
        warm_us={
            name: round(float(np.median([one.event_us for one in timing.warm[name]])), 3)
            for name in (first, second)
        },
        sizes=dict(sizes),
        flush=FLUSHES[flush],
    )
