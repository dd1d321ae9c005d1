"""Verification trials: run a program once on a data set, outputs poisoned, arrays guarded, and keep the outputs."""

from pathlib import Path
from typing import Any, BinaryIO

from .device import Device, DriverError, Module
from .job import Job, run_all

GUARD_BYTES = 512
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


def run_trial(device: Device, job: Job, trial: dict[str, Any], outputs: Outputs) -> dict[str, Any]:
    """Run one trial; returns its status, outputs, and which arrays were overrun or changed though only read.

    In a debugging job every array is its own exact allocation, unguarded and unpoisoned, so that a sanitizer sees
    overruns and uninitialised reads.
    """
    program, number = trial["program"], int(trial["set"])
    guard = 0 if job.debug else GUARD_BYTES
    arrays = job.arrays(number)
    sizes = {array.name: array.size_bytes for array in arrays} | job.scratch(program, number)
    held: dict[str, int] = {}
    try:
        module = Module(job.image(program))
        for name, size in sizes.items():
            held[name] = device.allocate(size + 2 * guard)
            device.fill(held[name], GUARD_BYTE, guard)
            device.fill(held[name] + guard + size, GUARD_BYTE, guard)
        addresses = {name: start + guard for name, start in held.items()}
        for array in arrays:
            if array.offset is not None:
                device.upload(addresses[array.name], job.content(array))
            elif not job.debug:
                device.fill(addresses[array.name], int(trial["poison"]), array.size_bytes)
        if not job.debug:
            for name, size in job.scratch(program, number).items():
                device.fill(addresses[name], int(trial["poison"]), size)
        device.wait()
        run_all(device, job.bind(program, module, number, addresses))
        device.wait()
        result = _collect(device, job, number, addresses, outputs)
        result["overrun"] = [
            name for name, size in sizes.items() if guard and _overrun(device, held[name], size)
        ]
        module.unload()
    except DriverError as error:
        return {"status": "failed", "error": error.name, "call": str(error), "sticky": error.sticky}
    for address in held.values():
        device.free(address)
    return result


def _collect(
    device: Device, job: Job, number: int, addresses: dict[str, int], outputs: Outputs
) -> dict[str, Any]:
    kept: dict[str, list[int]] = {}
    changed: list[str] = []
    for array in job.arrays(number):
        if array.role == "in":
            if bytes(device.download(addresses[array.name], array.size_bytes)) != bytes(job.content(array)):
                changed.append(array.name)
        else:
            kept[array.name] = outputs.write(device.download(addresses[array.name], array.size_bytes))
    return {"status": "ran", "outputs": kept, "changed": changed}


def _overrun(device: Device, start: int, size_bytes: int) -> bool:
    guard = bytes([GUARD_BYTE]) * GUARD_BYTES
    after = device.download(start + GUARD_BYTES + size_bytes, GUARD_BYTES)
    return bytes(device.download(start, GUARD_BYTES)) != guard or bytes(after) != guard
