"""How a GPU is at this moment, by NVML: clocks, power, temperature, what holds its clocks back, who else uses it."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_REASONS = {
    0x2: "applications clock", 0x4: "power cap", 0x8: "hardware slowdown", 0x10: "sync boost", 0x20: "thermal",
    0x40: "hardware thermal", 0x80: "power brake", 0x100: "display clock",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class GpuState:
    """MHz, watts, degrees Celsius, bytes per second; None where NVML does not tell.

    `held_back` names why the clocks are lower than they could be. `foreign` counts processes on the GPU that are none of
    ours; `unattributed` those that this process cannot see (another pid namespace).
    """

    sm_mhz: int | None = None
    memory_mhz: int | None = None
    power_w: float | None = None
    temperature_c: int | None = None
    held_back: tuple[str, ...] = ()
    foreign: int | None = None
    unattributed: int | None = None
    peak_bytes_s: float | None = None


def gpu_state(uuid: str) -> GpuState:
    """The state of the GPU with that uuid; everything is None where NVML cannot be asked."""
    import pynvml

    nvml: Any = pynvml  # its functions carry no types

    def ask(question: Callable[[], Any]) -> Any:  # noqa: ANN401  # as untyped as NVML's answers
        try:
            return question()
        except pynvml.NVMLError:
            return None

    if ask(lambda: nvml.nvmlInit() or True) is None:
        return GpuState()
    handle = ask(lambda: nvml.nvmlDeviceGetHandleByUUID(uuid))
    if handle is None:
        return GpuState()
    power_mw = ask(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
    bits = ask(lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)) or 0
    peak_mhz = ask(lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM))
    bus_bits = ask(lambda: nvml.nvmlDeviceGetMemoryBusWidth(handle))
    running = ask(lambda: [int(one.pid) for one in nvml.nvmlDeviceGetComputeRunningProcesses(handle)])
    foreign, unattributed = _others(running)
    return GpuState(
        sm_mhz=ask(lambda: int(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))),
        memory_mhz=ask(lambda: int(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM))),
        power_w=None if power_mw is None else round(power_mw / 1e3, 1),
        temperature_c=ask(lambda: int(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))),
        held_back=tuple(name for bit, name in _REASONS.items() if bits & bit),
        foreign=foreign,
        unattributed=unattributed,
        peak_bytes_s=2e6 * peak_mhz * bus_bits / 8 if peak_mhz and bus_bits else None,
    )


def _others(running: list[int] | None) -> tuple[int | None, int | None]:
    """(processes that are no descendants of this one, processes that are not in sight)."""
    if running is None:
        return None, None
    hidden = [pid for pid in running if not Path(f"/proc/{pid}").exists()]
    return sum(not _is_ours(pid) for pid in running if pid not in hidden), len(hidden)


def _is_ours(pid: int) -> bool:
    me = os.getpid()
    while pid > 1:
        if pid == me:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return True  # it has ended meanwhile
    return False
