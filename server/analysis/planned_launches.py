"""How a source means to launch its kernels, and whether what was built of them fits: block sizes, dynamic shared memory.

Read from launches `<<<...>>>` and from the schedule in the comments, where their sizes are constant. What really ran,
the launch probe tells.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..reports.compilation import KernelResources
from ..reports.finding import Finding, Location
from .occupancy import (
    DEFAULT_BLOCKS,
    MAX_BLOCK_THREADS,
    Demand,
    cliffs,
    limits,
    occupancy,
    sm,
)
from .source.launches import launch_facts
from .source.shapes import Constants, scheduled_shapes
from .source.unit import read

_CLIFF_BLOCK = 256


@dataclass(frozen=True, slots=True)
class PlannedLaunch:
    """One launch of a kernel: threads per block, dynamic shared bytes (None where not constant), and where it stands."""

    threads: int
    dynamic_shared_bytes: int | None
    place: Location | None = None


def planned_launches(
    main: str, files: Mapping[str, str], defines: Mapping[str, str], arch: str
) -> dict[str, tuple[PlannedLaunch, ...]]:
    """By kernel name (without namespaces and templates), its launches whose block size is constant."""
    try:
        return _planned(main, files, defines, arch)
    except RecursionError:  # an expression nested deeper than Python follows: its launches are not known
        return {}


def _planned(
    main: str, files: Mapping[str, str], defines: Mapping[str, str], arch: str
) -> dict[str, tuple[PlannedLaunch, ...]]:
    unit = read(main, files, defines, arch)
    constants = Constants(unit)
    found: dict[str, tuple[PlannedLaunch, ...]] = {}
    for kernel in unit.of_role("kernel"):
        held = [
            PlannedLaunch(facts.threads, facts.dynamic_shared_bytes, facts.place)
            for facts in launch_facts(unit, kernel, constants)
            if facts.threads is not None and facts.threads > 0
        ]
        held += [
            PlannedLaunch(block.size, None) for block in scheduled_shapes(files[main], kernel, constants)
        ]
        found[kernel.name] = tuple(held)
    return found


def with_occupancy(
    kernel: KernelResources, arch: str, launches: Iterable[PlannedLaunch] = ()
) -> KernelResources:
    """The kernel with its theoretical occupancy: as it is launched, else at its launch bounds, else at four sizes."""
    if kernel.registers is None:
        return kernel
    static = kernel.static_shared_bytes or 0
    wanted = {(launch.threads, launch.dynamic_shared_bytes or 0) for launch in launches}
    known = wanted or ({(kernel.max_threads, 0)} if kernel.max_threads else set())
    sizes = sorted(known) or [(threads, 0) for threads in DEFAULT_BLOCKS]
    told = [
        occupancy(Demand(kernel.registers, static + dynamic, kernel.barriers or 0), arch, threads)
        for threads, dynamic in sizes
    ]
    threads, dynamic = sizes[0] if known else (_CLIFF_BLOCK, 0)
    loss, gain = cliffs(Demand(kernel.registers, static + dynamic, kernel.barriers or 0), arch, threads)
    dynamics = {launch.dynamic_shared_bytes for launch in launches}
    return kernel.model_copy(
        update={
            "dynamic_shared_bytes": dynamics.pop() if len(dynamics) == 1 else None,
            "occupancy": tuple(told),
            "block_from": "launch" if wanted else "launch bounds" if known else "assumed",
            "next_loss": loss,
            "next_gain": gain,
        }
    )


def misfits(kernel: KernelResources, arch: str, launches: Iterable[PlannedLaunch]) -> list[Finding]:
    """Launches that the built kernel cannot have: the driver will refuse them."""
    found = (_misfit(kernel, arch, launch) for launch in dict.fromkeys(launches))
    return [finding for finding in found if finding]


def _misfit(kernel: KernelResources, arch: str, launch: PlannedLaunch) -> Finding | None:
    if kernel.registers is None:
        return None
    shared = (kernel.static_shared_bytes or 0) + (launch.dynamic_shared_bytes or 0)
    allowed = limits(Demand(kernel.registers, shared), arch, launch.threads)
    asked = f"the launch asks {launch.threads:,} threads per block"
    if launch.threads > MAX_BLOCK_THREADS:
        rule, message = "launch-threads", f"{asked}; at most {MAX_BLOCK_THREADS:,} are possible"
        step = "Launch smaller blocks, and more of them."
    elif kernel.max_threads and launch.threads > kernel.max_threads:
        rule, message = "launch-bounds", f"{asked}; __launch_bounds__ allows {kernel.max_threads:,}"
        step = "Raise __launch_bounds__ or launch smaller blocks."
    elif not allowed["registers"]:
        most = max(
            (
                size
                for size in range(32, 1025, 32)
                if limits(Demand(kernel.registers), arch, size)["registers"]
            ),
            default=0,
        )
        rule, message = (
            "launch-registers",
            f"{asked} of {kernel.registers} registers; at most {most:,} threads fit",
        )
        step = f"Launch at most {most:,} threads, or bound registers by __launch_bounds__({launch.threads})."
    elif not allowed["shared memory"]:
        most = sm(arch).block_shared_bytes
        rule, message = (
            "launch-shared-memory",
            f"the launch asks {shared:,} bytes of shared memory; a block has {most:,}",
        )
        step = "Use a smaller tile."
    else:
        return None
    return Finding(
        rule=rule,
        severity="warning",
        message=f"{kernel.short_name}: {message}, so it will fail",
        kernel=kernel.short_name,
        location=launch.place,
        evidence={"threads": launch.threads, "registers": kernel.registers, "shared_bytes": shared},
        suggestion=step,
        confirm="debug",
    )
