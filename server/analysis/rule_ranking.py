"""The vendor's rules, ranked by what they can really give: each estimate bounded by the time or traffic it can touch.

ncu's own estimates are no ranking. A rule takes the pattern of some accesses for the pattern of all (uncoalesced stores
of 4 KB beside loads of 128 MB: "52 %"), the tail for a whole wave, one unit's idleness for the kernel's, and memory that
nobody allocated as compressible for compressible. A bound is only ever lower than the estimate, and says why.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..reports.number import unavailable
from ..reports.performance import RankedRule
from ..toolchain.ncu_report import VendorRule
from .accesses import memory_gain_pct, sectors, shared_gain_pct, spilled
from .bottleneck import headroom_pct, occupancy_matters, tail_pct
from .counters import Counters, estimated, ratio

_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_{}_op_{}.sum"
_KINDS = tuple((space, op) for space in ("global", "local") for op in ("ld", "st"))
_ATOMICS = tuple(("global", op) for op in ("red", "atom"))
_BYTES_USED = "smsp__sass_average_data_bytes_per_sector_mem_{}_op_{}.ratio"
_SECTOR_BYTES = 32.0
_SHARED_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
_IMBALANCE = {
    "L2 Slices": ("lts__throughput", "L2"),
    "L1 Slices": ("l1tex__throughput", "L1"),
    "DRAM": ("gpu__dram_throughput", "DRAM"),
}
METRICS = (
    *(_SECTORS.format(*kind) for kind in (*_KINDS, *_ATOMICS)),
    *(_BYTES_USED.format(*kind) for kind in _KINDS),
    _SHARED_WAVEFRONTS,
    *(
        f"{unit}.{side}.pct_of_peak_sustained_elapsed"
        for unit, _ in _IMBALANCE.values()
        for side in ("avg", "max")
    ),
)


class Bound(NamedTuple):
    """At most `pct` of the time (None: nothing is known), and why."""

    pct: float | None
    why: str


def ranked_rules(counters: Counters) -> tuple[RankedRule, ...]:
    """The rules that estimate a gain, most to gain first; those that tell nothing of the kernel's time come last."""
    rules = [_ranked(counters, rule) for rule in counters.reading.rules if rule.estimate_pct is not None]
    return tuple(sorted(rules, key=lambda rule: (rule.bounded.value is None, -(rule.bounded.value or 0.0))))


def _ranked(counters: Counters, rule: VendorRule) -> RankedRule:
    own = estimated(rule.estimate_pct, "%", "ncu's own estimate")
    bound = _bound(counters, rule)
    bounded, why = own, None
    if bound is not None and bound.pct is None:
        bounded, why = unavailable("%", bound.why), bound.why
    elif bound is not None and bound.pct is not None and bound.pct < (rule.estimate_pct or 0.0):
        bounded, why = estimated(max(bound.pct, 0.0), "%", bound.why), bound.why
    return RankedRule(
        rule=rule.rule,
        title=rule.title or rule.rule,
        message=rule.message,
        estimate=own,
        bounded=bounded,
        why=why,
    )


def _bound(counters: Counters, rule: VendorRule) -> Bound | None:
    """The lowest bound that applies. A local estimate is one unit's efficiency, so no time can be read from it."""
    if rule.scope == "local":
        return Bound(None, "a local estimate: one unit's efficiency, not the kernel's time")
    find = _BOUNDS.get(rule.rule)
    return find(counters, rule) if find else None


def _tail(counters: Counters, rule: VendorRule) -> Bound | None:
    idle = tail_pct(counters)
    if "Tail" not in rule.title or idle is None:
        return None
    return Bound(idle, "only the last wave's empty part can be saved")


def _latency(counters: Counters, rule: VendorRule) -> Bound | None:
    free = headroom_pct(counters)
    return (
        None if free is None else Bound(free, f"the busiest unit works {100 - free:.0f} % of the time anyway")
    )


def _occupancy(counters: Counters, rule: VendorRule) -> Bound | None:
    if not occupancy_matters(counters):
        return Bound(0.0, "the grid does not fill the SMs once: no more blocks are waiting")
    return _latency(counters, rule)


def _compression(counters: Counters, rule: VendorRule) -> Bound | None:
    why = (
        "needs memory allocated as compressible (cuMemCreate) and data that compress: no change of the kernel"
    )
    return Bound(None, why)


def _access_pattern(counters: Counters, rule: VendorRule) -> Bound | None:
    """The part of L1's sectors that these accesses fetch and do not use: share of the kind * (1 - bytes used / 32)."""
    words = rule.title.lower().split()
    space = next((space for space in ("global", "local") if space in words), None)
    op = {"load": "ld", "store": "st"}.get(next((word for word in words if word in ("load", "store")), ""))
    if space is None or op is None:
        return None
    counts = [counters.get(_SECTORS.format(*kind)) for kind in (*_KINDS, *_ATOMICS)]
    if all(count is None for count in counts):
        return None
    share = ratio(counters.get(_SECTORS.format(space, op)), sum(count or 0.0 for count in counts))
    if share is None:
        return None
    used = counters.get(_BYTES_USED.format(space, op))
    kind = f"{space} {'loads' if op == 'ld' else 'stores'}"
    if space == "local":
        return Bound(100.0 * share, f"{kind} are {100 * share:.2g} % of the L1 traffic")
    waste = 1.0 if used is None else max(0.0, 1.0 - used / _SECTOR_BYTES)
    return Bound(100.0 * share * waste, f"{kind} are {100 * share:.2g} % of the L1 traffic")


def _uncoalesced(counters: Counters, rule: VendorRule) -> Bound | None:
    excess = sum(
        row.excess for line in counters.reading.lines for row in line.accesses if row.space == "global"
    )
    gain, share = memory_gain_pct(counters, excess), ratio(100.0 * excess, sectors(counters))
    if gain is None or share is None:
        return None
    return Bound(
        gain, f"{share:.2g} % of the sectors asked for are excess, and memory is not busy all the time"
    )


def _conflicts(counters: Counters, rule: VendorRule) -> Bound | None:
    op = next((word for word in ("load", "store") if word in rule.title.lower()), None)
    rows = [row for line in counters.reading.lines for row in line.accesses if row.space == "shared"]
    if not rows:
        return None
    excess = sum(row.excess for row in rows if op is None or row.op in (op, "copy", "atomic"))
    if not excess:
        return Bound(0.0, "no instruction needs more wavefronts than the fewest: queueing, no bank conflict")
    gain = shared_gain_pct(counters, excess)
    return (
        None
        if gain is None
        else Bound(gain, f"the excess wavefronts fill the pipe for {gain:.2g} % of the time")
    )


def _spilling(counters: Counters, rule: VendorRule) -> Bound | None:
    if spilled(counters) != 0.0:
        return None
    return Bound(0.0, "no executed instruction spills")


def _imbalance(counters: Counters, rule: VendorRule) -> Bound | None:
    for words, (unit, name) in _IMBALANCE.items():
        if rule.title.startswith(words):
            sides = [counters.get(f"{unit}.{side}.pct_of_peak_sustained_elapsed") for side in ("avg", "max")]
            known = [side for side in sides if side is not None]
            return (
                Bound(max(known), f"{name} is used for {max(known):.2g} % of its peak at most")
                if known
                else None
            )
    return None


_BOUNDS: Mapping[str, Callable[[Counters, VendorRule], Bound | None]] = {
    "LaunchConfiguration": _tail,
    "CPIStall": _latency,
    "IssueSlotUtilization": _latency,
    "AchievedOccupancy": _latency,
    "TheoreticalOccupancy": _occupancy,
    "MemoryL2Compression": _compression,
    "MemoryCacheAccessPattern": _access_pattern,
    "UncoalescedGlobalAccess": _uncoalesced,
    "UncoalescedSharedAccess": _conflicts,
    "SharedMemoryConflicts": _conflicts,
    "LocalMemoryUsage": _spilling,
    "WorkloadImbalance": _imbalance,
}
