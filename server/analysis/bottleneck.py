"""What bounds a kernel: the launch, one unit near its peak, the tail of the grid, or the latency that nothing hides.

Thresholds are those of ncu's own first rule (`SOLBottleneck`): a unit used for 60 % of its peak or more bounds the
kernel; below that for every unit, waiting does.
"""

import math

from ..reports.number import Number
from ..reports.performance import AchievedOccupancy, Bottleneck, BoundBy, Stall
from .counters import Counters, derived, estimated, ratio

BUSY_PCT = 60.0
TAIL_PCT = 20.0
_ELAPSED = ".avg.pct_of_peak_sustained_elapsed"
COMPUTE, MEMORY = f"sm__throughput{_ELAPSED}", f"gpu__compute_memory_throughput{_ELAPSED}"
DRAM, L2, L1 = f"gpu__dram_throughput{_ELAPSED}", f"lts__throughput{_ELAPSED}", f"l1tex__throughput{_ELAPSED}"
L1_DATA = f"l1tex__data_pipe_lsu_wavefronts{_ELAPSED}"
_L1_PARTS = tuple(
    f"l1tex__{part}{_ELAPSED}"
    for part in (
        *("data_bank_reads", "data_bank_writes", "data_pipe_lsu_wavefronts", "data_pipe_tex_wavefronts"),
        *("f_wavefronts", "lsu_writeback_active", "lsuin_requests", "m_l1tex2xbar_req_cycles_active"),
        *(
            "m_xbar2l1tex_read_sectors",
            "tex_writeback_active",
            "texin_sm2tex_req_cycles_active",
            "tmain_requests",
        ),
    )
)
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed"
ISSUE = "smsp__issue_active.avg.pct_of_peak_sustained_active"
_PIPES = {
    "fp32 pipe (FMA)": "sm__pipe_fma_cycles_active",
    "fp64 pipe": "sm__pipe_fp64_cycles_active",
    "integer pipe (ALU)": "sm__pipe_alu_cycles_active",
    "tensor cores": "sm__pipe_tensor_cycles_active",
    "special functions (XU)": "sm__inst_executed_pipe_xu",
    "uniform pipe": "sm__inst_executed_pipe_uniform",
    "memory instructions (LSU)": "sm__inst_executed_pipe_lsu",
    "texture pipe": "sm__inst_executed_pipe_tex",
    "instruction issue": "sm__issue_active",
}
BLOCKS, SMS, WAVES = "launch__grid_size", "launch__sm_count", "launch__waves_per_multiprocessor"
_SM_COUNT = "device__attribute_multiprocessor_count"
_LIMITS = {
    "registers": "launch__occupancy_limit_registers",
    "shared memory": "launch__occupancy_limit_shared_mem",
    "warps": "launch__occupancy_limit_warps",
    "blocks": "launch__occupancy_limit_blocks",
    "barriers": "launch__occupancy_limit_barriers",
}
_ACHIEVED = "sm__warps_active.avg.pct_of_peak_sustained_active"
_THEORETICAL = "sm__maximum_warps_per_active_cycle_pct"
_STALLED, _PER_ISSUE = "smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"
_LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
NOT_WAITING = frozenset({"selected", "not_selected"})
METRICS = (
    *(COMPUTE, MEMORY, DRAM, L2, L1, *_L1_PARTS, SHARED, ISSUE, BLOCKS, SMS, WAVES, _SM_COUNT),
    *(f"{pipe}{_ELAPSED}" for pipe in _PIPES.values()),
    *_LIMITS.values(),
    *(_ACHIEVED, _THEORETICAL, f"{_STALLED}*{_PER_ISSUE}", _LATENCY),
)


def bottleneck(counters: Counters) -> Bottleneck | None:
    """What bounds the kernel, or None where its throughputs were not collected."""
    units = _units(counters)
    by, name = max(units, key=lambda unit: units[unit], default=("latency", ""))
    used = units.get((by, name))
    blocks, sms = counters.get(BLOCKS), counters.first(SMS, _SM_COUNT)
    if blocks is not None and sms is not None and blocks < sms and (used is None or used < BUSY_PCT):
        share = derived(100.0 * blocks / sms, "%", "blocks / SMs")
        why = f"{blocks:,.0f} {'block' if blocks == 1 else 'blocks'} on {sms:.0f} SMs: the others idle"
        return Bottleneck(
            by="launch",
            unit="grid",
            used=share,
            why=why,
        )
    if used is None:
        return None
    share = derived(used, "%", "the most used of DRAM, L2, L1, shared memory and the pipes")
    if used >= BUSY_PCT:
        return Bottleneck(by=by, unit=name, used=share, why=f"{name} is used for {used:.0f} % of its peak")
    if (idle := tail_pct(counters)) is not None and idle >= TAIL_PCT:
        waves = counters.get(WAVES) or 0.0
        why = f"{waves:.2f} waves of blocks: in the last one up to {idle:.0f} % of the GPU idles"
        return Bottleneck(by="tail", unit="grid", used=share, why=why)
    worst = next((stall for stall in stalls(counters) if stall.reason not in NOT_WAITING), None)
    waiting = f", most on {worst.reason} ({worst.share.value:.0f} % of the time)" if worst else ""
    return Bottleneck(
        by="latency", unit=name, used=share, why=f"no unit is used for {BUSY_PCT:.0f} %: warps wait{waiting}"
    )


def _units(counters: Counters) -> dict[tuple[BoundBy, str], float]:
    """{(class, unit in words): percent of peak} of every unit that was counted."""
    found: dict[tuple[BoundBy, str], float | None] = {
        ("dram", "DRAM"): counters.get(DRAM),
        ("l2", "L2"): counters.get(L2),
        _l1_or_shared(counters): l1(counters).value,
    }
    for words, pipe in _PIPES.items():
        by: BoundBy = "issue" if words == "instruction issue" else "compute"
        found[by, words] = counters.get(f"{pipe}{_ELAPSED}")
    return {unit: used for unit, used in found.items() if used is not None}


def l1(counters: Counters) -> Number:
    """How busy L1 and shared memory were, in percent of their peak: ncu's own number, else the busiest of its parts."""
    if counters.get(L1) is not None:
        return counters.number(L1, "%")
    known = [value for name in _L1_PARTS if (value := counters.get(name)) is not None]
    return derived(max(known) if known else None, "%", "the busiest part of L1 that was counted")


def _l1_or_shared(counters: Counters) -> tuple[BoundBy, str]:
    """L1 and shared memory are one data pipe: it is named after whoever fills the greater part of it."""
    shared, pipe = counters.get(SHARED), counters.get(L1_DATA)
    return ("shared", "shared memory") if shared and pipe and shared >= pipe / 2 else ("l1", "L1")


def tail_pct(counters: Counters) -> float | None:
    """Percent of time that a last, partly filled wave can waste: 1 - waves / ceil(waves), for blocks of equal length."""
    waves = counters.get(WAVES)
    return None if not waves else 100.0 * (1.0 - waves / math.ceil(waves))


def headroom_pct(counters: Counters) -> float | None:
    """Percent of the time that better overlap could save: 100 less the busiest unit, which has to do its work anyway."""
    busy = [value for name in (COMPUTE, MEMORY) if (value := counters.get(name)) is not None]
    return max(0.0, 100.0 - max(busy)) if busy else None


def occupancy(counters: Counters) -> AchievedOccupancy | None:
    """Measured and possible occupancy, and what limits the possible; None where neither was collected."""
    if counters.first(_ACHIEVED, _THEORETICAL) is None:
        return None
    limits = {name: value for name, metric in _LIMITS.items() if (value := counters.get(metric)) is not None}
    possible = counters.get(_THEORETICAL)
    least = min(limits.values(), default=0.0)
    limited = possible is not None and possible < 99.5
    return AchievedOccupancy(
        achieved=counters.number(_ACHIEVED, "%"),
        theoretical=counters.number(_THEORETICAL, "%"),
        limited_by=tuple(name for name, value in limits.items() if limited and value == least),
    )


def occupancy_matters(counters: Counters) -> bool:
    """Whether more blocks would fit work: a grid that does not fill the SMs once cannot use a higher occupancy."""
    waves = counters.get(WAVES)
    return waves is None or waves > 1.0


def stalls(counters: Counters) -> tuple[Stall, ...]:
    """Why warps wait, most first: cycles in each state / cycles between two instructions of a warp (WarpStateStats).

    Without that section: shares of the warp samples. `not_selected` warps were ready and lost to another.
    """
    whole = counters.get(_LATENCY)
    found: dict[str, Number] = {}
    for name in counters.reading.metrics:
        if name.startswith(_STALLED) and name.endswith(_PER_ISSUE):
            share = ratio(counters.get(name), whole)
            how = "stalled cycles / cycles between two instructions of a warp"
            found[name.removeprefix(_STALLED).removesuffix(_PER_ISSUE)] = derived(_hundred(share), "%", how)
    if not found:
        found = _sampled(counters)
    known = [Stall(reason=reason, share=share) for reason, share in found.items() if share.value]
    return tuple(
        sorted(
            (stall for stall in known if stall.reason != "selected"),
            key=lambda stall: -(stall.share.value or 0.0),
        )
    )


def _sampled(counters: Counters) -> dict[str, Number]:
    samples = sum(line.samples for line in counters.reading.lines)
    counted: dict[str, int] = {}
    for line in counters.reading.lines:
        for reason, count in line.stalls.items():
            counted[reason] = counted.get(reason, 0) + count
    return {
        reason: estimated(_hundred(ratio(count, samples)), "%", f"of {samples} warp samples")
        for reason, count in counted.items()
    }


def _hundred(share: float | None) -> float | None:
    return None if share is None else 100.0 * share
