"""Timed blocks: candidate and baseline in random order on the same arrays, every timed output told by its digest.

Before each timed call: fresh contents at another address, the persisting L2 lines reset, a memset of twice the L2
and a read of twice the L2, so that neither pinned lines nor dirty ones are charged to the call. Modules are loaded anew
for each block, so that a device global cannot remember.
"""

import random
import time
from typing import Any

from .device import Device, Launch, Module, call
from .job import Job, run_all
from .trials import Outputs

ALIGN = 256
GRAPH_FROM = 4
MAX_KEPT_MISMATCHES = 16


class Rig:
    """The arrays of a timed run: every data set's contents, some places to run at, the flush buffer, the digests."""

    def __init__(self, device: Device, job: Job, trusted: Module) -> None:
        assert job.timing is not None
        self.device, self.job = device, job
        self.numbers: list[int] = job.timing["sets"]
        self.places: int = job.timing["places"]
        self.read_flush: bool = job.timing["flush"] == "read"
        self._random = random.SystemRandom()
        self._trusted = trusted
        self._given = {number: self._load(number) for number in self.numbers}
        first = self.numbers[0]
        self.sizes = {array.name: array.size_bytes for array in job.arrays(first)}
        self.scratch = {program: job.scratch(program, first) for program in job.programs}
        room = sum(_aligned(size) for size in self.sizes.values())
        room += max(sum(_aligned(size) for size in sizes.values()) for sizes in self.scratch.values())
        self._room = room + ALIGN
        self._arena = device.allocate(self._room * self.places)
        self._flush_bytes = 2 * device.l2_bytes
        self._flush = device.allocate(self._flush_bytes)
        self._sum = device.allocate(16)
        self.events = [(device.event(), device.event()) for _ in range(2)]

    def _load(self, number: int) -> dict[str, int]:
        held: dict[str, int] = {}
        for array in self.job.arrays(number):
            if array.offset is not None:
                held[array.name] = self.device.allocate(array.size_bytes)
                self.device.upload(held[array.name], self.job.content(array))
        return held

    def addresses(self, program: str, place: int) -> dict[str, int]:
        """Where the arrays and the scratch of a program lie at a place."""
        cursor = self._arena + place * self._room
        cursor += -cursor % ALIGN
        found: dict[str, int] = {}
        for name, size in (*self.sizes.items(), *self.scratch[program].items()):
            found[name] = cursor
            cursor += _aligned(size)
        return found

    def fill(self, number: int, addresses: dict[str, int], poison: int) -> None:
        """Put the contents of a data set there, and poison what is only written."""
        for array in self.job.arrays(number):
            if array.offset is None:
                self.device.fill(addresses[array.name], poison, array.size_bytes)
            else:
                self.device.copy(addresses[array.name], self._given[number][array.name], array.size_bytes)

    def clear_cache(self) -> None:
        """Leave nothing of a call in L2."""
        call("cuCtxResetPersistingL2Cache")
        self.device.fill(self._flush, self._random.randrange(256), self._flush_bytes)
        if self.read_flush:
            function = self._trusted.function("read", 0)
            words = [self._flush, self._flush_bytes // 16, self._sum]
            spec = {"grid": [528, 1, 1], "block": [512, 1, 1]}
            Launch(function, spec, [word.to_bytes(8, "little") for word in words]).run(self.device.stream)

    def digest(self, address: int, size_bytes: int) -> str:
        """A 64-bit digest of device bytes in hex, its order-dependent sum computed on the GPU."""
        self.device.fill(self._sum, 0, 8)
        words = [address, size_bytes, self._sum]
        spec = {"grid": [264, 1, 1], "block": [256, 1, 1]}
        launch = Launch(
            self._trusted.function("digest", 0), spec, [word.to_bytes(8, "little") for word in words]
        )
        launch.run(self.device.stream)
        self.device.wait()
        return bytes(self.device.download(self._sum, 8)).hex()

    def choose(self, count: int) -> int:
        """An unpredictable number below `count`."""
        return self._random.randrange(count)

    def shuffled(self, items: list[str]) -> list[str]:
        """The items in unpredictable order."""
        return self._random.sample(items, len(items))


def time_programs(device: Device, job: Job, trusted: bytes, outputs: Outputs) -> dict[str, Any]:
    """Time in blocks until the width asked for, the time or the number of pairs is reached; returns every sample.

    A sample is [program, set, place, cold microseconds, wall microseconds]; samples of one pair follow each other.
    """
    assert job.timing is not None
    rig = Rig(device, job, Module(trusted))
    programs = list(job.programs)
    seen: dict[str, dict[str, Any]] = {}
    samples: list[list[Any]] = []
    warm: dict[str, list[float]] = {program: [] for program in programs}
    mismatches = 0
    started = time.perf_counter()
    budget_s, limit = float(job.timing["max_s"]), int(job.timing["max_pairs"])
    pairs = 0
    while pairs < limit and (pairs < job.timing["min_pairs"] or time.perf_counter() - started < budget_s):
        modules = {program: Module(job.image(program)) for program in programs}
        for _ in range(int(job.timing["block_pairs"])):
            number = rig.numbers[rig.choose(len(rig.numbers))]
            place = rig.choose(rig.places)
            for program in rig.shuffled(programs):
                sample, key, digest = _timed_call(rig, program, modules[program], number, place)
                samples.append(sample)
                mismatches += _note(rig, seen, key, digest, program, number, place, outputs)
            pairs += 1
        for program, module in modules.items():
            warm[program].append(_warm_call(rig, program, module, rig.numbers[0]))
            module.unload()
        if _narrow(samples, programs, float(job.timing["width"])) and pairs >= job.timing["min_pairs"]:
            break
    return {
        "samples": samples,
        "warm": warm,
        "outputs": list(seen.values()),
        "mismatches": mismatches,
        "pairs": pairs,
        "seconds": time.perf_counter() - started,
    }


def _timed_call(
    rig: Rig, program: str, module: Module, number: int, place: int
) -> tuple[list[Any], str, list[str]]:
    device = rig.device
    addresses = rig.addresses(program, place)
    poison = rig.choose(256)
    rig.fill(number, addresses, poison)
    launches = rig.job.bind(program, module, number, addresses)
    graph = _captured(device, launches) if len(launches) >= GRAPH_FROM else None
    rig.clear_cache()
    begin, end = rig.events[0]
    wall = time.perf_counter()
    device.record(begin)
    _start(device, launches, graph)
    device.record(end)
    device.wait()
    wall_us = (time.perf_counter() - wall) * 1e6
    if graph is not None:
        call("cuGraphExecDestroy", graph)
    written = [array for array in rig.job.arrays(number) if array.role != "in"]
    digest = [rig.digest(addresses[array.name], array.size_bytes) for array in written]
    sample = [program, number, place, round(device.elapsed_us(begin, end), 3), round(wall_us, 1)]
    return sample, f"{program}/{number}", digest


def _note(
    rig: Rig,
    seen: dict[str, dict[str, Any]],
    key: str,
    digest: list[str],
    program: str,
    number: int,
    place: int,
    outputs: Outputs,
) -> int:
    """Keep the first output of a program on a data set, and each later one that differs, for the judge to compare."""
    first = seen.get(key)
    if first is not None and first["digest"] == digest:
        first["count"] += 1
        return 0
    if first is not None:
        key = f"{key}/{'.'.join(digest)}"
        if key in seen:
            seen[key]["count"] += 1
            return 0
        if sum(held["repeat"] for held in seen.values()) >= MAX_KEPT_MISMATCHES:
            return 1
    addresses = rig.addresses(program, place)
    kept = {
        array.name: outputs.write(rig.device.download(addresses[array.name], array.size_bytes))
        for array in rig.job.arrays(number)
        if array.role != "in"
    }
    seen[key] = {
        "program": program,
        "set": number,
        "digest": digest,
        "count": 1,
        "repeat": first is not None,
        "outputs": kept,
    }
    return 0


def _warm_call(rig: Rig, program: str, module: Module, number: int) -> float:
    """One call right after another on the same data, caches as the first left them."""
    addresses = rig.addresses(program, 0)
    device, (begin, end) = rig.device, rig.events[1]
    launches = rig.job.bind(program, module, number, addresses)
    for _ in range(2):
        rig.fill(number, addresses, 0)
        device.record(begin)
        run_all(device, launches)
        device.record(end)
        device.wait()
    return round(device.elapsed_us(begin, end), 3)


def _captured(device: Device, launches: list[Launch]) -> Any:
    """Many launches as one graph, so that the gaps between them are the GPU's and not Python's."""
    from .device import cuda

    call("cuStreamBeginCapture", device.stream, cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
    run_all(device, launches)
    graph = call("cuStreamEndCapture", device.stream)
    executable = call("cuGraphInstantiate", graph, 0)
    call("cuGraphDestroy", graph)
    call("cuGraphUpload", executable, device.stream)
    return executable


def _start(device: Device, launches: list[Launch], graph: Any) -> None:
    if graph is None:
        run_all(device, launches)
    else:
        call("cuGraphLaunch", graph, device.stream)


def _narrow(samples: list[list[Any]], programs: list[str], width: float) -> bool:
    """Whether the interval of the ratio is narrow enough, by the spread of the pairs; never by where it lies."""
    if len(programs) < 2 or len(samples) < 40:
        return len(programs) < 2 and len(samples) >= 20
    import numpy

    ratios: list[float] = []
    for first, second in zip(samples[::2], samples[1::2], strict=True):
        one, other = (first, second) if first[0] == programs[0] else (second, first)
        ratios.append(one[3] / other[3])
    logs = numpy.log(ratios)
    low, high = numpy.percentile(logs, (25, 75))
    return 2 * 1.57 * float(high - low) / len(ratios) ** 0.5 < width


def _aligned(size_bytes: int) -> int:
    return size_bytes + -size_bytes % ALIGN
