"""A machine without a GPU that debugs: programs are built and started for real, what needs the GPU comes from files.

The sanitizer reports are an H200's (tests/recordings/h200_raw), made from other builds of the same sources, so their host
addresses belong to no executable here. A program started without a GPU leaves a true table of its launches, all refused
for want of a device; `refused_as` writes the outcome that the H200 gave in their place.
"""

import gzip
import io
import struct
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from warpwise.server.client import Client
from warpwise.server.command import Command, Environment, File, Finished
from warpwise.server.config import Config
from warpwise.server.errors import WarpwiseError
from warpwise.server.runner import LocalRunner, Runner
from warpwise.server.services import open_services
from warpwise.server.toolchain import launch_probe, sanitizer
from warpwise.server.workbench import Services, Workbench

KERNELS = Path(__file__).parents[1] / "kernels"
RAW = Path(__file__).parents[1] / "recordings" / "h200_raw"
H200 = Environment({"compute-sanitizer": "2025.3.1.0", "GPU": "NVIDIA H200", "driver": "580.159.03"})
CLEAN = "clean_memcheck"
NO_DEVICE = (35, 100)


def raw(name: str) -> bytes:
    """One of the H200's outputs."""
    return gzip.decompress((RAW / f"{name}.gz").read_bytes())


def refused_as(table: bytes, error: int) -> bytes:
    """A launch table with every refusal for want of a device turned into this outcome (0: accepted)."""
    content = bytearray(table)
    moved = 0
    for index in range(launch_probe.SLOTS):
        offset = launch_probe.HEADER_BYTES + index * launch_probe.SLOT_BYTES
        state, _, found = struct.unpack_from("<IIi", content, offset)
        if state and found in NO_DEVICE:
            struct.pack_into("<i", content, offset + 8, error)
            moved += 1
    if not error:
        launched, failed = struct.unpack_from("<QQ", content, 16)
        struct.pack_into("<QQ", content, 16, launched + failed, 0)
    return bytes(content)


def launched(executable: bytes, *kernels: tuple[str, tuple[int, int, int], tuple[int, int, int]]) -> bytes:
    """The table of a program whose (linker name, grid, block) launches were accepted: for one that ends here before."""
    elf: Any = ELFFile(io.BytesIO(executable))
    symbols = elf.get_section_by_name(".symtab")
    slots = b""
    for order, (name, grid, block) in enumerate(kernels, 1):
        function = symbols.get_symbol_by_name(name)[0]["st_value"]
        configuration = struct.pack("<6IQ", *grid, *block, 0)
        unknown = struct.pack("<8q", *[-(2**63)] * 8)
        slots += (
            struct.pack("<IIiiq", 2, 0, 0, 0, function)
            + unknown
            + struct.pack("<QQ", 1, order)
            + 2 * configuration
        )
    header = struct.pack(
        "<8sII7QQ", b"WWLAUNCH", launch_probe.SLOT_BYTES, launch_probe.SLOTS, len(kernels), *[0] * 7
    )
    return (header + slots).ljust(
        launch_probe.HEADER_BYTES + launch_probe.SLOTS * launch_probe.SLOT_BYTES, b"\0"
    )


@dataclass
class Shelf:
    """A runner: `reports` names the H200 output for each sanitizer, `outcomes` what a program's run is instead."""

    inner: Runner
    local: LocalRunner
    services: Services
    reports: dict[str, str] = field(default_factory=dict[str, str])
    files: dict[str, Mapping[str, bytes]] = field(default_factory=dict[str, Mapping[str, bytes]])
    outcomes: dict[str, Callable[[Finished], Finished] | WarpwiseError] = field(
        default_factory=dict[str, Callable[[Finished], Finished] | WarpwiseError]
    )
    launch_error: int = 0
    launches: tuple[tuple[str, tuple[int, int, int], tuple[int, int, int]], ...] = ()
    asked: list[Command] = field(default_factory=list[Command])

    async def run(self, command: Command) -> Finished:
        self.asked.append(command)
        name = _name(command)
        outcome = self.outcomes.get(name)
        if isinstance(outcome, WarpwiseError):
            raise outcome
        if command.program == "./program":
            finished = await self._program(command)
        elif command.program in ("compute-sanitizer", "cuda-gdb"):
            finished = self._from_files(name, command)
        else:
            return await self.inner.run(command)
        return outcome(finished) if outcome else finished

    async def _program(self, command: Command) -> Finished:
        finished = await self.local.run(command)
        table = finished.files.get(launch_probe.TABLE_NAME)
        files = dict(finished.files)
        if table:
            blobs = self.services.store.blobs
            patched = refused_as(blobs.read(table.digest), self.launch_error)
            if self.launches:
                patched = launched(blobs.read(command.inputs["program"].digest), *self.launches)
            files[launch_probe.TABLE_NAME] = File(blobs.put(patched), len(patched))
        extra = {name: self._kept(content) for name, content in self.files.get("program", {}).items()}
        return replace(
            finished,
            exit_code=0,
            files=files | extra,
            stdout=b"",
            stderr=b"",
            environment=H200,
            sandbox="replayed",
        )

    def _from_files(self, name: str, command: Command) -> Finished:
        held = self.files.get(name)
        if held is None:
            report = self.reports.get(name, CLEAN)
            held = {sanitizer.XML_NAME: raw(f"{report}.xml"), sanitizer.LOG_NAME: raw(f"{report}.txt")}
        return Finished(
            exit_code=0,
            signal=None,
            timed_out=False,
            stdout=held.get("stdout", b""),
            stderr=b"",
            stdout_dropped=0,
            stderr_dropped=0,
            files={file: self._kept(content) for file, content in held.items()},
            wall_s=1.0,
            question=command.question,
            environment=H200,
            sandbox="replayed",
            measured_at=1_700_000_000.0,
            inputs={"program": "0" * 64},
            recorded=True,
        )

    def _kept(self, content: bytes) -> File:
        return File(self.services.store.blobs.put(content), len(content))


def _name(command: Command) -> str:
    if command.program == "compute-sanitizer":
        return command.arguments[command.arguments.index("--tool") + 1]
    return command.program.removeprefix("./")


@pytest.fixture(scope="session")
def debug_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One state folder for all, so that each program is built once."""
    return tmp_path_factory.mktemp("debug-state")


@pytest.fixture
async def shelf(debug_state: Path) -> AsyncIterator[Shelf]:
    """The runner, over the services of a daemon whose root is tests/kernels."""
    config = Config(debug_state, (KERNELS,))
    async with open_services(config) as services:
        local = LocalRunner(services.toolchain, services.sandbox, services.store.blobs, config.work_dir, dict)
        yield Shelf(services.runner, local, services)


@pytest.fixture
def debug_bench(shelf: Shelf) -> Workbench:
    """The workbench of a client of that daemon."""
    return Workbench(replace(shelf.services, runner=shelf), Client("test", (KERNELS,)))
