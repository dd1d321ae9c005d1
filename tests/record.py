"""On a GPU machine: make every recorded call live, keep its runs as packs, and show what each answered.

    python tests/record.py [--out FOLDER]

Only what needs a GPU (or cuda-gdb, which no wheel has) is kept: the rest runs live wherever the packs are replayed.
"""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from recorded_calls import CALLS, KERNELS

from warpwise.server.calls import Caller, Calls
from warpwise.server.catalog import Catalog
from warpwise.server.client import Client
from warpwise.server.config import Config
from warpwise.server.demo.steps import SOURCE_NAME, STEPS, lay_out
from warpwise.server.recording import write_pack
from warpwise.server.services import open_services
from warpwise.server.store import finished_from_json
from warpwise.server.workbench import Services

KEPT_FACTS = ("GPU", "cuda-gdb")
Asked = Sequence[tuple[Path, str, dict[str, Any]]]


async def record(out: Path, root: Path, asked: Asked) -> list[dict[str, Any]]:
    """Make the calls in a fresh state folder and write the pack; returns each call with its answer."""
    state = Path(tempfile.mkdtemp(prefix="record-"))
    told: list[dict[str, Any]] = []
    try:
        async with open_services(Config(state, (root,))) as services:
            calls = Calls(services, Catalog(frozenset({"core"})))
            caller = Caller(Client("record", (root,)))
            for before, tool, arguments in asked:
                if before != Path():
                    shutil.copytree(before, root, dirs_exist_ok=True)
                began = time.monotonic()
                reply = await calls.call(caller, tool, arguments, wait_s=3600)
                told.append({"tool": tool, "arguments": arguments, "answer": reply.structured})
                print(f"--- {tool} {arguments} {time.monotonic() - began:.1f} s\n{reply.text}", flush=True)
            print(f"{_keep(services, out)} runs kept in {out}", flush=True)
    finally:
        shutil.rmtree(state, ignore_errors=True)
    (out / "answers.json").write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
    return told


def _keep(services: Services, out: Path) -> int:
    runs = [finished_from_json(held, services.store.blobs) for held in services.store.runs()]
    kept = [run for run in runs if any(fact in run.environment.facts for fact in KEPT_FACTS)]
    shutil.rmtree(out, ignore_errors=True)
    return write_pack(out, kept, services.store.blobs)


async def main(out: Path) -> None:
    """Record the tests' pack and the demo's."""
    scratch = Path(tempfile.mkdtemp(prefix="record-root-"))
    kernels = scratch / "kernels"
    shutil.copytree(KERNELS, kernels, ignore=shutil.ignore_patterns("analysis", "broken"))
    await record(out / "h200", kernels, [(Path(), call.tool, call.all_arguments()) for call in CALLS])
    demo: list[tuple[Path, str, dict[str, Any]]] = []
    for number, step in enumerate(STEPS):
        folder = scratch / f"step{number}"
        folder.mkdir()
        lay_out(folder, step)
        demo += [(folder, asked.tool, {"path": SOURCE_NAME, **asked.arguments}) for asked in step.questions]
    root = scratch / "demo"
    root.mkdir()
    await record(out / "demo", root, demo)
    shutil.rmtree(scratch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("recordings"))
    asyncio.run(main(parser.parse_args().out.resolve()))
