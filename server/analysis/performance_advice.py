"""What helps against each bottleneck and each reason to wait, and the counter that shows whether it did. Data only.

The stall reasons are ncu's (Kernel Profiling Guide, "Warp Stall Reasons").
"""

from collections.abc import Mapping
from typing import NamedTuple

from ..reports.performance import BoundBy


class Advice(NamedTuple):
    """What to do, and which number moves in which direction if it worked."""

    do: str
    confirm: str


COALESCE = Advice(
    "Let threads with neighbouring threadIdx.x touch neighbouring addresses: swap .x and .y in the index, or stage a "
    "tile in shared memory.",
    "sectors per request fall",
)
UNBANK = Advice(
    "Pad the shared array's rows by one element (s[32][33]) or swizzle its index, so that a warp's addresses fall into "
    "different banks.",
    "wavefronts per request fall",
)
SPILL = Advice(
    "Keep fewer values alive at once (smaller tile, less unrolling), or allow more registers: fewer threads in "
    "__launch_bounds__, no -maxrregcount.",
    "local memory sectors fall towards 0 (compile shows spill bytes)",
)
ARRAY = Advice(
    "Index the array with constants (unroll the loop fully) so that it stays in registers, or put it in shared memory.",
    "local memory sectors fall towards 0 (compile shows stack bytes)",
)
REGROUP = Advice(
    "Sort or regroup the work so that the threads of a warp take the same branch; use full warps.",
    "threads per executed instruction rise towards 32",
)
BOUND_ADVICE: Mapping[BoundBy, Advice] = {
    "dram": Advice(
        "Move fewer bytes: reuse data in shared memory or registers, fuse kernels, use smaller types; it is at the "
        "memory's speed.",
        "DRAM bytes fall; duration falls with them",
    ),
    "l2": Advice("Block the work so that tiles stay in L1 or shared memory.", "L2 sectors fall"),
    "l1": Advice(
        "Issue fewer or wider loads (float4), reuse values in registers, coalesce the accesses.",
        "L1 sectors and wavefronts fall",
    ),
    "shared": Advice(
        "Compute more from each shared value: let a thread hold a tile of results in registers, load with float4.",
        "shared wavefronts per FMA fall",
    ),
    "compute": Advice(
        "Do less arithmetic, or use a faster kind of it: tensor cores, lower precision, fast-math functions.",
        "the pipe's instructions fall",
    ),
    "issue": Advice(
        "Execute fewer instructions: unroll, vectorise, hoist index arithmetic out of the loop.",
        "executed instructions fall",
    ),
    "latency": Advice(
        "Give each warp more independent work (unroll, several outputs per thread) or keep more warps resident.",
        "eligible warps per cycle rise",
    ),
    "launch": Advice(
        "Launch at least as many blocks as SMs: smaller blocks, or split the work further (split-K, more tiles).",
        "the grid's blocks rise above the SM count; duration falls",
    ),
    "tail": Advice(
        "Choose a grid that is a multiple of what fits at once, smaller blocks, or a persistent grid-stride loop.",
        "waves per SM come just below a whole number, or are many",
    ),
}
_MEMORY_QUEUE = Advice(
    "Issue fewer memory instructions: wider loads (float4), reuse in registers, no redundant or spilled accesses.",
    "this stall's share falls; memory instructions fall",
)
STALL_ADVICE: Mapping[str, Advice] = {
    "long_scoreboard": Advice(
        "Hide global-memory latency: load the next tile before using this one (cp.async, double buffering), unroll so "
        "that several loads are in flight, improve locality.",
        "long_scoreboard's share falls",
    ),
    "short_scoreboard": Advice(
        "Shared memory answers late: remove bank conflicts, load wider, put independent work between load and use.",
        "short_scoreboard's share falls",
    ),
    "lg_throttle": _MEMORY_QUEUE,
    "mio_throttle": Advice(
        "Issue fewer shared-memory and special instructions: wider loads, register tiles, shuffles.",
        "mio_throttle's share falls; shared instructions fall",
    ),
    "tex_throttle": _MEMORY_QUEUE,
    "barrier": Advice(
        "Balance the work between barriers, use smaller blocks, or synchronise warps instead of blocks.",
        "barrier's share falls",
    ),
    "membar": Advice("Use fewer or narrower fences (__threadfence_block).", "membar's share falls"),
    "wait": Advice(
        "Fixed latencies show: interleave independent instructions (unroll, several accumulators).",
        "wait's share falls; instructions per cycle rise",
    ),
    "math_pipe_throttle": Advice(
        "The arithmetic pipe is full: do less arithmetic or mix instruction kinds.",
        "math_pipe_throttle's share falls",
    ),
    "no_instructions": Advice(
        "Instructions come late: shrink the code (less unrolling), avoid jumps between far blocks.",
        "no_instructions' share falls",
    ),
    "imc_miss": Advice("Constants miss their cache: index them uniformly.", "imc_miss's share falls"),
    "drain": Advice(
        "Warps end by waiting for their stores: coalesce the final stores, write less.", "drain's share falls"
    ),
    "branch_resolving": Advice("Fewer branches in the hot loop.", "branch_resolving's share falls"),
    "sleeping": Advice("Shorten __nanosleep back-off.", "sleeping's share falls"),
}
