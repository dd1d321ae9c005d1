"""The memory of a timed run: one piece that the launcher owns whole, cleared before each call, and its digests.

Given contents, places to run at, the buffer that flushes the L2 and the sums of the digests lie in one allocation of
whole pages: there is no corner in it where a kernel could keep a result for a later call.
"""

import random
from typing import TypeVar

from .device import Device, Launch, Module, call
from .job import Job, aligned

Thing = TypeVar("Thing")
PAGE_BYTES = 2 << 20
_MOST_OF_FREE = 0.8
_READ = {"grid": [528, 1, 1], "block": [512, 1, 1]}
_DIGEST = {"grid": [264, 1, 1], "block": [256, 1, 1]}


class Rig:
    """Everything that timed calls share. `places` are as many as asked for and as memory allows."""

    def __init__(self, device: Device, job: Job, trusted: bytes) -> None:
        assert job.timing is not None
        self.device, self.job = device, job
        self.numbers: list[int] = job.timing["sets"]
        self._read_flush: bool = job.timing["flush"] == "read"
        self._random = random.SystemRandom()
        self._salt = self._word(self._random.getrandbits(64))
        self._trusted = Module(trusted)
        self._scratch = {program: job.scratch(program, self.numbers[0]) for program in job.programs}
        self._sizes = {array.name: array.size_bytes for array in job.arrays(self.numbers[0])}
        self._carve(int(job.timing["places"]))
        self._load()
        self.events = (device.event(), device.event())

    def _carve(self, places: int) -> None:
        most_scratch = max(sum(map(aligned, sizes.values())) for sizes in self._scratch.values())
        self._room = aligned(sum(map(aligned, self._sizes.values())) + most_scratch)
        given = [
            (number, array)
            for number in self.numbers
            for array in self.job.arrays(number)
            if array.offset is not None
        ]
        self._flush_bytes = 2 * self.device.l2_bytes
        fixed = sum(aligned(array.size_bytes) for _, array in given) + aligned(self._flush_bytes) + PAGE_BYTES
        fitting = int((self.device.free_bytes() * _MOST_OF_FREE - fixed) // self._room)
        self.places = max(1, min(places, fitting))
        whole = fixed + self._room * self.places
        cursor = self.device.allocate(whole + -whole % PAGE_BYTES)
        self._sums = cursor
        cursor += aligned(8 * max(len(self._sizes), 1))
        self._flush = cursor
        cursor += aligned(self._flush_bytes)
        self._given: dict[int, dict[str, int]] = {number: {} for number in self.numbers}
        for number, array in given:
            self._given[number][array.name] = cursor
            cursor += aligned(array.size_bytes)
        self._places = cursor

    def _load(self) -> None:
        for number in self.numbers:
            for array in self.job.arrays(number):
                if array.offset is not None:
                    self.device.upload(self._given[number][array.name], self.job.content(array))
        words = [self._word(self._flush), self._word(self._flush_bytes // 16), self._word(self._sums)]
        self._reading = Launch(self._trusted.function("read", 0), _READ, words)
        self._untouched = {number: self._digests(number, self._given[number]) for number in self.numbers}

    @staticmethod
    def _word(value: int) -> bytes:
        return value.to_bytes(8, "little")

    def addresses(self, program: str, place: int) -> dict[str, int]:
        """Where the arrays and the scratch of a program lie at a place."""
        cursor = self._places + place * self._room
        found: dict[str, int] = {}
        for name, size in (*self._sizes.items(), *self._scratch[program].items()):
            found[name] = cursor
            cursor += aligned(size)
        return found

    def fill(self, number: int, addresses: dict[str, int]) -> None:
        """Clear all places with an unforeseeable byte, then put the contents of a data set at these addresses."""
        self.device.fill(self._places, self._random.randrange(256), self._room * self.places)
        for array in self.job.arrays(number):
            if array.offset is not None:
                self.device.copy(addresses[array.name], self._given[number][array.name], array.size_bytes)

    def clear_cache(self) -> None:
        """Leave nothing of a call in L2: pinned lines reset, written over, and, unless told not to, read over."""
        call("cuCtxResetPersistingL2Cache")
        self.device.fill(self._flush, self._random.randrange(256), self._flush_bytes)
        if self._read_flush:
            self._reading.run(self.device.stream)

    def digests(self, number: int, addresses: dict[str, int]) -> tuple[list[str], list[str]]:
        """(digests of the arrays that are written, names of those that were only to be read and are changed)."""
        found = self._digests(number, addresses)
        changed = [
            array.name
            for array in self.job.arrays(number)
            if array.role == "in" and found[array.name] != self._untouched[number][array.name]
        ]
        return [found[array.name] for array in self.job.arrays(number) if array.role != "in"], changed

    def tampered(self) -> bool:
        """Whether the launcher's own copies of the inputs are no longer what was loaded."""
        return any(
            self._digests(number, self._given[number]) != self._untouched[number] for number in self.numbers
        )

    def _digests(self, number: int, addresses: dict[str, int]) -> dict[str, str]:
        """Salted 64-bit digests of the arrays at these addresses, by name, computed on the GPU."""
        arrays = [array for array in self.job.arrays(number) if array.name in addresses]
        self.device.fill(self._sums, 0, 8 * len(arrays))
        function = self._trusted.function("digest", 0)
        for slot, array in enumerate(arrays):
            values = (addresses[array.name], array.size_bytes)
            words = [*map(self._word, values), self._salt, self._word(self._sums + 8 * slot)]
            Launch(function, _DIGEST, words).run(self.device.stream)
        self.device.wait()
        sums = self.device.download(self._sums, 8 * len(arrays))
        return {array.name: sums[8 * slot : 8 * slot + 8].hex() for slot, array in enumerate(arrays)}

    def choose(self, count: int) -> int:
        """An unforeseeable number below `count`."""
        return self._random.randrange(count)

    def shuffled(self, things: list[Thing]) -> list[Thing]:
        """The same in an unforeseeable order."""
        return self._random.sample(things, len(things))
