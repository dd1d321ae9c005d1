"""A machine without a GPU that profiles: real builds, the real reader, and what ncu left on an H200."""

import gzip
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import zstandard

from warpwise.server.client import Client
from warpwise.server.command import Command, Environment, File, Finished
from warpwise.server.config import Config
from warpwise.server.errors import WarpwiseError
from warpwise.server.reports.performance import ProfileAnswer
from warpwise.server.runner import Runner
from warpwise.server.services import open_services
from warpwise.server.toolchain import launch_probe, ncu
from warpwise.server.tools.profiler import ProfileArgs, profile
from warpwise.server.workbench import Services, Workbench

KERNELS = Path(__file__).parents[2] / "kernels"
RAW = Path(__file__).parents[2] / "recordings" / "h200_raw"
H200 = Environment({"ncu": "2025.3.1.0", "GPU": "NVIDIA H200", "driver": "580.159.03"})


@dataclass
class Card:
    """A runner and its workbench: what needs the GPU is answered with files from an H200, all else runs here.

    `reports` are what the next runs of ncu leave, in order (a name of a recorded report, or None for no report).
    """

    inner: Runner
    services: Services
    root: Path
    reports: list[str | None] = field(default_factory=list[str | None])
    log: bytes = b"==PROF== Connected\n"
    ended: dict[str, Any] = field(default_factory=dict[str, Any])
    table: bytes | None = None
    asked: list[Command] = field(default_factory=list[Command])

    @property
    def bench(self) -> Workbench:
        """The workbench of a client that may name tests/kernels and a folder with the two reports."""
        return Workbench(replace(self.services, runner=self), Client("test", (KERNELS, self.root)))

    async def run(self, command: Command) -> Finished:
        self.asked.append(command)
        if command.gpu == "none":
            return await self.inner.run(command)
        held = {ncu.LOG_NAME: self.log, launch_probe.TABLE_NAME: self.table}
        if command.program == "ncu" and self.reports and (name := self.reports.pop(0)):
            held[ncu.REPORT_NAME] = self.report(name)
        files = {name: self.kept(content) for name, content in held.items() if content is not None}
        plain = Finished(
            0, None, False, b"", b"", 0, 0, files, 0.41, command.question, H200, "bubblewrap", 1.7e9
        )
        return replace(plain, **self.ended)

    def kept(self, content: bytes) -> File:
        return File(self.services.store.blobs.put(content), len(content))

    def report(self, name: str) -> bytes:
        """One of the H200's reports."""
        packed = (RAW / f"{name}_full.ncu-rep.zst").read_bytes()
        return zstandard.ZstdDecompressor().decompress(packed, 1 << 23)

    def log_of(self, name: str) -> bytes:
        """What ncu said on the H200."""
        return gzip.decompress((RAW / f"ncu_{name}.txt.gz").read_bytes())

    def ncu_runs(self) -> list[Command]:
        """The runs of ncu that needed the GPU."""
        return [command for command in self.asked if command.program == "ncu" and command.gpu != "none"]

    async def profiled(self, **arguments: object) -> ProfileAnswer:
        """The tool's answer."""
        answer = await profile.run(self.bench, ProfileArgs.model_validate(arguments))
        assert isinstance(answer, ProfileAnswer)
        return answer

    async def refused(self, expected: type[WarpwiseError], **arguments: object) -> WarpwiseError:
        """The tool's typed error, with something to do about it."""
        with pytest.raises(expected) as caught:
            await self.profiled(**arguments)
        assert caught.value.what
        assert caught.value.hint
        return caught.value


@pytest.fixture(scope="session")
def profile_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One state folder for all, so that each program is built once."""
    return tmp_path_factory.mktemp("profile-state")


@pytest.fixture
async def card(profile_state: Path, root: Path) -> AsyncIterator[Card]:
    """The runner of a daemon, over a root that holds two recorded reports."""
    async with open_services(Config(profile_state, (KERNELS,))) as services:
        found = Card(services.runner, services, root)
        for name in ("gemm", "spill"):
            (root / f"{name}.ncu-rep").write_bytes(found.report(name))
        yield found
