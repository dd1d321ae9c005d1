"""What a repeated call costs: each tool asked twice, the second answer timed. JSON on stdout, milliseconds.

    python benchmarks/repeated_call.py [--rounds N]

On a GPU machine everything is live; elsewhere what needs a GPU is replayed, so only compile and analyze use the store.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from warpwise.server.calls import Caller, Calls
from warpwise.server.catalog import Catalog
from warpwise.server.client import Client
from warpwise.server.config import Config
from warpwise.server.services import open_services

TESTS = Path(__file__).resolve().parents[1] / "tests"
KERNELS = TESTS / "kernels"
ASKED = ("compile", "debug", "analyze", "profile")


async def measure(rounds: int) -> dict[str, Any]:
    told: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as state:
        config = Config(Path(state), (KERNELS,), replay=TESTS / "recordings" / "h200")
        async with open_services(config) as services:
            calls = Calls(services, Catalog(frozenset({"core"})))
            caller = Caller(Client("benchmark", (KERNELS,)))
            for tool in ASKED:
                times: list[float] = []
                reply = await calls.call(caller, "capabilities", {})
                for _ in range(rounds + 1):
                    began = time.perf_counter()
                    reply = await calls.call(caller, tool, {"path": "oob.cu"}, wait_s=600)
                    times.append((time.perf_counter() - began) * 1e3)
                told[tool] = {
                    "first_ms": round(times[0], 1),
                    "repeated_median_ms": round(statistics.median(times[1:]), 2),
                    "repeated_worst_ms": round(max(times[1:]), 2),
                    "how": reply.structured.get("provenance", {}).get("how"),
                    "error": reply.structured.get("error", {}).get("what"),
                }
            gpu = services.gpus.facts()["GPU"]
    return {"gpu": gpu, "goal_ms": 20, "tools": told}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    print(json.dumps(asyncio.run(measure(parser.parse_args().rounds)), indent=1))
