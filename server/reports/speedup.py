"""How much faster one kernel is than another, and how that was measured."""

from typing import Literal

from .number import Frozen

Comparison = Literal["FASTER", "SLOWER", "SAME", "INCONCLUSIVE"]


class SpeedupReport(Frozen):
    """The time of `over` divided by the time of `of`, medians of cold calls; the 95 % interval is of that ratio.

    `cold_us` and `warm_us` are microseconds by name: caches cleared before each call, and right after another call.
    """

    of: str
    over: str
    comparison: Comparison
    ratio: float
    low: float
    high: float
    pairs: int
    cold_us: dict[str, float]
    warm_us: dict[str, float]
    sizes: dict[str, int]
    flush: str

    def __str__(self) -> str:
        interval = f"{self.ratio:.3f}x [{self.low:.3f}, {self.high:.3f}] {self.comparison}"
        cold = f"{self.cold_us[self.of]:.4g} against {self.cold_us[self.over]:.4g} us"
        warm = f"warm {self.warm_us[self.of]:.4g} against {self.warm_us[self.over]:.4g} us"
        return f"{self.of} over {self.over} {interval} ({cold}, {warm}, {self.pairs} pairs)"
