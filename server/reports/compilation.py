"""What a build tells: diagnostics, and per kernel its resources and the occupancy they allow."""

from typing import Any, ClassVar, Literal

from .answer import Answer, Detail
from .fitting import Cut, cuts, fits
from .names import short_name
from .number import Frozen

Limiter = Literal["registers", "shared memory", "warps", "blocks", "barriers"]
CliffResource = Literal["registers", "shared bytes"]
_NAME_CHARACTERS = 80
MAX_KERNELS = 100


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

    @property
    def change(self) -> str:
        """What happens at which value, the block size left out."""
        return f"at {self.value:,} {self.resource}: {self.blocks_now} -> {self.blocks_then} blocks/SM"

    def __str__(self) -> str:
        return f"{self.change} of {self.block_threads} threads"


class KernelResources(Frozen):
    """One kernel as ptxas built it: registers per thread, bytes per thread (spills, stack) and per block (shared).

    `uses_dynamic_shared` says that it names shared memory of which only a launch knows the size
    (`dynamic_shared_bytes`). `max_threads` and `min_blocks` are the source's launch bounds. `occupancy` is theoretical,
    by block size (`block_from` says whose); the cliffs are of one block size. None is unknown.
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
    uses_dynamic_shared: bool = False
    occupancy: tuple[Occupancy, ...] = ()
    block_from: Literal["launch", "launch bounds", "assumed"] = "assumed"
    next_loss: Cliff | None = None
    next_gain: Cliff | None = None

    @property
    def short_name(self) -> str:
        """The name without its parameter list."""
        return short_name(self.name)

    @property
    def spills(self) -> bool:
        """Whether registers are spilled to local memory."""
        return bool(self.spill_store_bytes or self.spill_load_bytes)


_BARE = {"excerpt": None, "suggestion": None, "kernel": None}


class CompileAnswer(Answer):
    """Whether it builds; the diagnostics are the findings, the kernels its block."""

    component: ClassVar[str | None] = "compiler"
    builds: bool
    arch: str
    compiler: Literal["nvcc", "nvrtc"]
    kind: Literal["program", "library", "kernel"]
    kernels: tuple[KernelResources, ...] = ()

    def structured(self, detail: Detail = "summary") -> dict[str, Any]:
        """The answer as data; by default cut to its token limit, with the number of findings and kernels left out."""
        if detail != "summary":
            return super().structured(detail)
        told: dict[str, Any] = {}
        for cut in cuts():
            told = super(CompileAnswer, self._cut(cut)).structured(detail)
            left_out = {
                "findings_left_out": len(self.findings) - cut.findings,
                "kernels_left_out": len(self.kernels) - cut.kernels,
            }
            told |= {name: number for name, number in left_out.items() if number > 0}
            if fits(told):
                break
        return told

    def text(self, detail: Detail = "summary") -> str:
        """The answer as text, cut in the same way."""
        if detail != "summary":
            return super().text(detail)
        told = ""
        for cut in cuts():
            told = super(CompileAnswer, self._cut(cut)).text(detail)
            left_out = {
                "findings": len(self.findings) - cut.findings,
                "kernels": len(self.kernels) - cut.kernels,
            }
            listed = ", ".join(f"{number} {name}" for name, number in left_out.items() if number > 0)
            told += f"\nleft out: {listed} (detail=evidence tells them)" if listed else ""
            if fits(told):
                break
        return told

    def _cut(self, cut: Cut) -> "CompileAnswer":
        told = [
            finding if index < cut.full else finding.model_copy(update=_BARE)
            for index, finding in enumerate(self.findings[: cut.findings])
        ]
        return self.model_copy(update={"findings": tuple(told), "kernels": self.kernels[: cut.kernels]})

    def block(self, detail: Detail) -> dict[str, Any]:
        """The kernels, without what is zero or unknown."""
        data: dict[str, Any] = {"builds": self.builds, "arch": self.arch}
        data["kernels"] = [_kernel_data(kernel, detail) for kernel in self.kernels[:MAX_KERNELS]]
        if len(self.kernels) > MAX_KERNELS:
            data["kernels_left_out"] = len(self.kernels) - MAX_KERNELS
        return data

    def block_lines(self, detail: Detail) -> list[str]:
        """One line of resources, of occupancy and of the next cliff per kernel."""
        lines = [line for kernel in self.kernels[:MAX_KERNELS] for line in _kernel_lines(kernel, detail)]
        if len(self.kernels) > MAX_KERNELS:
            lines.append(f"left out: {len(self.kernels) - MAX_KERNELS} kernels")
        return lines


_BLOCKS = {
    "launch": " threads/block as launched",
    "launch bounds": " threads/block",
    "assumed": " threads/block",
}
_COUNTS = (
    ("registers", "registers"),
    ("static_shared_bytes", "bytes shared"),
    ("dynamic_shared_bytes", "bytes dynamic shared"),
    ("barriers", "named barriers"),
    ("stack_bytes", "bytes stack"),
    ("spill_store_bytes", "bytes spill stores"),
    ("spill_load_bytes", "bytes spill loads"),
)


def _kernel_data(kernel: KernelResources, detail: Detail) -> dict[str, Any]:
    if detail != "summary":
        return kernel.model_dump(exclude_none=True, exclude_defaults=True)
    data: dict[str, Any] = {"name": _label(kernel)}
    data |= {name: value for name, _ in _COUNTS if (value := getattr(kernel, name))}
    if kernel.max_threads:
        data["max_threads"] = kernel.max_threads
    if kernel.uses_dynamic_shared and kernel.dynamic_shared_bytes is None:
        data["dynamic_shared_bytes"] = "set at launch"
    if kernel.occupancy:
        data["occupancy"] = _occupancy(kernel)
    cliff = _cliff(kernel)
    if cliff:
        data["cliff"] = cliff.change if len(kernel.occupancy) == 1 else str(cliff)
    return data


def _kernel_lines(kernel: KernelResources, detail: Detail) -> list[str]:
    counts = [f"{value:,} {unit}" for name, unit in _COUNTS if (value := getattr(kernel, name))]
    counts = [count.removesuffix("s") if count.startswith("1 ") else count for count in counts]
    if kernel.uses_dynamic_shared and kernel.dynamic_shared_bytes is None:
        counts.append("dynamic shared set at launch")
    lines = [f"{_label(kernel)}: {', '.join(counts)}"]
    if kernel.occupancy:
        lines.append(f"  occupancy {_occupancy(kernel)}")
    cliff = _cliff(kernel)
    if detail == "summary":
        return [*lines, f"  {cliff.change if len(kernel.occupancy) == 1 else cliff}"] if cliff else lines
    lines += [f"  {held}" for held in kernel.occupancy]
    lines += [f"  {change}" for change in (kernel.next_loss, kernel.next_gain) if change]
    return [*lines, f"  symbol {kernel.mangled}"]


def _label(kernel: KernelResources) -> str:
    """The name without parameters, shortened in the middle where templates make it long."""
    name = kernel.short_name
    return (
        name
        if len(name) <= _NAME_CHARACTERS
        else f"{name[: _NAME_CHARACTERS // 2]}…{name[-_NAME_CHARACTERS // 2 :]}"
    )


def _occupancy(kernel: KernelResources) -> str:
    """Equal neighbours joined: `75 % at 128-512 threads/block, 50 % at 1024 (registers)`."""
    groups: list[list[Occupancy]] = []
    for held in kernel.occupancy:
        like = groups and groups[-1][0].percent == held.percent
        if like and (held.percent == 100 or groups[-1][0].limited_by == held.limited_by):
            groups[-1].append(held)
        else:
            groups.append([held])
    parts: list[str] = []
    for index, group in enumerate(groups):
        first, last = group[0], group[-1]
        sizes = f"{first.block_threads}-{last.block_threads}" if len(group) > 1 else f"{first.block_threads}"
        unit = _BLOCKS[kernel.block_from] if index == 0 else ""
        limit = "" if first.percent == 100 else f" (limit {' and '.join(first.limited_by)})"
        parts.append(f"{first.percent:g} % at {sizes}{unit}{limit}")
    return ", ".join(parts)


def _cliff(kernel: KernelResources) -> Cliff | None:
    """The change that matters most: a gain while warps are missing, else the nearest loss."""
    full = all(held.percent == 100 for held in kernel.occupancy)
    return kernel.next_loss if full else kernel.next_gain or kernel.next_loss
