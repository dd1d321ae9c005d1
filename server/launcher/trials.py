"""Verification trials: run a program once on a data set, outputs poisoned, arrays guarded, and keep the outputs."""

from pathlib import Path
from typing import Any, BinaryIO

from .device import Device, DriverError, Module
from .job import Job, aligned, run_all

GUARD_BYTES = 4096
GUARD_BYTE = 0xA5


class Outputs:
    """`outputs.bin`, written array by array; each write returns its (offset, size)."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("wb")

    def write(self, content: bytes | bytearray) -> list[int]:
        """Append an array."""
        offset = self._file.tell()
        self._file.write(content)
        return [offset, len(content)]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Places:
    """Where the arrays of one trial lie: between guards in one piece of memory, or each in its own exact allocation.

    A debugging job takes exact, unguarded, unpoisoned allocations, so that a sanitizer sees overruns and uninitialised
    reads; else guards stand around every array, scratch arrays too, and everything is poisoned.
    """

    def __init__(self, device: Device, sizes: dict[str, int], poison: int, *, exact: bool) -> None:
        self._device = device
        self._sizes = sizes
        self.addresses: dict[str, int] = {}
        if exact:
            self._held = {name: device.allocate(size) for name, size in sizes.items()}
            self.addresses.update(self._held)
            return
        whole = sum(aligned(size) + GUARD_BYTES for size in sizes.values()) + GUARD_BYTES
        start = device.allocate(whole)
        self._held = {"": start}
        device.fill(start, GUARD_BYTE, whole)
        start += GUARD_BYTES
        for name, size in sizes.items():
            self.addresses[name] = start
            device.fill(start, poison, size)
            start += aligned(size) + GUARD_BYTES

    def overrun(self) -> list[str]:
        """The arrays around which a guard is no longer what it was."""
        if "" not in self._held:
            return []
        found: list[str] = []
        for name, size in self._sizes.items():
            before = self._device.download(self.addresses[name] - GUARD_BYTES, GUARD_BYTES)
            after = self._device.download(self.addresses[name] + size, GUARD_BYTES)
            if before.count(GUARD_BYTE) + after.count(GUARD_BYTE) < 2 * GUARD_BYTES:
                found.append(name)
        return found

    def free(self) -> None:
        """Give all of it back."""
        for address in self._held.values():
            self._device.free(address)


def run_trial(
    device: Device, job: Job, trial: dict[str, Any], outputs: Outputs
) -> tuple[dict[str, Any], bool]:
    """Run one trial: its status, outputs, which arrays were overrun or changed; and whether the context is lost."""
    program, number = trial["program"], int(trial["set"])
    sizes = {array.name: array.size_bytes for array in job.arrays(number)} | job.scratch(program, number)
    try:
        places = Places(device, sizes, int(trial["poison"]), exact=job.debug)
        module = Module(job.image(program))
        for array in job.arrays(number):
            if array.offset is not None:
                device.upload(places.addresses[array.name], job.content(array))
        launches = job.bind(program, module, number, places.addresses)
        device.wait()
        run_all(device, launches)
        device.wait()
        result = _collect(device, job, number, places.addresses, outputs)
        result["overrun"] = places.overrun()
        module.unload()
        places.free()
    except DriverError as error:
        return {"status": "failed", "error": error.name, "call": str(error)}, error.sticky
    return result, False


def _collect(
    device: Device, job: Job, number: int, addresses: dict[str, int], outputs: Outputs
) -> dict[str, Any]:
    kept: dict[str, list[int]] = {}
    changed: list[str] = []
    for array in job.arrays(number):
        if array.role != "in":
            kept[array.name] = outputs.write(device.download(addresses[array.name], array.size_bytes))
        elif bytes(device.download(addresses[array.name], array.size_bytes)) != bytes(job.content(array)):
            changed.append(array.name)
    return {"status": "ran", "outputs": kept, "changed": changed}
