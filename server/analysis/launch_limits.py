"""Why a launch was refused: its configuration against the limits of the architecture and the needs of the kernel."""

from dataclasses import dataclass

from ..errors import InvalidRequest
from ..reports.compilation import KernelResources
from ..toolchain.launch_probe import Configuration
from . import cuda_errors
from .occupancy import MAX_BLOCK_THREADS, REGISTERS_PER_SM, sm

MAX_BLOCK_Z = 64
MAX_GRID_YZ = 65_535
DEFAULT_SHARED_BYTES = 49_152  # more needs cudaFuncSetAttribute
_REGISTER_UNIT = 8


@dataclass(frozen=True, slots=True)
class Reason:
    """What is wrong with a launch, and the smallest change that mends it."""

    what: str
    suggestion: str


def explain(given: Configuration, error: int, arch: str, kernel: KernelResources | None) -> Reason:
    """The reason of a failed launch, from its configuration where that is at fault, else from the error alone."""
    if error in cuda_errors.STICKY:
        return Reason("an earlier kernel failed, so this one never ran", "Mend the earlier fault first.")
    if error in cuda_errors.NO_DEVICE:
        return Reason(
            "no usable GPU or driver in this run", "Run it on a machine whose driver fits the toolkit."
        )
    return (
        _block(given)
        or _grid(given)
        or _shared(given, arch, kernel)
        or _registers(given, error, kernel)
        or _by_error(error, arch)
    )


def _threads(given: Configuration) -> int:
    x, y, z = given.block
    return x * y * z


def _block(given: Configuration) -> Reason | None:
    threads = _threads(given)
    if 0 in given.block:
        return Reason("a block of 0 threads", "Give every block dimension at least 1.")
    if threads > MAX_BLOCK_THREADS:
        return Reason(
            f"{threads:,} threads per block, and at most {MAX_BLOCK_THREADS:,} are possible",
            f"Use at most {MAX_BLOCK_THREADS:,} threads per block and more blocks.",
        )
    if given.block[2] > MAX_BLOCK_Z:
        return Reason(
            f"a block {given.block[2]} deep in z, and at most {MAX_BLOCK_Z} is possible",
            "Put the large dimension in x.",
        )
    return None


def _grid(given: Configuration) -> Reason | None:
    if 0 in given.grid:
        return Reason(
            "a grid of 0 blocks", "Skip the launch when there is nothing to do, or round the grid up."
        )
    if max(given.grid[1:]) > MAX_GRID_YZ:
        return Reason(
            f"{max(given.grid[1:]):,} blocks in y or z, and at most {MAX_GRID_YZ:,} are possible",
            "Put the large dimension in x, which takes up to 2,147,483,647 blocks.",
        )
    return None


def _shared(given: Configuration, arch: str, kernel: KernelResources | None) -> Reason | None:
    static = (kernel.static_shared_bytes or 0) if kernel else 0
    total = given.shared_bytes + static
    try:
        most = sm(arch).block_shared_bytes
    except InvalidRequest:
        return None
    asked = f"{given.shared_bytes:,} bytes of dynamic shared memory" + (
        f" and {static:,} static" if static else ""
    )
    if total > most:
        return Reason(
            f"{asked}; a block of {arch} has at most {most:,}",
            f"Use smaller tiles: at most {most - static:,} dynamic bytes.",
        )
    if total > DEFAULT_SHARED_BYTES and given.shared_bytes:
        return Reason(
            f"{asked}; over {DEFAULT_SHARED_BYTES:,} must be asked for",
            "Before the launch: cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, "
            f"{given.shared_bytes}).",
        )
    return None


def _registers(given: Configuration, error: int, kernel: KernelResources | None) -> Reason | None:
    threads = _threads(given)
    if kernel and kernel.max_threads and threads > kernel.max_threads:
        return Reason(
            f"{threads:,} threads per block, and __launch_bounds__ allows {kernel.max_threads:,}",
            f"Launch at most {kernel.max_threads:,} threads, or raise __launch_bounds__.",
        )
    registers = kernel.registers if kernel else None
    if registers and -(-registers // _REGISTER_UNIT) * _REGISTER_UNIT * threads > REGISTERS_PER_SM:
        return Reason(
            f"{threads:,} threads of {registers} registers, and an SM has {REGISTERS_PER_SM:,} registers",
            f"Add __launch_bounds__({threads}) to the kernel, or use smaller blocks.",
        )
    if error == 701:
        return Reason("the block needs more registers or shared memory than an SM has", "Use smaller blocks.")
    return None


def _by_error(error: int, arch: str) -> Reason:
    if error in cuda_errors.WRONG_IMAGE:
        return Reason(
            f"the GPU cannot run code built for {arch}", "Leave `arch` out, so that it is built for this GPU."
        )
    if error == 720:
        return Reason(
            "a cooperative grid larger than the GPU holds at once",
            "Launch at most cudaOccupancyMaxActiveBlocksPerMultiprocessor x SM count blocks.",
        )
    return Reason(
        f"the runtime says {cuda_errors.name(error)}",
        "Check grid, block, shared memory and stream of the launch.",
    )
