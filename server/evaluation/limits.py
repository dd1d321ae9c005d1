"""What a launch may ask of a device, by compute capability (CUDA programming guide, "Compute Capabilities")."""

import re
from dataclasses import dataclass

from ..errors import InvalidRequest

_SHARED_KIB = {
    70: 96, 72: 96, 75: 64, 80: 163, 86: 99, 87: 163, 89: 99, 90: 227,
    100: 227, 101: 227, 103: 227, 110: 227, 120: 99, 121: 99,
}  # fmt: skip
_ARCH = re.compile(r"(?:sm_|compute_)?(\d{2,3})[af]?\Z")


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """Limits of one compute capability. Bytes and counts; `memory_bytes` is None where no device is at hand."""

    arch: str
    threads_per_block: int
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    shared_bytes: int
    registers_per_block: int
    registers_per_thread: int
    cluster_blocks: int
    memory_bytes: int | None = None


def device_limits(arch: str, memory_bytes: int | None = None) -> DeviceLimits:
    """The limits of an architecture such as `sm_90` or `sm_90a`. Raises InvalidRequest for an unknown one."""
    match = _ARCH.match(arch)
    number = int(match[1]) if match else 0
    if number not in _SHARED_KIB:
        known = ", ".join(f"sm_{known}" for known in _SHARED_KIB)
        raise InvalidRequest(f"unknown architecture {arch!r}", f"Known: {known}.")
    return DeviceLimits(
        arch=f"sm_{number}",
        threads_per_block=1024,
        block=(1024, 1024, 64),
        grid=(2**31 - 1, 65535, 65535),
        shared_bytes=_SHARED_KIB[number] * 1024,
        registers_per_block=65536,
        registers_per_thread=255,
        cluster_blocks=8 if number >= 90 else 1,
        memory_bytes=memory_bytes,
    )
