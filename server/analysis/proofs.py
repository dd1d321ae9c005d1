"""Race and barrier proofs of a candidate's kernels: which launch each is verified for, and what a verdict means.

The launch is the smallest that still shows the kernel's ways: one block where threads work together, else two small ones
along each axis that the kernel uses; integers that give its loops at least two iterations. A proof holds for that launch
and says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..reports.finding import Confidence, Finding, Location, Severity
from ..toolchain.sentryward import Argument, Proof, Request, Witness
from .evaluation import Block
from .origins import Origins
from .ptx.kernels import PtxKernel
from .ptx.module import Function, Module
from .source.launches import LaunchFacts

SMALL_BLOCK = 64
WARP = 32
DEFAULT_DYNAMIC_BYTES = 16 << 10
_INTEGERS = ("s32", "u32", "b32", "s64", "u64", "b64", "u16", "s16", "u8", "s8", "b8", "b16")
_ORDERING = ("bar", "barrier", "mbarrier", "shfl", "vote")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One kernel with the launch it is verified for; `assumption` is that launch in words."""

    kernel: PtxKernel
    request: Request
    assumption: str


def attempt(kernel: PtxKernel, module: Module, launches: Sequence[LaunchFacts]) -> Attempt:
    """The launch to verify a kernel for."""
    function = kernel.function
    together = _is_cooperative(function)
    block = kernel.block if together else _shrunk(kernel.block)
    grid = (1, 1, 1) if together else _grid(function)
    size = 2 * max(block.x, block.y, block.z)
    pointers = _pointers(function)
    arguments = tuple(
        Argument(parameter=name, type=kind, value=size)
        for name, kind, size_bytes in function.parameters
        if kind in _INTEGERS and size_bytes * 8 == int(kind[1:]) and name not in pointers
    )
    dynamic = _dynamic_bytes(function, module, launches)
    request = Request(
        entry=kernel.mangled,
        grid=grid,
        block=(block.x, block.y, block.z),
        dynamic_shared_bytes=dynamic,
        arguments=arguments,
    )
    blocks = "x".join(str(extent) for extent in grid if extent > 1) or "1"
    sizes = f", integers {size}" if arguments else ""
    return Attempt(kernel, request, f"grid {blocks}, block {block}{sizes}")


def _is_cooperative(function: Function) -> bool:
    """Whether threads work together: through shared memory or a barrier. Otherwise the block's shape does not matter."""
    return any(
        "shared" in each.opcode or each.parts[0] in _ORDERING or each.parts[0] == "call"
        for each in function.instructions
    )


def _shrunk(block: Block) -> Block:
    if block.size <= SMALL_BLOCK:
        return block
    return Block(8, 8) if block.y > 1 else Block(SMALL_BLOCK)


def _grid(function: Function) -> tuple[int, int, int]:
    text = {operand for each in function.instructions for operand in each.operands}
    used = [2 if f"%ctaid.{axis}" in text else 1 for axis in "xyz"]
    return used[0], used[1], used[2]


def _pointers(function: Function) -> set[str]:
    """The parameters that are made addresses."""
    addresses = {
        each.operands[1]
        for each in function.instructions
        if each.parts[0] == "cvta" and len(each.operands) > 1
    }
    return {
        each.operands[1].strip("[]").split("+")[0]
        for each in function.instructions
        if each.opcode.startswith("ld.param") and each.operands[0] in addresses
    }


def _dynamic_bytes(function: Function, module: Module, launches: Sequence[LaunchFacts]) -> int:
    external = [
        name for name, each in module.variables.items() if each.space == "shared" and each.size_bytes == 0
    ]
    used = any(
        name in operand for each in function.instructions for operand in each.operands for name in external
    )
    known = [launch.dynamic_shared_bytes for launch in launches if launch.dynamic_shared_bytes]
    return (max(known) if known else DEFAULT_DYNAMIC_BYTES) if used else 0


def proof_findings(tried: Attempt, proof: Proof, origins: Origins) -> list[Finding]:
    """What a verdict finds; nothing where there is none or the kernel is proved."""
    if proof.verdict == "potential_race":
        return [_race(tried, _most_certain(proof.races), len(proof.races), origins)]
    if proof.verdict == "not_wellsynced":
        return [_deadlock(tried, proof, origins)]
    if proof.verdict == "invalid_lifecycle":
        return [
            _finding(
                tried,
                "proof/lifecycle",
                "error",
                "certain",
                f"Misused barrier or memory: {proof.reason}.",
                None,
            )
        ]
    return []


def _most_certain(races: Sequence[Witness]) -> Witness:
    return min(races, key=lambda race: (not race.is_constant, race.first.line or 0))


def _place(origins: Origins, file: str | None, line: int | None) -> Location | None:
    return None if file is None or line is None else origins.location([(file, line, None)])


def _race(tried: Attempt, race: Witness, count: int, origins: Origins) -> Finding:
    first = _place(origins, race.first.file, race.first.line)
    second = _place(origins, race.second.file, race.second.line)
    shared = race.space == "shared"
    both_write = race.first.mode == race.second.mode == "write"
    one_warp = race.first.thread is not None and race.second.thread is not None
    one_warp = one_warp and (race.first.thread or 0) // WARP == (race.second.thread or 0) // WARP
    severity: Severity = "warning" if (both_write and not shared) or (shared and one_warp) else "error"
    confidence: Confidence = "certain" if race.is_constant and not tried.kernel.block.assumed else "likely"
    one = f"thread {race.first.thread} {_verb(race.first.mode)} (line {race.first.line})"
    other = f"thread {race.second.thread} {_verb(race.second.mode)} (line {race.second.line})"
    message = f"Proved unordered on {race.space} memory: {one} what {other}, with {tried.assumption}."
    rule = "proof/race" if shared else "proof/global-race"
    places = sorted((each for each in (first, second) if each is not None), key=lambda place: place.line or 0)
    finding = _finding(tried, rule, severity, confidence, message, places[-1] if places else None)
    return finding.model_copy(
        update={
            "related": tuple(place for place in places if place != finding.location),
            "evidence": {
                **finding.evidence,
                "threads": [race.first.thread, race.second.thread],
                "offset_bytes": race.offset_bytes,
                "races": count,
            },
            "suggestion": "Order the two with __syncthreads()."
            if shared
            else "Give each thread its own element, use an atomic, or split the kernel.",
        }
    )


def _verb(mode: str | None) -> str:
    return {"write": "writes", "read": "reads"}.get(mode or "", "updates")


def _deadlock(tried: Attempt, proof: Proof, origins: Origins) -> Finding:
    where = proof.blocked
    place = _place(origins, where.file, where.line) if where is not None else None
    message = (
        f"Proved to block: some threads never reach the barrier that others wait at, with {tried.assumption}."
    )
    confidence: Confidence = "likely" if tried.kernel.block.assumed else "certain"
    finding = _finding(tried, "proof/divergent-barrier", "error", confidence, message, place)
    return finding.model_copy(update={"suggestion": "Let every thread of the block reach the barrier."})


def _finding(
    tried: Attempt,
    rule: str,
    severity: Severity,
    confidence: Confidence,
    message: str,
    place: Location | None,
) -> Finding:
    return Finding(
        rule=rule,
        severity=severity,
        confidence=confidence,
        message=message,
        kernel=tried.kernel.name,
        location=place,
        evidence={"launch": tried.assumption},
        confirm="debug checks=[racecheck, synccheck]",
    )
