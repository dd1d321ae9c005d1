"""The launcher's job: what `job.json` holds, and the launches of a program bound to buffers."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .device import Device, Launch, Module


@dataclass(frozen=True)
class Array:
    """One array of a data set: its bytes in `inputs.bin` where it has given contents, None where it is only written."""

    name: str
    size_bytes: int
    role: str
    offset: int | None


class Job:
    """A parsed job: programs (launch lists), data sets, trials, timing. `data` is all of `inputs.bin`, `tables` of
    `scalars`: the bytes of each scalar of each set."""

    def __init__(self, path: Path) -> None:
        held = json.loads(path.read_bytes())
        self.programs: dict[str, dict[str, Any]] = held["programs"]
        self.sets: list[dict[str, Any]] = held["sets"]
        self.trials: list[dict[str, Any]] = held["trials"]
        self.timing: dict[str, Any] | None = held.get("timing")
        self.debug: bool = held.get("debug", False)
        self._folder = path.parent
        inputs = self._folder / "inputs.bin"
        self.data = memoryview(bytearray(inputs.read_bytes() if inputs.is_file() else b""))

    def image(self, program: str) -> bytes:
        """The cubin of a program."""
        return (self._folder / self.programs[program]["cubin"]).read_bytes()

    def arrays(self, number: int) -> list[Array]:
        """The arrays of a data set."""
        return [
            Array(name, int(size), role, offset) for name, size, role, offset in self.sets[number]["arrays"]
        ]

    def content(self, array: Array) -> memoryview:
        """The given contents of an array."""
        start = array.offset or 0
        return self.data[start : start + array.size_bytes]

    def bind(self, program: str, module: Module, number: int, addresses: dict[str, int]) -> list[Launch]:
        """The launches of a program on a data set whose arrays, and the program's scratch, lie at these addresses."""
        scalars = {name: bytes.fromhex(value) for name, value in self.sets[number]["scalars"].items()}
        launches: list[Launch] = []
        for spec in self.programs[program]["launches"][self.sets[number]["sizes"]]:
            values = [_value(argument, addresses, scalars) for argument in spec["arguments"]]
            function = module.function(spec["kernel"], int(spec.get("shared_bytes", 0)))
            launches.append(Launch(function, spec, values))
        return launches

    def scratch(self, program: str, number: int) -> dict[str, int]:
        """The scratch arrays of a program on a data set: bytes by name."""
        sizes: dict[str, int] = self.programs[program]["scratch"][self.sets[number]["sizes"]]
        return sizes


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
