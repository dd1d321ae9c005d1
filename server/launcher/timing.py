"""Timed blocks: programs in random order on the same arrays, every timed output told by its digest.

Before each timed call: everything cleared, fresh contents at another address, the persisting L2 lines reset, a memset of
twice the L2 and a read of twice the L2, so that neither pinned lines nor dirty ones are charged to the call. Modules are
loaded anew for each block, and a block takes each data set once: a device global has nothing to remember.
"""

import math
import time
from typing import Any

from .device import Device, DriverError, Launch, Module, call, cuda
from .job import Job, run_all
from .rig import Rig
from .trials import Outputs

GRAPH_FROM = 4
MAX_KEPT_BYTES = 256 << 20
_ENOUGH_PAIRS = 10


class Seen:
    """The outputs of timed calls: each distinct one is kept once, for the judge to compare; the others are counted."""

    def __init__(self, rig: Rig, outputs: Outputs) -> None:
        self._rig = rig
        self._outputs = outputs
        self._kept: dict[tuple[str, int, str], dict[str, Any]] = {}
        self._bytes = 0
        self.changed: dict[str, list[str]] = {}

    @property
    def full(self) -> bool:
        """Whether no further distinct output could be kept: then no further call may be timed."""
        return self._bytes > MAX_KEPT_BYTES

    def note(self, program: str, number: int, addresses: dict[str, int]) -> None:
        """Take note of what a call left."""
        digests, changed = self._rig.digests(number, addresses)
        if changed:
            self.changed[program] = sorted({*changed, *self.changed.get(program, ())})
        key = (program, number, ".".join(digests))
        if key not in self._kept:
            written = [array for array in self._rig.job.arrays(number) if array.role != "in"]
            contents = {
                array.name: self._rig.device.download(addresses[array.name], array.size_bytes)
                for array in written
            }
            self._bytes += sum(map(len, contents.values()))
            kept = {name: self._outputs.write(content) for name, content in contents.items()}
            self._kept[key] = {"program": program, "set": number, "count": 0, "outputs": kept}
        self._kept[key]["count"] += 1

    def listed(self) -> list[dict[str, Any]]:
        """All of them, in the order in which they were first seen."""
        return list(self._kept.values())


class Block:
    """One timed block: freshly loaded modules, two places, launches bound (many as a graph) once for each."""

    def __init__(self, rig: Rig, programs: list[str]) -> None:
        self.rig = rig
        self._modules = {program: Module(rig.job.image(program)) for program in programs}
        self._places = [rig.choose(rig.places) for _ in range(2)]
        self._bound: dict[tuple[str, int, tuple[bytes, ...]], tuple[list[Launch], Any]] = {}

    def place(self) -> int:
        """One of its places."""
        return self._places[self.rig.choose(2)]

    def call(self, program: str, number: int, place: int) -> tuple[float, dict[str, int]]:
        """One cold call: its microseconds by the GPU's events, and where its arrays lie."""
        rig, device = self.rig, self.rig.device
        addresses = rig.addresses(program, place)
        launches, graph = self._ready(program, number, place, addresses)
        rig.fill(number, addresses)
        rig.clear_cache()
        begin, end = rig.events
        device.record(begin)
        _start(device, launches, graph)
        device.record(end)
        device.wait()
        return round(device.elapsed_us(begin, end), 3), addresses

    def warm(self, program: str) -> list[float]:
        """[microseconds by events, by the host's clock] of a call after another on the same data, GPU idle before."""
        rig, device = self.rig, self.rig.device
        number, place = rig.numbers[0], self._places[0]
        addresses = rig.addresses(program, place)
        launches, graph = self._ready(program, number, place, addresses)
        begin, end = rig.events
        wall_us = 0.0
        for _ in range(2):
            rig.fill(number, addresses)
            device.wait()
            began = time.perf_counter()
            device.record(begin)
            _start(device, launches, graph)
            device.record(end)
            device.wait()
            wall_us = (time.perf_counter() - began) * 1e6
        return [round(device.elapsed_us(begin, end), 3), round(wall_us, 1)]

    def _ready(
        self, program: str, number: int, place: int, addresses: dict[str, int]
    ) -> tuple[list[Launch], Any]:
        key = (program, place, tuple(self.rig.job.scalars(number).values()))
        if key not in self._bound:
            launches = self.rig.job.bind(program, self._modules[program], number, addresses)
            graph = _captured(self.rig.device, launches) if len(launches) >= GRAPH_FROM else None
            self._bound[key] = launches, graph
        return self._bound[key]

    def end(self) -> None:
        """Give back what it took."""
        for _, graph in self._bound.values():
            if graph is not None:
                call("cuGraphExecDestroy", graph)
        for module in self._modules.values():
            module.unload()


def time_programs(device: Device, job: Job, trusted: bytes, outputs: Outputs) -> dict[str, Any]:
    """Time in blocks until the width asked for, the time or the number of pairs is reached; returns every sample.

    A sample is [program, set, place, cold microseconds]; samples of one pair follow each other. Where a call fails the
    result is {error, call, program}.
    """
    assert job.timing is not None
    started = time.perf_counter()
    rig = Rig(device, job, trusted)
    seen = Seen(rig, outputs)
    programs = list(job.programs)
    samples: list[list[Any]] = []
    warm: dict[str, list[list[float]]] = {program: [] for program in programs}
    doing = programs[0]
    try:
        while not (stopped := _stopped(job.timing, programs, samples, seen, time.perf_counter() - started)):
            block = Block(rig, programs)
            for number in rig.shuffled(rig.numbers):  # each once: within a block nothing can be replayed
                place = block.place()
                for doing in rig.shuffled(programs):
                    cold_us, addresses = block.call(doing, number, place)
                    samples.append([doing, number, place, cold_us])
                    seen.note(doing, number, addresses)
            for doing in programs:
                warm[doing].append(block.warm(doing))
            block.end()
        tampered = rig.tampered()
    except DriverError as error:
        return {"error": error.name, "call": str(error), "program": doing}
    return {
        "samples": samples,
        "warm": warm,
        "outputs": seen.listed(),
        "changed": seen.changed,
        "tampered": tampered,
        "stopped": stopped,
        "seconds": time.perf_counter() - started,
    }


def _stopped(
    asked: dict[str, Any], programs: list[str], samples: list[list[Any]], seen: Seen, seconds: float
) -> str:
    """Why timing ends here, or nothing; it depends on how wide the interval is, never on where it lies."""
    pairs = len(samples) // len(programs)
    if pairs >= asked["max_pairs"]:
        return "pairs"
    if seen.full and pairs:
        return "outputs"
    if pairs >= _ENOUGH_PAIRS and seconds > asked["max_s"]:
        return "time"
    if pairs >= asked["min_pairs"] and _width(samples, programs) < asked["width"]:
        return "width"
    return ""


def _width(samples: list[list[Any]], programs: list[str]) -> float:
    """About the width of the log ratio's 95 % interval, from the quartiles of the pairs (of the times of one program)."""
    by_program = [[math.log(one[3]) for one in samples if one[0] == program] for program in programs]
    first = by_program[0]
    values = sorted(
        first if len(by_program) == 1 else [one - other for one, other in zip(*by_program, strict=True)]
    )
    spread: float = values[3 * len(values) // 4] - values[len(values) // 4]
    return 2 * 1.57 * spread / math.sqrt(len(values))


def _captured(device: Device, launches: list[Launch]) -> Any:
    """Many launches as one graph, so that the gaps between them are the GPU's and not Python's."""
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
