"""cuda-gdb over a GPU core dump, in batch: which exception, in which kernel, block, thread, instruction and line."""

import re
from dataclasses import dataclass

from ..command import Command, Input
from ..errors import UnreadableOutput

CORE_NAME = "core.gpu"
CORE_ENVIRONMENT = {
    "CUDA_ENABLE_COREDUMP_ON_EXCEPTION": "1",
    "CUDA_COREDUMP_FILE": CORE_NAME,
    "CUDA_COREDUMP_GENERATION_FLAGS": "skip_shared_memory,skip_local_memory,skip_global_memory",
}
_MAX_FUNCTION_BYTES = 1 << 24
_HEX = r"0x[0-9a-fA-F]+"
_EXCEPTION = re.compile(r"^CUDA Exception: (.+)$", re.MULTILINE)
_TRIGGERED = re.compile(
    rf"^The exception was triggered at PC ({_HEX})(?:[ \t]+(?!\([^()\n]+:\d+\)[ \t]*$)([^\n]*?))?"
    r"(?:[ \t]+\(([^()\n]+):(\d+)\))?[ \t]*$",
    re.MULTILINE,
)
_FOCUS = re.compile(
    r"^\[Current focus set to CUDA kernel \d+, grid \d+, (?:cluster \([\d,]+\), )?block \((\d+),(\d+),(\d+)\), "
    r"thread \((\d+),(\d+),(\d+)\)",
    re.MULTILINE,
)
_FRAME = re.compile(
    rf"^#0 +(?:{_HEX} in )?(.+?)<<<\((\d+),(\d+),(\d+)\),\((\d+),(\d+),(\d+)\)>>> \(.*?\)(?: at (.+):(\d+))?$",
    re.MULTILINE,
)
_INSTRUCTION = re.compile(rf"^(?:=>|\*>)?\s*({_HEX})\s+<(\S+?)(?:\+(\d+))?>:\s+(.+?)\s*$", re.MULTILINE)

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Crash:
    """A GPU exception; unknown parts are None. `path` and `line` are where it was triggered, as the line table has them.

    `pc` is the faulting instruction's offset into its function, `instruction` its text where it was disassembled.
    """

    exception: str
    kernel: str | None
    path: str | None
    line: int | None
    block: Dim3 | None
    thread: Dim3 | None
    grid: Dim3 | None
    block_size: Dim3 | None
    pc: int | None
    instruction: str | None


def command(executable: Input, core: Input, timeout_s: float = 60.0) -> Command:
    """Ask cuda-gdb what a core dump says; the dump alone is read, no GPU is used.

    The exception's own address lies a few instructions before $pc: $errorpc holds it where the debugger knows it.
    """
    focus = (f"target cudacore {CORE_NAME}", "bt", "info cuda kernels")
    asked = (*focus, "x/2i $pc", "x/1i $errorpc", "x/6i $pc-80")
    return Command(
        program="cuda-gdb",
        arguments=("-batch", "-nx", *(part for line in asked for part in ("-ex", line)), "./program"),
        inputs={"program": executable, CORE_NAME: core},
        kind="analyze",
        timeout_s=timeout_s,
    )


def parse(output: str) -> Crash:
    """Read the debugger's answer. Raises UnreadableOutput where it names no exception."""
    exception = _EXCEPTION.search(output)
    if exception is None:
        raise UnreadableOutput("cuda-gdb names no exception of the core dump", output.strip()[-200:])
    triggered, focus, frame = _TRIGGERED.search(output), _FOCUS.search(output), _FRAME.search(output)
    trigger = int(triggered[1], 16) if triggered else None
    path, line = (frame[8], frame[9]) if frame else (None, None)
    if triggered and triggered[4] and triggered[4] != line:
        path, line = _full_path(path, triggered[3]), triggered[4]
    return Crash(
        exception=exception[1].strip().removesuffix("."),
        kernel=_kernel(triggered[2] if triggered else None, frame[1] if frame else None),
        path=path,
        line=int(line) if line else None,
        block=_dim3(focus, 1),
        thread=_dim3(focus, 4),
        grid=_dim3(frame, 2),
        block_size=_dim3(frame, 5),
        pc=None if trigger is None else _offset(output, trigger),
        instruction=None if trigger is None else _instruction(output, trigger),
    )


def _full_path(frame_path: str | None, short: str) -> str:
    """The trigger line names the file without its folder; the frame has the whole path where both mean one file."""
    return frame_path if frame_path and frame_path.rpartition("/")[2] == short.rpartition("/")[2] else short


def _kernel(signature: str | None, frame_name: str | None) -> str | None:
    name = frame_name or signature
    return name.strip() if name and name.strip() else None


def _dim3(found: re.Match[str] | None, first: int) -> Dim3 | None:
    return (int(found[first]), int(found[first + 1]), int(found[first + 2])) if found else None


def _offset(output: str, trigger: int) -> int | None:
    """How far into its function: any disassembled instruction of the same function tells where that starts."""
    for address, _, offset, _ in _INSTRUCTION.findall(output):
        found = trigger - int(address, 16) + int(offset or 0)
        if 0 <= found < _MAX_FUNCTION_BYTES:
            return found
    return None


def _instruction(output: str, trigger: int) -> str | None:
    return next(
        (text for address, _, _, text in _INSTRUCTION.findall(output) if int(address, 16) == trigger), None
    )
