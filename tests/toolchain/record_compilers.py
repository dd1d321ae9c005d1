"""Record what nvcc and NVRTC print of every source in tests/kernels: `python tests/toolchain/record_compilers.py`.

No GPU is needed. The logs are what the parsers' tests read; they hold no path of the machine that made them.
"""

import gzip
import json
import re
import tempfile
from pathlib import Path

import anyio

from warpwise.server import candidate as candidates
from warpwise.server.client import Client
from warpwise.server.config import Config
from warpwise.server.services import open_services
from warpwise.server.toolchain import nvcc, nvrtc
from warpwise.server.toolchain.flags import checked_flags
from warpwise.server.workbench import Services

KERNELS = Path(__file__).parents[1] / "kernels"
_TOOLKIT = re.compile(r"/\S*/cu\d+/include/")
LOGS = Path(__file__).parents[1] / "recordings" / "compilers.json.gz"


async def record() -> dict[str, str]:
    """The logs by `<compiler>/<source>`."""
    logs: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as state:
        async with open_services(Config(Path(state), (KERNELS,))) as services:
            for path in sorted(KERNELS.rglob("*.cu")):
                logs |= await _of_one(services, path.relative_to(KERNELS).as_posix())
    return logs


async def _of_one(services: Services, name: str) -> dict[str, str]:
    source = (KERNELS / name).read_text()
    header: dict[str, str] = dict(re.findall(r"^// (arch|flags) (.*)$", source, re.MULTILINE))
    arch, flags = header.get("arch", "sm_90"), checked_flags(header.get("flags", "").split())
    found = candidates.from_path(Client("recorder", (KERNELS,)), name, {}, flags, services.store.blobs)
    unit = nvcc.Unit(name, found.inputs(), (), flags)
    target: nvcc.Target = "program" if found.is_program else "library"
    asked = {"nvcc": nvcc.command(unit, arch, target, 120.0)}
    if not (found.is_program or found.launches) and nvrtc.takes(unit):
        asked["nvrtc"] = nvrtc.command(unit, arch, 120.0)
    logs: dict[str, str] = {}
    for compiler, command in asked.items():
        ended = await services.runner.run(command)
        logs[f"{compiler}/{name}"] = _TOOLKIT.sub("/cuda/include/", (ended.stderr + ended.stdout).decode())
    return logs


if __name__ == "__main__":
    content = json.dumps(anyio.run(record), indent=0, sort_keys=True).encode()
    LOGS.write_bytes(gzip.compress(content, mtime=0))
