"""The arguments that every tool on a kernel shares, and how they become a candidate. Not a tool."""

from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from .candidate import Candidate
from .reports.answer import Detail
from .tool import Args
from .toolchain.flags import checked_arch, checked_defines, checked_flags
from .workbench import Workbench

MAX_TIMEOUT_S = 3600.0
MAX_WAIT_S = 600.0


def _define_texts(value: object) -> object:
    """Numbers and truth values as the text the preprocessor gets: {"TILE": 32} means -DTILE=32."""
    if not isinstance(value, dict):
        return value
    return {
        name: str(int(given))
        if isinstance(given, bool)
        else str(given)
        if isinstance(given, int | float)
        else given
        for name, given in value.items()  # pyright: ignore[reportUnknownVariableType]
    }


def _one_or_many(value: object) -> object:
    """A single flag is a list of one."""
    return (value,) if isinstance(value, str) else value


Defines = Annotated[
    dict[str, str],
    BeforeValidator(_define_texts),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "number"]}}),
]
Flags = Annotated[
    tuple[str, ...],
    BeforeValidator(_one_or_many),
    WithJsonSchema({"type": "array", "items": {"type": "string"}}),
]


class KernelArgs(Args):
    """Which kernel, how it is built, and how much is told: subclass it and describe the tool here."""

    path: str | SkipJsonSchema[None] = Field(default=None, description="A .cu file below the root.")
    source: str | SkipJsonSchema[None] = Field(default=None, description="CUDA text, instead of path.")
    id: str | SkipJsonSchema[None] = Field(
        default=None, description="A candidate (c-...) of an earlier answer, instead of path."
    )
    arch: str | SkipJsonSchema[None] = Field(
        default=None, description="Build target such as sm_90a; default: this GPU's."
    )
    defines: Defines = Field(default_factory=dict, description="Macros: {name: value}.")
    flags: Flags = Field(default=(), description="Extra nvcc flags, such as -maxrregcount=64.")
    detail: Detail = Field(default="summary", description="How much to tell.")
    timeout_s: float | SkipJsonSchema[None] = Field(
        default=None, gt=0, le=MAX_TIMEOUT_S, description="Deadline of each run, seconds."
    )
    wait_s: float = Field(
        default=45, ge=0, le=MAX_WAIT_S, description="Seconds to wait before the answer becomes a job."
    )

    async def candidate(self, bench: Workbench) -> Candidate:
        """The candidate that is named, its defines and flags checked. Raises InvalidRequest, NotFound."""
        flags = checked_flags(self.flags)
        return await bench.candidate(
            path=self.path, source=self.source, id=self.id, defines=checked_defines(self.defines), flags=flags
        )

    async def build_arch(self, bench: Workbench, candidate: Candidate) -> str:
        """The architecture to build for: the one asked (checked), else what fits this GPU and source."""
        return await bench.arch(checked_arch(self.arch) if self.arch is not None else None, candidate)

    def deadline(self, default_s: float) -> float:
        """The deadline of one run, in seconds: the one asked, else the tool's default."""
        return default_s if self.timeout_s is None else self.timeout_s
