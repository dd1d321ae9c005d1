"""The four launches of an H200's real reports, read once by the real reader."""

import json
import sys
from pathlib import Path

import anyio
import pytest
import zstandard
from pydantic import TypeAdapter

from warpwise.server.analysis.performance import METRICS
from warpwise.server.process import spawn
from warpwise.server.toolchain import ncu_report
from warpwise.server.toolchain.ncu_report import Reading

RAW = Path(__file__).parents[2] / "recordings" / "h200_raw"
WORKER = Path(ncu_report.__file__).with_name("ncu_report_worker.py")


async def run_worker(folder: Path, request: bytes) -> None:
    argv = [sys.executable, "-I", str(WORKER)]
    ended = await spawn(argv, cwd=folder, environment={}, stdin=request)
    assert ended.exit_code == 0, ended.stderr


@pytest.fixture(scope="session")
def readings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reading]:
    """The launches by kernel: gemm_naive, gemm_tiled, transpose_conflict, spill."""
    found: dict[str, Reading] = {}
    for name in ("gemm", "spill"):
        folder = tmp_path_factory.mktemp(name)
        packed = (RAW / f"{name}_full.ncu-rep.zst").read_bytes()
        (folder / "r.ncu-rep").write_bytes(zstandard.ZstdDecompressor().decompress(packed, 1 << 23))
        request = {"mode": "read", "report": "r.ncu-rep", "launches": None, "metrics": METRICS}
        anyio.run(run_worker, folder, json.dumps(request).encode())
        answer = json.loads((folder / "profile.json").read_bytes())
        adapter = TypeAdapter(tuple[Reading, ...])
        found |= {one.name: one for one in adapter.validate_json(json.dumps(answer["readings"]), strict=True)}
    return found
