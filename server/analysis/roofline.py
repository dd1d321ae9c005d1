"""Where a kernel stands under the roofline of its device: arithmetic by precision, DRAM traffic, and the floor.

The peaks are the report's own (`*.peak_sustained` times the clock measured during the run), so they hold for the clock
at which the kernel ran. Tensor cores: each source type against its fastest path with the same sparsity (on Hopper dense
wgmma, which `mma.sync` cannot reach); ncu's own sum by source type has the sparse peak and would halve a dense kernel.
After Williams, Waterman and Patterson, "Roofline" (CACM 52(4), 2009); the counters are those of
ncu's own roofline sections.
"""

import re

from ..reports.number import Number
from ..reports.performance import Ceiling, Roofline
from .counters import DURATION, Counters, derived, ratio

_INSTRUCTIONS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_cycle_elapsed"
_CLOCK = ("smsp__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second")
_PEAK_CLOCK = "sm__cycles_elapsed.avg.per_second"
_TENSOR = "sm__ops_path_tensor_"
_TENSOR_PATH = re.compile(
    r"(?:op_[a-z]+_)?src_(?P<type>[a-z0-9]+)(?:_dst_[a-z0-9]+)?(?:_sparsity_(?P<sparsity>on|off))?"
)
_RATE, _PEAK = ".sum.per_second", ".sum.peak_sustained_elapsed.per_second"
# precision: (instruction and how many FLOP a thread does in one, ...), the counter of the peak, in FLOP per cycle
_PRECISIONS = {
    "fp64": (
        (("dadd", 1), ("dmul", 1), ("dfma", 2)),
        "derived__sm__sass_thread_inst_executed_op_dfma_pred_on_x2",
    ),
    "fp32": (
        (("fadd", 1), ("fmul", 1), ("ffma", 2)),
        "derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2",
    ),
    "fp16": (
        (("hadd", 2), ("hmul", 2), ("hfma", 4)),
        "derived__sm__sass_thread_inst_executed_op_hfma_pred_on_x4",
    ),
}
_DRAM_BUSY = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
# ptxas makes constants with HFMA2 and the like: below this share of a kernel's arithmetic a precision is not one
_NOISE = 0.01
METRICS = (
    "smsp__sass_thread_inst_executed_op_*_pred_on.sum.per_cycle_elapsed",
    *_CLOCK,
    *(peak for _, peak in _PRECISIONS.values()),
    f"{_TENSOR}*{_RATE}",
    f"{_TENSOR}*{_PEAK}",
    "dram__bytes.sum.per_second",
    "dram__bytes_read.sum.per_second",
    "dram__bytes_write.sum.per_second",
    "dram__bytes.sum.peak_sustained",
    "dram__cycles_elapsed.avg.per_second",
    _DRAM_BUSY,
)


def roofline(counters: Counters) -> Roofline:
    """The roofline position. Rates in GFLOP/s and GB/s (10^9), shares in percent, the floor in microseconds.

    floor = duration * max(DRAM share of peak, arithmetic share of peak): memory and arithmetic can overlap fully, and
    different pipes can as well, so the largest share alone is unavoidable at this traffic and this arithmetic.
    """
    rates = {**_plain(counters), **_tensor(counters)}
    whole = sum(rate for rate, _ in rates.values())
    shown = {name: pair for name, pair in rates.items() if pair[0] > _NOISE * whole}
    traffic, peak = _dram(counters)
    used = ratio(traffic, peak)
    shares = [share for rate, top in shown.values() if (share := ratio(rate, top)) is not None]
    shares += [] if used is None else [used]
    best = max(shares) if shares else None
    duration = counters.get(DURATION)
    return Roofline(
        ceilings=tuple(
            _ceiling(name, *pair) for name, pair in sorted(shown.items(), key=lambda item: -item[1][0])
        ),
        dram=derived(_giga(traffic), "GB/s", "DRAM bytes read and written / duration"),
        dram_pct=counters.number(_DRAM_BUSY, "%")
        if used is None
        else _percent(used, "DRAM bytes/s / (dram__bytes.sum.peak_sustained * DRAM clock)"),
        intensity=derived(ratio(whole, traffic) if rates else None, "FLOP/byte", "FLOP/s / DRAM bytes/s"),
        floor=derived(
            None if best is None or duration is None else duration / 1e3 * best,
            "us",
            "duration * the larger share of peak, DRAM or arithmetic",
        ),
        floor_pct=_percent(best, "the larger share of peak, DRAM or arithmetic"),
    )


def _plain(counters: Counters) -> dict[str, tuple[float, float | None]]:
    """{precision: (FLOP/s, peak FLOP/s)} of the ordinary pipes; empty where they were not counted."""
    clock, peak_clock = counters.first(*_CLOCK), counters.get(_PEAK_CLOCK)
    found: dict[str, tuple[float, float | None]] = {}
    for precision, (instructions, peak_name) in _PRECISIONS.items():
        counts = [(counters.get(_INSTRUCTIONS.format(name)), flop) for name, flop in instructions]
        if clock is not None and any(count is not None for count, _ in counts):
            per_cycle = sum((count or 0.0) * flop for count, flop in counts)
            peak = counters.get(peak_name)
            found[precision] = (
                per_cycle * clock,
                None if peak is None or peak_clock is None else peak * peak_clock,
            )
    return found


def _tensor(counters: Counters) -> dict[str, tuple[float, float | None]]:
    """{tensor arithmetic: (operations/s, peak operations/s)} by source type; single paths win over ncu's sums."""
    found: dict[str, tuple[float, float | None]] = {}
    paths = [name for name in counters.reading.metrics if name.startswith(_TENSOR) and name.endswith(_RATE)]
    single = [name for name in paths if name.startswith(f"{_TENSOR}op_")]
    covered = {_arithmetic(name).removesuffix(" sparse") for name in single}
    for name in [
        *single,
        *(name for name in paths if name not in single and _arithmetic(name) not in covered),
    ]:
        rate, peak = found.get(_arithmetic(name), (0.0, None))
        own = counters.get(name.removesuffix(_RATE) + _PEAK)
        found[_arithmetic(name)] = (
            rate + (counters.get(name) or 0.0),
            max(filter(None, (peak, own)), default=None),
        )
    return {name: pair for name, pair in found.items() if pair[0]}


def _arithmetic(name: str) -> str:
    path = _TENSOR_PATH.fullmatch(name.removeprefix(_TENSOR).removesuffix(_RATE))
    if path is None:
        return f"tensor {name.removeprefix(_TENSOR).removesuffix(_RATE)}"
    return f"tensor {path['type']}" + (" sparse" if path["sparsity"] == "on" else "")


def _dram(counters: Counters) -> tuple[float | None, float | None]:
    """(bytes/s, peak bytes/s) of DRAM."""
    read, written = (counters.get(f"dram__bytes_{kind}.sum.per_second") for kind in ("read", "write"))
    both = None if read is None or written is None else read + written
    traffic = counters.get("dram__bytes.sum.per_second") if both is None else both
    width, clock = (
        counters.get("dram__bytes.sum.peak_sustained"),
        counters.get("dram__cycles_elapsed.avg.per_second"),
    )
    return traffic, None if width is None or clock is None else width * clock


def _ceiling(precision: str, rate: float, peak: float | None) -> Ceiling:
    return Ceiling(
        precision=precision,
        gflops=derived(rate / 1e9, "GFLOP/s", "executed thread instructions * FLOP in each / time"),
        peak_pct=_percent(ratio(rate, peak), "FLOP/s / peak FLOP/s at the measured clock"),
    )


def _percent(share: float | None, how: str) -> Number:
    return derived(None if share is None else 100.0 * share, "%", how)


def _giga(value: float | None) -> float | None:
    return None if value is None else value / 1e9
