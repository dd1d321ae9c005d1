"""ptxas: what `-v` says of each function's resources, wherever it was run from (nvcc, NVRTC, or by itself)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..errors import UnreadableOutput

_LINE = re.compile(r"ptxas info\s*: (?P<text>.*)")
_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)' for '(?P<arch>\w+)'")
_PROPERTIES = re.compile(r"Function properties for '?(?P<name>[^\s']+)'?")
_FRAME = re.compile(
    r"(?:ptxas +\.)? +(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers(?P<rest>(?:, .+)?)")
_AMOUNT = re.compile(
    r"(?:used )?(\d+) (barriers|textures|samplers|surfaces|bytes (?:[sl]mem|cumulative stack size|cmem\[\d+\]))"
)


@dataclass(frozen=True, slots=True)
class FunctionResources:
    """One function as ptxas built it: registers per thread, bytes per thread (stack, spills) and per block (shared).

    `is_entry` tells a kernel from a device function that was not inlined; what ptxas did not say is None.
    """

    mangled: str
    is_entry: bool
    registers: int | None = None
    stack_bytes: int | None = None
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    barriers: int | None = None
    shared_bytes: int | None = None
    constant_bytes: int | None = None
    cumulative_stack_bytes: int | None = None

    @property
    def spills(self) -> bool:
        """Whether registers are spilled to local memory."""
        return bool(self.spill_store_bytes or self.spill_load_bytes)


def parse(log: str) -> tuple[FunctionResources, ...]:
    """Every function of the log, in its order. Raises UnreadableOutput for a resource line of unknown form."""
    found: dict[str, FunctionResources] = {}
    entry = current = None
    for line in log.splitlines():
        if frame := _FRAME.fullmatch(line):
            if current is None:
                raise UnreadableOutput("ptxas reports a stack frame of no function", line)
            stack, stores, loads = (int(number) for number in frame.groups())
            found[current] = replace(
                found[current], stack_bytes=stack, spill_store_bytes=stores, spill_load_bytes=loads
            )
            continue
        info = _LINE.fullmatch(line)
        if not info:
            continue
        text = info["text"]
        if start := _ENTRY.fullmatch(text):
            entry = current = start["name"]
            found[entry] = FunctionResources(entry, is_entry=True)
        elif properties := _PROPERTIES.fullmatch(text):
            current = properties["name"]
            found.setdefault(current, FunctionResources(current, is_entry=False))
        elif text.startswith("Used "):
            if entry is None:
                raise UnreadableOutput("ptxas reports registers of no function", line)
            found[entry] = _with_usage(found[entry], text)
    return tuple(found.values())


def _with_usage(function: FunctionResources, text: str) -> FunctionResources:
    used = _USED.fullmatch(text)
    if not used:
        raise UnreadableOutput("unknown resource line of ptxas", text)
    amounts = dict(_amounts(used["rest"].split(", ")[1:], text))
    constants = [amount for kind, amount in amounts.items() if kind.startswith("bytes cmem")]
    return replace(
        function,
        registers=int(used["registers"]),
        barriers=amounts.get("barriers", 0),
        shared_bytes=amounts.get("bytes smem", 0),
        constant_bytes=sum(constants) if constants else None,
        cumulative_stack_bytes=amounts.get("bytes cumulative stack size"),
    )


def _amounts(parts: Iterable[str], text: str) -> Iterable[tuple[str, int]]:
    for part in parts:
        amount = _AMOUNT.fullmatch(part)
        if not amount:
            raise UnreadableOutput("unknown resource line of ptxas", text)
        yield amount[2], int(amount[1])
