"""What works on a machine, what does not, and what would mend it: three states, small enough for any context."""

from typing import Any, Literal

from .answer import Answer, Detail
from .number import Frozen

State = Literal["works", "limited", "missing"]


class Capability(Frozen):
    """One thing that a machine can do: `by` says with what, or why not; `mend` what would make it work."""

    name: str
    state: State
    by: str
    mend: str | None = None


class CapabilitiesAnswer(Answer):
    """The capabilities in the order of the work: build, look, run, measure."""

    capabilities: tuple[Capability, ...]

    def block(self, detail: Detail) -> dict[str, Any]:
        """`{name: "state: by; mend"}`, the shortest shape that says all three."""
        return {"capabilities": {capability.name: _line(capability) for capability in self.capabilities}}

    def block_lines(self, detail: Detail) -> list[str]:
        """One line for each capability."""
        return [f"{capability.name}: {_line(capability)}" for capability in self.capabilities]


def _line(capability: Capability) -> str:
    return f"{capability.state}: {capability.by}" + (f" -> {capability.mend}" if capability.mend else "")
