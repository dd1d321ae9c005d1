"""What a build tells: diagnostics, and per kernel its resources and the occupancy they allow."""

from typing import Any, ClassVar, Literal

from .answer import Answer, Detail
from .number import Frozen

Limiter = Literal["registers", "shared memory", "warps", "blocks", "barriers"]
CliffResource = Literal["registers", "shared bytes"]
KERNELS_SHOWN: dict[Detail, int] = {"summary": 6, "evidence": 40, "raw": 400}


class Occupancy(Frozen):
    """How many blocks of one size fit on an SM at once, and what stops the next one. Percent is of the SM's warps."""

    block_threads: int
    blocks_per_sm: int
    percent: float
    limited_by: tuple[Limiter, ...]

    def __str__(self) -> str:
        limits = " and ".join(self.limited_by)
        return f"{self.block_threads} threads: {self.percent:g} % ({self.blocks_per_sm} blocks/SM, limit {limits})"


class Cliff(Frozen):
    """The nearest value of a resource at which the number of blocks per SM changes, and to what."""

    resource: CliffResource
    value: int
    block_threads: int
    blocks_now: int
    blocks_then: int

    def __str__(self) -> str:
        return f"at {self.value:,} {self.resource}: {self.blocks_now} -> {self.blocks_then} blocks/SM of {self.block_threads}"


class KernelResources(Frozen):
    """One kernel as ptxas built it: registers per thread, bytes per thread (spills, stack) and per block (shared).

    `max_threads` and `min_blocks` are the source's launch bounds; `dynamic_shared_bytes` is known only from a launch.
    None is unknown. `occupancy` is theoretical, by block size; the cliffs are those of the first block size in it.
    """

    name: str
    mangled: str
    registers: int | None = None
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    stack_bytes: int | None = None
    static_shared_bytes: int | None = None
    dynamic_shared_bytes: int | None = None
    barriers: int | None = None
    constant_bytes: int | None = None
    max_threads: int | None = None
    min_blocks: int | None = None
    occupancy: tuple[Occupancy, ...] = ()
    next_loss: Cliff | None = None
    next_gain: Cliff | None = None

    @property
    def short_name(self) -> str:
        """The name without template arguments' noise: what stands before the parameter list."""
        return self.name.split("(")[0]


class CompileAnswer(Answer):
    """Whether it builds; the diagnostics are the findings, the kernels its block."""

    component: ClassVar[str | None] = "compiler"
    builds: bool
    arch: str
    compiler: Literal["nvcc", "nvrtc"]
    kind: Literal["program", "library", "kernel"]
    kernels: tuple[KernelResources, ...] = ()

    def block(self, detail: Detail) -> dict[str, Any]:
        """The kernels, without what is zero or unknown."""
        shown = self.kernels[: KERNELS_SHOWN[detail]]
        data: dict[str, Any] = {"builds": self.builds, "arch": self.arch, "compiler": self.compiler}
        data["kernels"] = [_kernel_data(kernel, detail) for kernel in shown]
        if len(self.kernels) > len(shown):
            data["kernels_left_out"] = len(self.kernels) - len(shown)
        return data

    def block_lines(self, detail: Detail) -> list[str]:
        """One line of resources and one of occupancy per kernel."""
        shown = self.kernels[: KERNELS_SHOWN[detail]]
        lines = [line for kernel in shown for line in _kernel_lines(kernel, detail)]
        if len(self.kernels) > len(shown):
            lines.append(f"left out: {len(self.kernels) - len(shown)} kernels")
        return lines


def _kernel_data(kernel: KernelResources, detail: Detail) -> dict[str, Any]:
    return kernel.model_dump(exclude_none=True)


def _kernel_lines(kernel: KernelResources, detail: Detail) -> list[str]:
    return [f"{kernel.name}: {kernel.registers} registers"]
