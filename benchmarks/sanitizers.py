"""Four sanitizers of one program, one after another and side by side, in one run. Needs a GPU. JSON on stdout.

python benchmarks/sanitizers.py [--rounds N]
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio

from warpwise.server.building import build
from warpwise.server.client import Client
from warpwise.server.command import Command
from warpwise.server.config import Config
from warpwise.server.gpu import LeasingRunner
from warpwise.server.runner import LocalRunner
from warpwise.server.services import open_services
from warpwise.server.toolchain import sanitizer
from warpwise.server.workbench import Services, Workbench

KERNELS = Path(__file__).resolve().parents[1] / "tests" / "kernels"
PROGRAMS: dict[str, dict[str, str]] = {"oob": {}, "race": {}, "uninit": {}, "gemm": {"N": "128"}}


def live_runner(services: Services) -> LeasingRunner:
    """A runner that keeps and reuses nothing."""
    gpus = services.gpus
    local = LocalRunner(
        services.toolchain, services.sandbox, services.store.blobs, services.config.work_dir, gpus.facts
    )
    return LeasingRunner(local, gpus)


async def commands(bench: Workbench, kernel: str, defines: dict[str, str]) -> list[Command]:
    candidate = await bench.candidate(path=f"{kernel}.cu", source=None, id=None, defines=defines)
    made = await build(bench, candidate, await bench.arch(None, candidate))
    assert made.executable is not None
    return [
        sanitizer.command(tool, made.executable, leaks=True) for tool in sanitizer.tools_for(sanitizer.CHECKS)
    ]


async def measure(rounds: int) -> dict[str, Any]:
    told: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as state:
        async with open_services(Config(Path(state), (KERNELS,))) as services:
            bench = Workbench(services, Client("benchmark", (KERNELS,)))
            runner = live_runner(services)
            for kernel, defines in PROGRAMS.items():
                asked = await commands(bench, kernel, defines)
                serial: list[float] = []
                together: list[float] = []
                for _ in range(rounds):
                    began = time.perf_counter()
                    for command in asked:
                        await runner.run(command)
                    serial.append(time.perf_counter() - began)
                    began = time.perf_counter()
                    async with anyio.create_task_group() as group:
                        for command in asked:
                            group.start_soon(runner.run, command)
                    together.append(time.perf_counter() - began)
                ratios = [side / one for side, one in zip(together, serial, strict=True)]
                told[kernel] = {
                    "one_after_another_s": round(statistics.median(serial), 3),
                    "side_by_side_s": round(statistics.median(together), 3),
                    "ratio": round(statistics.median(ratios), 3),
                }
    return {"programs": told, "median_ratio": statistics.median(one["ratio"] for one in told.values())}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    print(json.dumps(asyncio.run(measure(parser.parse_args().rounds)), indent=1))
