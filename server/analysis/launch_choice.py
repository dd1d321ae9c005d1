"""Which launches of a program are profiled in depth, and in how many runs of ncu they can be reached.

By default the first, middle and last launch of each kernel and 16 in all, kernels with the most time first. ncu selects
by one expression on names and one on invocation numbers, so kernels whose wanted invocations fit together share a run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..toolchain.ncu_report import ListedLaunch

MAX_PER_KERNEL = 3
MAX_LAUNCHES = 16
MAX_RUNS = 4


@dataclass(frozen=True, slots=True)
class Place:
    """One launch: its kernel's linker name, and which of that kernel's launches it is (from 1)."""

    mangled: str
    invocation: int


@dataclass(frozen=True, slots=True)
class Selection:
    """What one run of ncu profiles: these invocations of these kernels; `kernels` is None for every launch there is.

    `expected` are the launches that it meets, in order; `kept` those that are wanted.
    """

    kernels: tuple[str, ...] | None
    invocations: tuple[int, ...]
    expected: tuple[Place, ...]
    kept: frozenset[Place]


def places(launches: Sequence[ListedLaunch]) -> list[Place]:
    """Each launch's place, in the order of the launches."""
    seen: dict[str, int] = {}
    found: list[Place] = []
    for launch in launches:
        seen[launch.mangled] = seen.get(launch.mangled, 0) + 1
        found.append(Place(launch.mangled, seen[launch.mangled]))
    return found


def choose(launches: Sequence[ListedLaunch], skip: int, count: int | None) -> list[Place]:
    """The launches to profile: all `count` after `skip` wanted ones where a count is given, else a few of each kernel."""
    wanted = [
        (launch, place) for launch, place in zip(launches, places(launches), strict=True) if launch.wanted
    ][skip:]
    if count is not None:
        return [place for _, place in wanted[:count]]
    by_kernel: dict[str, list[Place]] = {}
    time_ns: dict[str, float] = {}
    for launch, place in wanted:
        by_kernel.setdefault(place.mangled, []).append(place)
        time_ns[place.mangled] = time_ns.get(place.mangled, 0.0) + (launch.duration_ns or 0.0)
    kernels = sorted(by_kernel, key=lambda name: -time_ns[name])
    rounds = [_spread(by_kernel[name]) for name in kernels]
    chosen = [ranked[number] for number in range(MAX_PER_KERNEL) for ranked in rounds if number < len(ranked)]
    kept = set(chosen[:MAX_LAUNCHES])
    return [place for _, place in wanted if place in kept]


def _spread(launches: Sequence[Place]) -> list[Place]:
    """Middle, first and last, the most typical one first, each once."""
    picks = [(len(launches) - 1) // 2, 0, len(launches) - 1]
    return [launches[pick] for pick in dict.fromkeys(picks)]


def selections(launches: Sequence[ListedLaunch], chosen: Sequence[Place]) -> list[Selection]:
    """The runs of ncu that reach the chosen launches, the one with the most launches first, at most MAX_RUNS.

    Kernels share a run where together they meet no launch more than was chosen; a run's cost is a start of the program.
    """
    everything = places(launches)
    if set(everything) == set(chosen):
        return [Selection(None, (), tuple(everything), frozenset(chosen))]
    counts: dict[str, int] = {}
    for place in everything:
        counts[place.mangled] = place.invocation
    groups: list[tuple[set[str], set[int]]] = []
    for name, own in _wanted(chosen).items():
        fitting = (group for group in groups if _fits(group, name, own, counts))
        if (group := next(fitting, None)) is None:
            groups.append(({name}, set(own)))
        else:
            group[0].add(name)
            group[1].update(own)
    found = [_selection(kernels, invocations, everything, chosen) for kernels, invocations in groups]
    return sorted(found, key=lambda run: -len(run.kept))[:MAX_RUNS]


def _wanted(chosen: Sequence[Place]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for place in chosen:
        found.setdefault(place.mangled, set()).add(place.invocation)
    return dict(sorted(found.items(), key=lambda item: -max(item[1])))


def _met(invocations: set[int], count: int) -> set[int]:
    return {number for number in invocations if number <= count}


def _fits(group: tuple[set[str], set[int]], name: str, own: set[int], counts: Mapping[str, int]) -> bool:
    """Whether every kernel would meet exactly its own launches under one expression for all of them."""
    kernels, invocations = group
    wanted = {**{kernel: _met(invocations, counts[kernel]) for kernel in kernels}, name: own}
    return all(_met(invocations | own, counts[kernel]) == numbers for kernel, numbers in wanted.items())


def _selection(
    kernels: set[str], invocations: set[int], everything: Sequence[Place], chosen: Sequence[Place]
) -> Selection:
    expected = tuple(
        place for place in everything if place.mangled in kernels and place.invocation in invocations
    )
    return Selection(
        tuple(sorted(kernels)), tuple(sorted(invocations)), expected, frozenset(chosen) & set(expected)
    )
