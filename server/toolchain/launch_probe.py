"""The launch probe: how it is built and linked into a program, and how the table that it leaves is read.

It is not a program of its own: `launch_probe.c` counts, inside the program, every kernel launch that goes through the
CUDA runtime or the driver, with its configuration and error. Addresses are offsets from the executable's start; whose
they are, `analysis.host_lines` tells.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..command import Command, Input
from ..errors import UnreadableOutput

SOURCE_NAME = "launch_probe.c"
OBJECT_NAME = "launch_probe.o"
TABLE_NAME = "launches.bin"
_WRAPPED = (
    "__cudaGetKernel",
    "cudaLaunchKernel",
    "cudaLaunchKernel_ptsz",
    "__cudaLaunchKernel",
    "__cudaLaunchKernel_ptsz",
    "cudaLaunchCooperativeKernel",
    "cudaLaunchCooperativeKernel_ptsz",
    "cudaLaunchKernelExC",
    "cudaLaunchKernelExC_ptsz",
    "cudaGraphAddKernelNode",
    "cudaGraphLaunch",
    "cudaGraphLaunch_ptsz",
    "cuGraphLaunch",
    "cudaStreamBeginCapture",
    "cudaStreamBeginCapture_ptsz",
    "cudaStreamBeginCaptureToGraph",
    "cudaStreamBeginCaptureToGraph_ptsz",
    "cudaStreamEndCapture",
    "cudaStreamEndCapture_ptsz",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuLaunchCooperativeKernel",
)
# The object goes to the linker alone: nvcc's own -x would have it compiled.
LINK_ARGUMENTS: tuple[str, ...] = (
    f"-Xlinker={OBJECT_NAME}," + ",".join(f"--wrap={name}" for name in _WRAPPED),
)

_MAGIC = b"WWLAUNCH"
_HEADER = struct.Struct("<8sII7QQ")
_SLOT = struct.Struct("<IIii q 8q QQ 6I Q 6I Q")
HEADER_BYTES, SLOT_BYTES, SLOTS = _HEADER.size, _SLOT.size, 512
_READY = 2
_UNKNOWN = -(2**63)
_MAX_SLOTS = 1 << 16

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A launch configuration: blocks, threads per block, dynamic shared bytes per block."""

    grid: Dim3
    block: Dim3
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class Launch:
    """Launches of one kernel with one outcome: `error` is the cudaError_t (0: accepted), `last` the latest's order.

    `function` is the host function's offset, None where only its frames are known; `sites` are the return offsets of the
    first such call, innermost first. A captured launch stands in a graph and ran only if the graph was launched.
    """

    function: int | None
    sites: tuple[int, ...]
    error: int
    captured: bool
    count: int
    last: int
    first: Configuration
    latest: Configuration


@dataclass(frozen=True, slots=True)
class LaunchTable:
    """All launches of one run. `lost` counts those for which the table had no room left."""

    launches: tuple[Launch, ...]
    launched: int
    failed: int
    graph_launches: int
    graph_failures: int
    driver_launches: int
    driver_failures: int
    lost: int

    @property
    def ran_anything(self) -> bool:
        """Whether any launch was accepted that really runs: a captured one counts only with its graph's launch."""
        direct = any(not launch.error and not launch.captured for launch in self.launches)
        return direct or self.graph_launches > 0 or self.driver_launches > 0 or self.lost > 0


def source() -> bytes:
    """The probe's C source."""
    return Path(__file__).with_name(SOURCE_NAME).read_bytes()


def command(source_input: Input) -> Command:
    """Compile the probe to `launch_probe.o`, apart from any user's flags; `source_input` is its kept source."""
    return Command(
        program="nvcc",
        arguments=("-c", "-O2", "-Xcompiler=-fPIC", "-o", OBJECT_NAME, SOURCE_NAME),
        inputs={SOURCE_NAME: source_input},
        outputs=(OBJECT_NAME,),
        kind="compile",
        timeout_s=60.0,
    )


def parse(content: bytes) -> LaunchTable:
    """Read a table. Raises UnreadableOutput for anything that the probe did not write."""
    if len(content) < _HEADER.size or not content.startswith(_MAGIC):
        raise UnreadableOutput("not a launch table", content[:40])
    _, slot_bytes, slots, *tallies, _ = _HEADER.unpack_from(content)
    if (
        slot_bytes != _SLOT.size
        or not 0 < slots <= _MAX_SLOTS
        or len(content) < _HEADER.size + slots * slot_bytes
    ):
        raise UnreadableOutput(
            f"a launch table of {slots} slots of {slot_bytes} bytes in {len(content)} bytes"
        )
    return LaunchTable(tuple(_merged(_launches(content, slots))), *tallies)


def _launches(content: bytes, slots: int) -> Iterator[Launch]:
    for index in range(slots):
        values = _SLOT.unpack_from(content, _HEADER.size + index * _SLOT.size)
        state, captured, error, _, function, *rest = values
        if state != _READY:
            continue
        sites, (count, last), configurations = rest[:8], rest[8:10], rest[10:]
        yield Launch(
            function=None if function == _UNKNOWN else function,
            sites=tuple(site for site in sites if site != _UNKNOWN),
            error=error,
            captured=bool(captured),
            count=count,
            last=last,
            first=_configuration(configurations[:7]),
            latest=_configuration(configurations[7:]),
        )


def _configuration(values: list[int]) -> Configuration:
    return Configuration((values[0], values[1], values[2]), (values[3], values[4], values[5]), values[6])


def _merged(launches: Iterator[Launch]) -> Iterator[Launch]:
    """In the order of their latest call; a race for a slot can leave two for one key, which are told as one."""
    found: dict[object, Launch] = {}
    for launch in sorted(launches, key=lambda launch: launch.last):
        accepted = launch.function is not None and not launch.error
        key = (launch.function, launch.error, launch.captured, () if accepted else launch.sites)
        held = found.pop(key, None)
        found[key] = launch if held is None else _joined(held, launch)
    yield from found.values()


def _joined(older: Launch, newer: Launch) -> Launch:
    return Launch(
        older.function,
        older.sites,
        older.error,
        older.captured,
        older.count + newer.count,
        newer.last,
        older.first,
        newer.latest,
    )
