"""Which GPUs this machine has, through NVML, and the runner that leases one for each command that uses a GPU."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .command import Command, Finished
from .errors import Unavailable
from .lease import Holder, Leases


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU: `capability` is (major, minor), `memory_bytes` the whole of its memory."""

    uuid: str
    name: str
    capability: tuple[int, int]
    memory_bytes: int
    driver: str


class Gpus:
    """The GPUs found at the start, and their leases. `reason` says why there is none."""

    def __init__(self, lease_dir: Path) -> None:
        self.devices, self.reason = find_devices()
        self._leases = Leases(lease_dir) if self.devices else None

    def arch(self) -> str | None:
        """The architecture of the first GPU as nvcc names it, or None without a GPU."""
        return "sm_{}{}".format(*self.devices[0].capability) if self.devices else None

    def facts(self) -> Mapping[str, str]:
        """What a measurement depends on: GPU and driver."""
        if not self.devices:
            return {"GPU": "none"}
        return {"GPU": self.devices[0].name, "driver": self.devices[0].driver}

    def require(self) -> tuple[Device, Leases]:
        """The GPU to use and the lease table. Raises Unavailable without a GPU."""
        if not self.devices or self._leases is None:
            raise Unavailable(
                f"no NVIDIA GPU: {self.reason}",
                "compile and analyze work without one; debug, profile and evaluate need a GPU or a recording.",
            )
        return self.devices[0], self._leases

    @asynccontextmanager
    async def hold_shared(self, device: str | None) -> AsyncGenerator[None, None]:
        """A shared lease of the GPU with that uuid, for what is no command; nothing is leased for None."""
        if device is None or self._leases is None:
            yield
            return
        async with self._leases.hold(device, "shared"):
            yield

    def holders(self) -> list[Holder]:
        """Who holds or waits for the first GPU, first come first."""
        return self._leases.holders(self.devices[0].uuid) if self._leases else []


def find_devices() -> tuple[tuple[Device, ...], str]:
    """(devices, why there are none) as NVML tells."""
    import pynvml

    nvml: Any = pynvml  # its functions carry no types
    try:
        nvml.nvmlInit()
    except pynvml.NVMLError as error:
        return (), f"NVML says {error}"
    try:
        driver = str(nvml.nvmlSystemGetDriverVersion())
        found: list[Device] = []
        for index in range(nvml.nvmlDeviceGetCount()):
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
            memory = nvml.nvmlDeviceGetMemoryInfo(handle)
            found.append(
                Device(
                    uuid=str(nvml.nvmlDeviceGetUUID(handle)),
                    name=str(nvml.nvmlDeviceGetName(handle)),
                    capability=(int(major), int(minor)),
                    memory_bytes=int(memory.total),
                    driver=driver,
                )
            )
        return tuple(found), "" if found else "NVML lists no device"
    except pynvml.NVMLError as error:
        return (), f"NVML says {error}"
    finally:
        nvml.nvmlShutdown()


class DeviceRunner(Protocol):
    """A runner that can be told which device a command runs on."""

    async def run(self, command: Command, device: str | None = None) -> Finished:
        """Run it, on the GPU with that uuid."""
        ...


class LeasingRunner:
    """Holds a lease for as long as a command uses the GPU, and for no command that uses none."""

    def __init__(self, inner: DeviceRunner, gpus: Gpus) -> None:
        self._inner = inner
        self._gpus = gpus

    async def run(self, command: Command) -> Finished:
        """Run it under its lease. Raises Unavailable without a GPU, Busy when the wait was in vain."""
        if command.gpu == "none":
            return await self._inner.run(command)
        device, leases = self._gpus.require()
        async with leases.hold(device.uuid, command.gpu):
            return await self._inner.run(command, device.uuid)
