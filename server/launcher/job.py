"""The launcher's job: what `job.json` holds, and the launches of a program bound to buffers."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .device import Device, Launch, Module

ALIGN = 256


@dataclass(frozen=True)
class Array:
    """One array of a data set: its bytes in `inputs.bin` where it has given contents, None where it is only written."""

    name: str
    size_bytes: int
    role: str
    offset: int | None


class Job:
    """A parsed job: programs (launch lists by sizes), data sets, trials, timing. `data` is all of `inputs.bin`."""

    def __init__(self, path: Path) -> None:
        held = json.loads(path.read_bytes())
        self.programs: dict[str, dict[str, Any]] = held["programs"]
        self.sets: list[dict[str, Any]] = held["sets"]
        self.trials: list[dict[str, Any]] = held["trials"]
        self.timing: dict[str, Any] | None = held["timing"]
        self.debug: bool = held["debug"]
        self._folder = path.parent
        self._data = memoryview(bytearray((self._folder / "inputs.bin").read_bytes()))
        self._images: dict[str, bytes] = {}
        self._arrays = [[Array(*array) for array in one["arrays"]] for one in self.sets]
        self._scalars = [
            {name: bytes.fromhex(value) for name, value in one["scalars"].items()} for one in self.sets
        ]

    def image(self, program: str) -> bytes:
        """The cubin of a program."""
        if program not in self._images:
            self._images[program] = (self._folder / self.programs[program]["cubin"]).read_bytes()
        return self._images[program]

    def arrays(self, number: int) -> list[Array]:
        """The arrays of a data set."""
        return self._arrays[number]

    def scalars(self, number: int) -> dict[str, bytes]:
        """The scalars of a data set, packed."""
        return self._scalars[number]

    def content(self, array: Array) -> memoryview:
        """The given contents of an array."""
        start = array.offset or 0
        return self._data[start : start + array.size_bytes]

    def launches(self, program: str, number: int) -> list[dict[str, Any]]:
        """The launches of a program on a data set, as declared."""
        held: list[dict[str, Any]] = self.programs[program]["launches"][self.sets[number]["sizes"]]
        return held

    def bind(self, program: str, module: Module, number: int, addresses: dict[str, int]) -> list[Launch]:
        """The launches of a program on a data set whose arrays, and the program's scratch, lie at these addresses."""
        launches: list[Launch] = []
        for spec in self.launches(program, number):
            values = [_value(argument, addresses, self._scalars[number]) for argument in spec["arguments"]]
            launches.append(Launch(module.function(spec["kernel"], spec["shared_bytes"]), spec, values))
        return launches

    def scratch(self, program: str, number: int) -> dict[str, int]:
        """The scratch arrays of a program on a data set: bytes by name."""
        sizes: dict[str, int] = self.programs[program]["scratch"][self.sets[number]["sizes"]]
        return sizes

    def mark(self, doing: str) -> None:
        """Leave word of what is being done, for the case that it never ends."""
        (self._folder / "doing.txt").write_text(doing)


def _value(argument: list[str], addresses: dict[str, int], scalars: dict[str, bytes]) -> bytes:
    kind, text = argument
    if kind == "array":
        return addresses[text].to_bytes(8, "little")
    if kind == "scalar":
        return scalars[text]
    return bytes.fromhex(text)


def run_all(device: Device, launches: list[Launch]) -> None:
    """Put launches into the stream in order."""
    for launch in launches:
        launch.run(device.stream)


def aligned(size_bytes: int) -> int:
    """A size rounded up to the alignment that every array gets."""
    return size_bytes + -size_bytes % ALIGN
