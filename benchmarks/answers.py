"""Default answers against the vendor's own text, in o200k_base tokens. JSON on stdout; it judges nothing, only counts.

python benchmarks/answers.py

compile is live (`nvcc -Xptxas -v` on the same file). debug is set beside what its sanitizers printed, profile beside
ncu's details page: live on a GPU machine, elsewhere as an H200 said it (tests/recordings/h200).
"""

import asyncio
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import bpe_openai

from warpwise.server.blobs import Blobs
from warpwise.server.calls import Caller, Calls, Reply
from warpwise.server.catalog import Catalog
from warpwise.server.client import Client
from warpwise.server.command import Command, Finished, source_input
from warpwise.server.config import Config
from warpwise.server.runner import Runner
from warpwise.server.services import open_services
from warpwise.server.toolchain import sanitizer
from warpwise.server.workbench import Services

TESTS = Path(__file__).resolve().parents[1] / "tests"
KERNELS = TESTS / "kernels"
DEBUGGED = ("badapi", "gemm", "misaligned", "oob", "race", "spill", "sync", "uninit")
PROFILED = ("gemm",)
LONG_RAW, FEWER, SLACK, SHORT = 3_000, 8, 60, 300
COUNTER = bpe_openai.get_encoding("o200k_base")


@dataclass(slots=True)
class Heard:
    """A runner that remembers what ran."""

    inner: Runner
    runs: list[tuple[Command, Finished]] = field(default_factory=list[tuple[Command, Finished]])

    async def run(self, command: Command) -> Finished:
        """Run it, and remember how it finished."""
        finished = await self.inner.run(command)
        self.runs.append((command, finished))
        return finished


def tokens(text: str) -> int:
    return len(COUNTER.encode(text))


def row(tool: str, kernel: str, against: str, raw: str, reply: Reply, *, is_short: bool) -> dict[str, Any]:
    """One answer beside its raw text. `misses` names each goal that it does not reach."""
    compact = json.dumps(reply.structured, separators=(",", ":"), ensure_ascii=False)
    counts = {"text": tokens(reply.text), "json": tokens(compact)}
    vendor = tokens(raw)
    misses: list[str] = []
    for name, count in counts.items():
        if vendor >= LONG_RAW and vendor < FEWER * count:
            misses.append(f"{name}: {vendor / count:.1f} x fewer, not {FEWER} x")
        if is_short and count > SHORT:
            misses.append(f"{name}: {count}, more than {SHORT}")
    return {
        "tool": tool,
        "kernel": kernel,
        "against": against,
        "raw_tokens": vendor,
        "text_tokens": counts["text"],
        "json_tokens": counts["json"],
        "times_fewer_text": round(vendor / counts["text"], 2),
        "times_fewer_json": round(vendor / counts["json"], 2),
        "misses": misses,
        "how": reply.structured.get("provenance", {}).get("how"),
        "error": reply.structured.get("error", {}).get("what"),
    }


async def ask(calls: Calls, tool: str, kernel: str, **more: str) -> Reply:
    caller = Caller(Client("benchmark", (KERNELS,)))
    return await calls.call(caller, tool, {"path": f"{kernel}.cu", **more}, wait_s=600)


def logs(runs: list[tuple[Command, Finished]], blobs: Blobs) -> Iterator[str]:
    """What each sanitizer of these runs printed."""
    for command, finished in runs:
        if command.program == "compute-sanitizer" and sanitizer.LOG_NAME in finished.files:
            yield blobs.read(finished.files[sanitizer.LOG_NAME].digest).decode("utf-8", "replace")


async def compiled(services: Services, calls: Calls, kernel: str) -> dict[str, Any]:
    name = f"{kernel}.cu"
    digest = services.store.blobs.put((KERNELS / name).read_bytes())
    arguments = ("-Xptxas", "-v", "-arch=sm_90", "-lineinfo", "-c", "-o", "kernel.o", name)
    inputs = {name: source_input(digest)}
    vendor = await services.runner.run(Command("nvcc", arguments, inputs, ("kernel.o",), kind="compile"))
    raw = (vendor.stderr + vendor.stdout).decode("utf-8", "replace")
    reply = await ask(calls, "compile", kernel, arch="sm_90")
    return row("compile", kernel, "nvcc -Xptxas -v", raw, reply, is_short=True)


async def debugged(services: Services, heard: Heard, calls: Calls, kernel: str) -> dict[str, Any]:
    heard.runs.clear()
    reply = await ask(calls, "debug", kernel)
    told = list(logs(heard.runs, services.store.blobs))
    is_clean = reply.structured.get("verdict") == "clean"
    return row("debug", kernel, f"{len(told)} sanitizers", "\n".join(told), reply, is_short=is_clean)


async def profiled(services: Services, calls: Calls, kernel: str) -> dict[str, Any]:
    whole = await ask(calls, "profile", kernel, detail="raw")
    pages: list[str] = []
    for artifact in whole.structured.get("artifacts", []):
        if "details" in artifact["name"]:
            _, digest, _ = services.store.artifact("benchmark", artifact["uri"].rpartition("/")[2])
            pages.append(services.store.blobs.read(digest).decode("utf-8", "replace"))
    reply = await ask(calls, "profile", kernel)
    return row("profile", kernel, "ncu --page details", "\n".join(pages), reply, is_short=False)


def whole(kernel: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """All answers about one kernel beside all raw text about it."""
    mine = [one for one in rows if one["kernel"] == kernel and not one["error"] and one["raw_tokens"]]
    raw, text, data = (sum(one[f"{kind}_tokens"] for one in mine) for kind in ("raw", "text", "json"))
    misses = [
        f"{name}: {count - raw} longer than raw, more than {SLACK}"
        for name, count in (("text", text), ("json", data))
        if count > raw + SLACK
    ]
    tools = [one["tool"] for one in mine]
    return {
        "tool": "whole report",
        "kernel": kernel,
        "of": tools,
        "raw_tokens": raw,
        "text_tokens": text,
        "json_tokens": data,
        "misses": misses,
    }


async def measure() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as state:
        config = Config(Path(state), (KERNELS,), replay=TESTS / "recordings" / "h200")
        async with open_services(config) as services:
            heard = Heard(services.runner)
            calls = Calls(replace(services, runner=heard), Catalog(frozenset({"core"})))
            rows = [await compiled(services, calls, kernel) for kernel in DEBUGGED]
            rows += [await debugged(services, heard, calls, kernel) for kernel in DEBUGGED]
            rows += [await profiled(services, calls, kernel) for kernel in PROFILED]
    rows += [whole(kernel, rows) for kernel in DEBUGGED]
    missed = [f"{one['tool']} {one['kernel']}: {miss}" for one in rows for miss in one["misses"]]
    return {"rows": rows, "missed": missed}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure()), indent=1))
