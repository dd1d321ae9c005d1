"""NVRTC, the runtime compiler: quick, and without a host compiler, for sources that hold nothing but device code.

It runs in a child (`nvrtc_worker.py`), prints the log that nvcc would print, and leaves PTX and cubin. This module
says what to ask, and when the answer "does not compile" is NVRTC's limit rather than the source's fault.
"""

import re
from collections.abc import Iterable

from ..command import Command, Finished
from ..errors import InvalidRequest, Unavailable, UnreadableOutput
from .flags import nvrtc_flags
from .nvcc import MACROS_NAME, MAX_LOG_BYTES, PTXAS_OPTIONS, Unit

PTX_NAME = "kernel.ptx"
CUBIN_NAME = "kernel.cubin"
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([^>\n]+)>", re.MULTILINE)
_QUICK_HEADERS = re.compile(
    r"cuda(?:_runtime|_runtime_api|_fp16|_bf16|_fp8|_fp6|_fp4|_pipeline|_awbarrier)?\.h|device_launch_parameters\.h"
    r"|driver_types\.h|device_functions\.h|math_(?:functions|constants)\.h|vector_types\.h|mma\.h|cooperative_groups\.h"
    r"|c?(?:stdio|stdlib|string|assert|math|stdint|limits|float|stddef)(?:\.h)?|(?:cooperative_groups|cuda)/.+"
)
_HOST_CODE = re.compile(r"host (?:functions|variables) are not allowed in JIT mode")
_LIMIT = re.compile(
    rf"{_HOST_CODE.pattern}|cannot open source file|#error directive|namespace \"std\" has no"
    r"|name followed by \"::\" must be|unrecognized option|unrecognized token|__host__"
)


def takes(unit: Unit) -> bool:
    """Whether NVRTC takes every flag of a unit."""
    return nvrtc_flags(unit.flags) is not None


def is_quicker(sources: Iterable[str]) -> bool:
    """Whether NVRTC is the quicker way to build these files: they include only headers that it has or stands in for."""
    return all(_QUICK_HEADERS.fullmatch(name) for source in sources for name in _INCLUDE.findall(source))


def command(unit: Unit, arch: str, timeout_s: float) -> Command:
    """Compile a source without host code to kernel.ptx and kernel.cubin, for exactly one architecture."""
    if re.search(r'[\x00-\x1f\x7f"\\]', unit.main) or unit.main.startswith("-"):
        raise InvalidRequest(f"NVRTC cannot take the file name {unit.main!r}", "Use a plain file name.")
    arguments = [
        unit.main,
        f"-arch={arch}",
        "-I.",
        *(f"-Xptxas={option}" for option in PTXAS_OPTIONS.split(",")),
    ]
    arguments += [] if unit.has("-G") else ["-lineinfo"]
    arguments += [] if unit.has("-std") else ["-std=c++17"]
    arguments += [*unit.macros, *(flag for flag in nvrtc_flags(unit.flags) or () if flag != "-lineinfo")]
    arguments += [f"-include={MACROS_NAME}"] if MACROS_NAME in unit.inputs else []
    return Command(
        program="nvrtc",
        arguments=tuple(arguments),
        inputs=unit.inputs,
        outputs=(PTX_NAME, CUBIN_NAME),
        kind="compile",
        timeout_s=timeout_s,
        max_output_bytes=MAX_LOG_BYTES,
    )


def log(finished: Finished) -> str:
    """What the compiler said. Raises Unavailable where NVRTC itself could not be used, or UnreadableOutput."""
    text = (finished.stderr + finished.stdout).decode("utf-8", "replace")
    if finished.exit_code in (0, 1):
        return text
    if "invalid value for --gpu-architecture" in text:
        raise InvalidRequest(
            "this NVRTC does not build for that arch", "Ask for another arch, or update the toolkit."
        )
    if finished.exit_code == 3 and (reason := re.search(r"nvrtc unusable: (.*)", text)):
        raise Unavailable(f"NVRTC cannot be used: {reason[1]}", "pip install 'warpwise[toolchain]'")
    raise UnreadableOutput(f"the NVRTC worker ended with exit code {finished.exit_code}", text)


def is_limit(text: str) -> bool:
    """Whether a failing log speaks of something that NVRTC lacks and nvcc may have."""
    return bool(_LIMIT.search(text))


def has_host_code(text: str) -> bool:
    """Whether a failing log speaks of host functions, which no NVRTC compiles."""
    return bool(_HOST_CODE.search(text))
