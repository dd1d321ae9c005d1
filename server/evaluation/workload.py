"""What is to be computed: buffers, scalars, sizes, tolerance and cost. Data only; `workload_file` reads it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from .dtypes import DType, item_bytes
from .expressions import Expression
from .sizes import SizeRule, draw
from .tolerance import Tolerance

Role = Literal["in", "out", "inout"]
Suite = Literal["polybench", "ml", "hpc"]
ROLES: tuple[Role, ...] = get_args(Role)
SUITES: tuple[Suite, ...] = get_args(Suite)
PRESETS = ("tiny", "small", "medium", "large", "xl")
Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Buffer:
    """One array in GPU memory, C order. `tolerance` is None for an input."""

    name: str
    dtype: DType
    dimensions: tuple[Expression, ...]
    role: Role
    tolerance: Tolerance | None

    @property
    def is_output(self) -> bool:
        """Whether it is judged."""
        return self.role != "in"

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        """Its shape at these sizes."""
        return tuple(dimension.evaluate(sizes) for dimension in self.dimensions)

    def elements(self, sizes: Sizes) -> int:
        """How many elements it has at these sizes."""
        return math.prod(self.shape(sizes))

    def size_bytes(self, sizes: Sizes) -> int:
        """Bytes at these sizes."""
        return self.elements(sizes) * item_bytes(self.dtype)

    def __str__(self) -> str:
        return f"{self.role} {self.dtype} {self.name}[{', '.join(map(str, self.dimensions))}]"


@dataclass(frozen=True, slots=True)
class Workload:
    """One problem. `sizes` are its integer parameters with their meaning, `scalars` its floating-point ones.

    `require` holds for every set of sizes. `traffic` is None where each buffer must cross once (inout twice).
    """

    name: str
    title: str
    suite: Suite
    about: str
    folder: Path
    sizes: Mapping[str, str]
    scalars: Mapping[str, DType]
    buffers: Mapping[str, Buffer]
    presets: Mapping[str, Sizes]
    hidden: Mapping[str, SizeRule]
    require: tuple[Expression, ...]
    flop_formula: Expression
    traffic: Expression | None

    @property
    def inputs(self) -> tuple[Buffer, ...]:
        """Buffers that have given contents: in and inout."""
        return tuple(buffer for buffer in self.buffers.values() if buffer.role != "out")

    @property
    def outputs(self) -> tuple[Buffer, ...]:
        """Buffers that are judged: out and inout."""
        return tuple(buffer for buffer in self.buffers.values() if buffer.is_output)

    @property
    def oracle_file(self) -> Path:
        """Its `oracle.py`."""
        return self.folder / "oracle.py"

    @property
    def baseline_file(self) -> Path:
        """Its `baseline.cu`."""
        return self.folder / "baseline.cu"

    def baseline(self) -> str:
        """The source of the baseline."""
        return self.baseline_file.read_text(encoding="utf-8")

    def flops(self, sizes: Sizes) -> int:
        """Arithmetic operations that the textbook algorithm needs."""
        return self.flop_formula.evaluate(sizes)

    def traffic_bytes(self, sizes: Sizes) -> int:
        """Bytes that must cross the GPU memory at least: every input read once, every output written once."""
        if self.traffic is not None:
            return self.traffic.evaluate(sizes)
        return sum(
            buffer.size_bytes(sizes) * (2 if buffer.role == "inout" else 1)
            for buffer in self.buffers.values()
        )

    def memory_bytes(self, sizes: Sizes) -> int:
        """Bytes of all its buffers together."""
        return sum(buffer.size_bytes(sizes) for buffer in self.buffers.values())

    def hidden_sizes(self, seed: str, count: int) -> tuple[dict[str, int], ...]:
        """The hidden sizes that a seed gives."""
        return draw(self.hidden, self.require, seed, count)
