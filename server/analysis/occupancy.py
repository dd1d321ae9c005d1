"""Theoretical occupancy: how many blocks of a kernel fit on one SM at once, what stops the next, where that changes.

The limits are those of the "Technical Specifications per Compute Capability" of the CUDA programming guide. A test
compares table and rules with the toolkit's own cuda_occupancy.h. It knows nothing of what a kernel does.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..errors import InvalidRequest
from ..reports.compilation import Cliff, CliffResource, Limiter, Occupancy

DEFAULT_BLOCKS = (128, 256, 512, 1024)
WARP_THREADS = 32
MAX_BLOCK_THREADS = 1024
MAX_REGISTERS = 255
REGISTERS_PER_SM = 65536
_REGISTER_UNIT = 256  # registers are given to a warp in units of 256
_PARTITIONS = 4
_KIB = 1024
_UNLIMITED = 1 << 31


@dataclass(frozen=True, slots=True)
class Sm:
    """The limits of one streaming multiprocessor; bytes of shared memory per SM, per block (opted in), per unit.

    `reserved_bytes` is what the driver takes of each block, `barriers` how many named barriers
    the SM shares among its blocks; None where they are no limit (before sm_90).
    """

    threads: int
    blocks: int
    shared_bytes: int
    barriers: int | None
    reserved_bytes: int = _KIB
    shared_unit: int = 128

    @property
    def warps(self) -> int:
        """The most warps that it holds."""
        return self.threads // WARP_THREADS

    @property
    def block_shared_bytes(self) -> int:
        """The most shared memory that one block can have, static and dynamic."""
        return self.shared_bytes - self.reserved_bytes


_SMS: Mapping[int, Sm] = {
    75: Sm(1024, 16, 64 * _KIB, None, 0, 256),
    80: Sm(2048, 32, 164 * _KIB, None),
    86: Sm(1536, 16, 100 * _KIB, None),
    87: Sm(1536, 16, 164 * _KIB, None),
    88: Sm(1536, 16, 100 * _KIB, None),
    89: Sm(1536, 24, 100 * _KIB, None),
    90: Sm(2048, 32, 228 * _KIB, 64),
    100: Sm(2048, 32, 228 * _KIB, 64),
    103: Sm(2048, 32, 228 * _KIB, 32),
    107: Sm(1024, 16, 228 * _KIB, 16),
    110: Sm(1536, 24, 228 * _KIB, 24),
    120: Sm(1536, 24, 100 * _KIB, 24),
    121: Sm(1536, 24, 100 * _KIB, 24),
}


@dataclass(frozen=True, slots=True)
class Demand:
    """What one kernel asks of an SM: registers per thread, shared bytes per block (all of them), named barriers."""

    registers: int
    shared_bytes: int = 0
    barriers: int = 0


def sm(arch: str) -> Sm:
    """The limits of an architecture such as sm_90a. Raises InvalidRequest where they are not known."""
    number = arch.removeprefix("sm_").rstrip("af")
    if not number.isdecimal() or int(number) not in _SMS:
        raise InvalidRequest(
            f"the limits of {arch} are not known", f"Known: {', '.join(f'sm_{known}' for known in _SMS)}."
        )
    return _SMS[int(number)]


def limits(demand: Demand, arch: str, block_threads: int) -> dict[Limiter, int]:
    """For each resource, how many blocks of that many threads it lets an SM hold; 0 where not even one."""
    held = sm(arch)
    warps = -(-block_threads // WARP_THREADS)
    return {
        "registers": _by_registers(demand.registers, warps),
        "shared memory": _by_shared(demand.shared_bytes, held),
        "warps": held.warps // warps if block_threads <= MAX_BLOCK_THREADS else 0,
        "blocks": held.blocks,
        "barriers": held.barriers // demand.barriers if held.barriers and demand.barriers else _UNLIMITED,
    }


def _by_registers(registers: int, warps: int) -> int:
    per_warp = _rounded(registers * WARP_THREADS, _REGISTER_UNIT)
    launchable = per_warp * _rounded(warps, _PARTITIONS) <= REGISTERS_PER_SM and registers <= MAX_REGISTERS
    if not launchable:
        return 0
    if not per_warp:
        return _UNLIMITED
    return REGISTERS_PER_SM // _PARTITIONS // per_warp * _PARTITIONS // warps


def _by_shared(shared_bytes: int, held: Sm) -> int:
    if shared_bytes > held.block_shared_bytes:
        return 0
    per_block = _rounded(shared_bytes + held.reserved_bytes, held.shared_unit)
    return held.shared_bytes // per_block if per_block else _UNLIMITED


def _rounded(amount: int, unit: int) -> int:
    return -(-amount // unit) * unit


def resident_blocks(demand: Demand, arch: str, block_threads: int) -> int:
    """How many blocks of that many threads an SM holds at once."""
    return min(limits(demand, arch, block_threads).values())


def occupancy(demand: Demand, arch: str, block_threads: int) -> Occupancy:
    """The theoretical occupancy of one block size: warps held of the warps that an SM can hold, and what limits it."""
    allowed = limits(demand, arch, block_threads)
    blocks = min(allowed.values())
    warps = -(-block_threads // WARP_THREADS)
    return Occupancy(
        block_threads=block_threads,
        blocks_per_sm=blocks,
        percent=round(100 * blocks * warps / sm(arch).warps, 1),
        limited_by=tuple(
            name
            for name, number in allowed.items()
            if number == blocks and not (name == "barriers" and blocks == allowed["blocks"])
        ),
    )


def occupancies(
    demand: Demand, arch: str, block_sizes: Iterable[int] = DEFAULT_BLOCKS
) -> tuple[Occupancy, ...]:
    """The theoretical occupancy of several block sizes."""
    return tuple(occupancy(demand, arch, threads) for threads in block_sizes)


def cliffs(demand: Demand, arch: str, block_threads: int) -> tuple[Cliff | None, Cliff | None]:
    """(next loss, next gain): the nearest growth of a resource that costs a block, the nearest cut that wins one.

    Of registers and shared memory, the one that needs the smaller relative change.
    """
    allowed = limits(demand, arch, block_threads)
    held, warps, now = sm(arch), -(-block_threads // WARP_THREADS), min(allowed.values())
    unit, used = held.shared_unit, demand.shared_bytes

    def first(name: CliffResource, limiter: Limiter, values: range, by: Callable[[int], int]) -> Cliff | None:
        others = min(number for known, number in allowed.items() if known != limiter)
        gain = values.step < 0
        for value in values:
            then = min(others, by(value))
            if then > now if gain else then < now:
                return Cliff(
                    resource=name, value=value, block_threads=block_threads, blocks_now=now, blocks_then=then
                )
        return None

    def of(registers: range, shared: range) -> Cliff | None:
        found = (
            first("registers", "registers", registers, lambda value: _by_registers(value, warps)),
            first("shared bytes", "shared memory", shared, lambda value: _by_shared(value, held)),
        )
        return _nearest(found, demand)

    return (
        of(
            range(demand.registers + 1, MAX_REGISTERS + 1),
            range(used - used % unit + unit + 1, held.block_shared_bytes + 1, unit),
        ),
        of(range(demand.registers - 1, 0, -1), range((used - 1) // unit * unit, -1, -unit)),
    )


def _nearest(found: Iterable[Cliff | None], demand: Demand) -> Cliff | None:
    def relative(cliff: Cliff) -> float:
        start = demand.registers if cliff.resource == "registers" else demand.shared_bytes
        return abs(cliff.value - start) / max(start, 1)

    return min((cliff for cliff in found if cliff), key=relative, default=None)
