"""Say what works on this machine and what would mend the rest. It looks, and measures nothing."""

import shutil

import anyio

from ..counters import this_machine
from ..errors import WarpwiseError
from ..reports.capabilities import CapabilitiesAnswer, Capability, State
from ..sandbox import Sandbox
from ..tool import Args, tool
from ..workbench import Services, Workbench


class CapabilitiesArgs(Args):
    """What works here (compilers, sanitizers, profiler, GPU, sandbox), what does not, and what would mend it."""


_PROGRAMS = {
    "nvcc": "nvcc",
    "nvrtc": "nvrtc",
    "disassembly": "nvdisasm",
    "proofs": "sentryward",
    "sanitizers": "compute-sanitizer",
    "core dumps": "cuda-gdb",
    "profiler": "ncu",
    "profile reader": "ncu-report",
}
_NEED_GPU = ("sanitizers", "core dumps", "profiler")


@tool(title="What works here", read_only=True, long=False)
async def capabilities(bench: Workbench, args: CapabilitiesArgs) -> CapabilitiesAnswer:
    """Every capability, looked up side by side."""
    found: dict[str, Capability] = {}

    async def look(name: str) -> None:
        found[name] = await _program(bench.services, name)

    sandbox = await bench.services.sandbox.find()
    async with anyio.create_task_group() as group:
        for name in _PROGRAMS:
            group.start_soon(look, name)
    listed = [found[name] for name in _PROGRAMS]
    listed[1:1] = [_host_compiler()]
    listed += [_gpu(bench.services), *_counters(bench.services, sandbox), _sandbox(sandbox)]
    missing = [capability.name for capability in listed if capability.state != "works"]
    return CapabilitiesAnswer(
        summary="Everything works here." if not missing else f"Not (fully) here: {', '.join(missing)}.",
        capabilities=tuple(listed),
        next=('compile(path="kernel.cu")',),
    )


async def _program(services: Services, name: str) -> Capability:
    try:
        program = await services.toolchain.program(_PROGRAMS[name])
    except WarpwiseError as error:
        return Capability(name=name, state="missing", by=error.what, mend=error.hint)
    by = f"{program.name} {program.version}"
    if name in _NEED_GPU and not services.gpus.devices:
        return Capability(
            name=name, state="limited", by=f"{by}, but no GPU", mend="a recording can be replayed"
        )
    return Capability(name=name, state="works", by=by)


def _counters(services: Services, sandbox: Sandbox) -> list[Capability]:
    """Whether hardware counters can be read; nothing is said without a GPU."""
    if not services.gpus.devices:
        return []
    access = this_machine(sandbox.level)
    state: State = "missing" if access.allowed is False else "works" if access.allowed else "limited"
    return [Capability(name="counters", state=state, by=access.why, mend=access.mend)]


def _host_compiler() -> Capability:
    if shutil.which("g++"):
        return Capability(name="host compiler", state="works", by="g++")
    return Capability(
        name="host compiler",
        state="missing",
        by="no g++ on PATH: programs cannot be built, kernel-only sources can (NVRTC)",
        mend="apt install g++",
    )


def _gpu(services: Services) -> Capability:
    if not services.gpus.devices:
        return Capability(
            name="GPU", state="missing", by=services.gpus.reason, mend="run where an NVIDIA GPU is"
        )
    device = services.gpus.devices[0]
    more = f" and {len(services.gpus.devices) - 1} more" if len(services.gpus.devices) > 1 else ""
    waiting = services.gpus.holders()
    busy = f", {len(waiting)} leases held or waiting" if waiting else ""
    return Capability(
        name="GPU",
        state="works",
        by=f"{device.name}{more}, {services.gpus.arch()}, driver {device.driver}{busy}",
    )


def _sandbox(sandbox: Sandbox) -> Capability:
    if sandbox.level == "bubblewrap":
        return Capability(name="sandbox", state="works", by="bubblewrap")
    return Capability(
        name="sandbox",
        state="limited",
        by=f"process limits only: {sandbox.reason}",
        mend="apt install bubblewrap, and allow user namespaces",
    )
