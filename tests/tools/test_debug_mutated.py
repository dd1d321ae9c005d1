"""Recorded runs with their outputs damaged: a broken kernel is never called clean, and nothing fails untyped.

The seeded few run always; `make torture` runs the stated count, resumable, into benchmarks/results/debug_fuzz.json.
"""

import json
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from warpwise.server.blobs import Blobs
from warpwise.server.calls import Caller, Calls
from warpwise.server.catalog import Catalog
from warpwise.server.client import Client
from warpwise.server.command import Command, File, Finished
from warpwise.server.config import Config
from warpwise.server.runner import Runner
from warpwise.server.services import open_services
from warpwise.server.workbench import Services

HERE = Path(__file__).resolve().parents[1]
KERNELS = HERE / "kernels"
PACK = HERE / "recordings" / "h200"
RESULTS = HERE.parent / "benchmarks" / "results" / "debug_fuzz.json"
FAULTY = ("badapi", "misaligned", "oob", "race", "sync", "uninit")
TORTURE = 3_000
FEW = 40


@dataclass
class Damaging:
    """A runner whose answers for the GPU come back damaged, by chance."""

    inner: Runner
    blobs: Blobs
    chance: random.Random
    told: list[str] = field(default_factory=list[str])

    async def run(self, command: Command) -> Finished:
        """The run, its files cut, emptied, missing, garbled, or its end a kill."""
        finished = await self.inner.run(command)
        if command.gpu == "none":
            return finished
        files = {name: kept for name, file in finished.files.items() if (kept := self._damaged(name, file))}
        how = self.chance.choice(("as it was", "as it was", "killed", "137", "deadline"))
        self.told.append(how)
        ends = {"killed": (None, 9, False), "137": (137, None, False), "deadline": (None, None, True)}
        code, signal, late = ends.get(how, (finished.exit_code, finished.signal, finished.timed_out))
        return replace(finished, files=files, exit_code=code, signal=signal, timed_out=late)

    def _damaged(self, name: str, file: File) -> File | None:
        how = self.chance.choice(("whole", "whole", "cut", "empty", "missing", "garbled", "a line less"))
        self.told.append(f"{name} {how}")
        if how in ("whole", "missing"):
            return file if how == "whole" else None
        content = bytearray(self.blobs.read(file.digest))
        if how == "empty":
            content.clear()
        elif how == "cut" and content:
            del content[self.chance.randrange(len(content)) :]
        elif how == "garbled":
            for _ in range(self.chance.randint(1, 20) if content else 0):
                content[self.chance.randrange(len(content))] = self.chance.randrange(256)
        elif how == "a line less":
            lines = bytes(content).splitlines(keepends=True)
            if lines:
                del lines[self.chance.randrange(len(lines))]
            content = bytearray(b"".join(lines))
        return File(self.blobs.put(bytes(content)), len(content))


@pytest.fixture
async def replaying(tmp_path: Path) -> AsyncIterator[Services]:
    async with open_services(Config(tmp_path / "state", (KERNELS,), replay=PACK)) as services:
        yield services


async def verdict(services: Services, seed: int) -> str:
    """What `debug` says of a faulty kernel whose recorded outputs were damaged by this seed."""
    chance = random.Random(seed)
    damaging = Damaging(services.runner, services.store.blobs, chance)
    calls = Calls(replace(services, runner=damaging), Catalog(frozenset({"core"})))
    kernel = chance.choice(FAULTY)
    caller = Caller(Client("test", (KERNELS,)))
    reply = await calls.call(caller, "debug", {"path": f"{kernel}.cu"}, wait_s=600)
    said = reply.error.code if reply.error else str(reply.structured["verdict"])
    assert said not in ("clean", "internal"), (seed, kernel, damaging.told, reply.text)
    return said


async def test_no_damage_makes_a_broken_kernel_clean(replaying: Services) -> None:
    seen = Counter([await verdict(replaying, seed) for seed in range(FEW)])
    assert len(seen) > 1


@pytest.mark.torture
@pytest.mark.timeout(3600)
async def test_much_damage_makes_no_broken_kernel_clean(replaying: Services) -> None:
    held: Any = {"next_seed": FEW, "verdicts": {}}
    if RESULTS.exists() and (before := json.loads(RESULTS.read_text()))["next_seed"] < FEW + TORTURE:
        held = before  # go on; a whole result is measured anew
    seen = Counter[str](held["verdicts"])
    for seed in range(held["next_seed"], FEW + TORTURE):
        seen[await verdict(replaying, seed)] += 1
        if seed % 50 == 49 or seed == FEW + TORTURE - 1:
            told = {"next_seed": seed + 1, "of": FEW + TORTURE, "verdicts": dict(sorted(seen.items()))}
            RESULTS.write_text(json.dumps(told, indent=1) + "\n")
    assert seen.total() == TORTURE
