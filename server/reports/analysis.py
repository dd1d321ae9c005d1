"""What static analysis tells: findings by layer, and per kernel its resources and what its machine code is made of."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, NamedTuple

from .answer import Answer, Detail
from .finding import Finding
from .fitting import fits
from .number import Frozen

DEFAULT_TOKENS = 598
EXCERPT_CHARACTERS = 110
MIX_SHOWN = 3
Layer = Literal["source", "ptx", "sass", "proof"]


class KernelAnalysis(Frozen):
    """One kernel. Counts are static instructions; None is unknown.

    `mix` counts instructions by kind, `access_bits` global accesses by width; `block` is the block shape it was looked
    at with, `assumed_block` where nothing says it; `proof` is a race and barrier proof's verdict with its launch.
    """

    name: str
    registers: int | None = None
    spill_bytes: int | None = None
    static_shared_bytes: int | None = None
    instructions: int | None = None
    mix: Mapping[str, int] = {}
    access_bits: Mapping[str, int] = {}
    block: str | None = None
    assumed_block: bool = False
    proof: str | None = None

    def data(self, detail: Detail) -> dict[str, Any]:
        """Without what is unknown or empty; by default only the largest parts of the mix, in percent."""
        told = self.model_dump(exclude_none=True, exclude_defaults=True)
        for name in ("spill_bytes", "static_shared_bytes"):
            if told.get(name) == 0:
                del told[name]
        if detail == "summary":
            told.pop("access_bits", None)
            told.pop("proof", None)  # told with its launch among the checks
            if self.mix:
                told["mix"] = self.mix_text
        return told

    @property
    def mix_text(self) -> str:
        """The largest parts of the mix in percent, and tensor instructions always."""
        total = sum(self.mix.values()) or 1
        largest = sorted(self.mix, key=lambda kind: -self.mix[kind])[:MIX_SHOWN]
        shown = [*largest, *(kind for kind in ("tensor", "fp64") if kind in self.mix and kind not in largest)]
        return ", ".join(f"{kind} {100 * self.mix[kind] / total:.0f}%" for kind in shown)

    def line(self, detail: Detail) -> str:
        """The same facts in a line."""
        parts: list[str] = []
        if self.registers is not None:
            parts.append(f"{self.registers} registers")
        if self.spill_bytes:
            parts.append(f"{self.spill_bytes:,} B spilled")
        if self.static_shared_bytes:
            parts.append(f"{self.static_shared_bytes:,} B shared")
        if self.instructions is not None:
            parts.append(f"{self.instructions} instructions ({self.mix_text})")
        if self.access_bits and detail != "summary":
            widths = ", ".join(f"{count} of {bits}" for bits, count in self.access_bits.items())
            parts.append(f"global accesses by bits: {widths}")
        if self.block is not None:
            parts.append(f"block {self.block}{' assumed' if self.assumed_block else ''}")
        if self.proof is not None and detail != "summary":
            parts.append(self.proof)
        return f"{self.name}: " + "; ".join(parts) if parts else self.name


class _Cut(NamedTuple):
    """How many findings are told, how many of them with excerpt and suggestion, and how many kernels."""

    findings: int
    full: int
    kernels: int


def _cuts() -> Iterator[_Cut]:
    yield from (_Cut(6, 6, 6), _Cut(6, 3, 6), _Cut(6, 2, 5), _Cut(6, 1, 4), _Cut(6, 1, 3))
    yield from (_Cut(count, 1, kernels) for count in (5, 4, 3, 2, 1) for kernels in (3, 2, 1))


class AnalysisAnswer(Answer):
    """Static findings, joined over the layers; the kernels are its block. `builds` is None where no build was needed."""

    component: ClassVar[str | None] = "analyzer"
    arch: str
    builds: bool | None = None
    kernels: tuple[KernelAnalysis, ...] = ()

    def structured(self, detail: Detail = "summary") -> dict[str, Any]:
        """The answer as data; by default cut to its token limit, saying how much is left out."""
        if detail != "summary":
            return super().structured(detail)
        told: dict[str, Any] = {}
        for cut in _cuts():
            told = super(AnalysisAnswer, self._cut(cut)).structured(detail)
            told |= {f"{name}_left_out": number for name, number in self._left_out(cut).items()}
            if fits(told, DEFAULT_TOKENS):
                break
        return told

    def text(self, detail: Detail = "summary") -> str:
        """The answer as text, cut in the same way."""
        if detail != "summary":
            return super().text(detail)
        told = ""
        for cut in _cuts():
            told = super(AnalysisAnswer, self._cut(cut)).text(detail)
            listed = ", ".join(f"{number} {name}" for name, number in self._left_out(cut).items())
            told += f"\nleft out: {listed} (detail=evidence tells them)" if listed else ""
            if fits(told, DEFAULT_TOKENS):
                break
        return told

    def _left_out(self, cut: _Cut) -> dict[str, int]:
        counts = {
            "findings": len(self.findings) - cut.findings,
            "kernels": len(self.kernels) - cut.kernels,
        }
        return {name: number for name, number in counts.items() if number > 0}

    def _cut(self, cut: _Cut) -> "AnalysisAnswer":
        told = [
            _short(finding, full=index < cut.full)
            for index, finding in enumerate(self.findings[: cut.findings])
        ]
        return self.model_copy(update={"findings": tuple(told), "kernels": self.kernels[: cut.kernels]})

    def block(self, detail: Detail) -> dict[str, Any]:
        """The architecture, whether it builds, and the kernels."""
        data: dict[str, Any] = {"arch": self.arch}
        if self.builds is not None:
            data["builds"] = self.builds
        data["kernels"] = [kernel.data(detail) for kernel in self.kernels]
        return data

    def block_lines(self, detail: Detail) -> list[str]:
        """One line a kernel."""
        return [kernel.line(detail) for kernel in self.kernels]


def _short(finding: Finding, *, full: bool) -> Finding:
    update: dict[str, Any] = {"excerpt": None}
    if not full or finding.severity == "note":
        update["suggestion"] = None
    elif finding.excerpt is not None:
        update["excerpt"] = finding.excerpt[:EXCERPT_CHARACTERS]
    return finding.model_copy(update=update)
