"""Scores of many judgements: fast_p for any p, geometric means, pass@k, with intervals. Pure.

fast_p is the share of judgements that are right and more than p times as fast as the baseline (fast_0 is the share that
is right): KernelBench's measure. Every workload counts the same, however many samples it has. Intervals are 95 %
bootstrap intervals over workloads (Efron and Tibshirani, chapter 13), and Wilson's where each workload has one sample.
pass@k is the unbiased estimate of Chen et al. (arXiv 2107.03374), equation 1.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidRequest

RESAMPLES = 4000
_Z = 1.959964
_RIGHT = ("PASS", "FAST")


@dataclass(frozen=True, slots=True)
class Sample:
    """One judgement: right or not; how many times as fast as the baseline (None: not timed), and the least it may be."""

    workload: str
    right: bool
    ratio: float | None = None
    low: float | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def read(text: str) -> list[Sample]:
    """Samples from answers of `evaluate` as JSON: a list, or one object a line. Raises InvalidRequest with the number."""
    try:
        held: Any = json.loads(text)
        rows: list[Any] = held if text.lstrip().startswith("[") else [held]
    except ValueError:
        rows = [_line(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    return [_sample(number, row) for number, row in enumerate(rows, 1)]


def _line(number: int, line: str) -> object:
    try:
        return json.loads(line)
    except ValueError as error:
        raise InvalidRequest(f"line {number} is no JSON: {error}") from error


def _sample(number: int, answer: Any) -> Sample:  # noqa: ANN401  # any JSON
    try:
        gained: Mapping[str, Any] = answer.get("speedup") or {}
        ratio, low = gained.get("ratio"), gained.get("low")
        return Sample(
            str(answer["workload"]),
            answer["verdict"] in _RIGHT,
            None if ratio is None else float(ratio),
            None if low is None else float(low),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"result {number} is no answer of evaluate: {error!r}"
        raise InvalidRequest(what, "Each needs workload, verdict and, where timed, speedup.") from error


def fast(samples: Sequence[Sample], p: float, *, certain: bool = False) -> Estimate:
    """fast_p; `certain` counts only those whose whole interval lies above p. fast_0 asks for no time."""

    def counts(sample: Sample) -> bool:
        speed = sample.low if certain else sample.ratio
        return sample.right and (p == 0 or (speed is not None and speed > p))

    return _share(samples, counts)


def _share(samples: Sequence[Sample], counts: Callable[[Sample], bool]) -> Estimate:
    rates = [float(np.mean([counts(one) for one in group])) for group in _groups(samples)]
    value = float(np.mean(rates))
    if len(rates) == len(samples):
        return Estimate(value, *_wilson(value, len(rates)))
    return Estimate(value, *_bootstrap(rates))


def geometric_mean(samples: Sequence[Sample], *, faster_only: bool = False) -> Estimate | None:
    """The geometric mean of the speed-ups of right samples (only of those above 1); None where there are none."""
    groups = _groups(
        [one for one in samples if one.right and one.ratio is not None and (one.ratio > 1 or not faster_only)]
    )
    if not groups:
        return None
    logs = [float(np.mean([math.log(one.ratio or 1.0) for one in group])) for group in groups]
    return Estimate(*(math.exp(value) for value in (float(np.mean(logs)), *_bootstrap(logs))))


def pass_at(samples: Sequence[Sample], k: int) -> Estimate | None:
    """pass@k over the workloads with at least k samples; None where no workload has as many."""
    rates: list[float] = []
    for group in _groups(samples):
        total, wrong = len(group), sum(not one.right for one in group)
        if total >= k:
            rates.append(1 - math.comb(wrong, k) / math.comb(total, k))
    return Estimate(float(np.mean(rates)), *_bootstrap(rates)) if rates else None


def _groups(samples: Iterable[Sample]) -> list[list[Sample]]:
    by_workload: dict[str, list[Sample]] = {}
    for sample in samples:
        by_workload.setdefault(sample.workload, []).append(sample)
    return list(by_workload.values())


def _wilson(share: float, count: int) -> tuple[float, float]:
    center = (share + _Z**2 / (2 * count)) / (1 + _Z**2 / count)
    half = _Z * math.sqrt(share * (1 - share) / count + _Z**2 / (4 * count**2)) / (1 + _Z**2 / count)
    return max(0.0, center - half), min(1.0, center + half)


def _bootstrap(values: Sequence[float]) -> tuple[float, float]:
    held = np.asarray(values, np.float64)
    rng = np.random.default_rng(len(held))
    means = held[rng.integers(0, len(held), (RESAMPLES, len(held)))].mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)
