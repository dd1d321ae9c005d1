"""nvcc: what to ask of it for each kind of source. What it says is read by `diagnostics` and `ptxas`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from ..command import Command, Input
from ..errors import InvalidRequest
from .flags import nvcc_flags

Target = Literal["program", "library"]
MACROS_NAME = "warpwise_macros.h"
PROGRAM_NAME = "program"
_SAFE_NAME = re.compile(r"[A-Za-z0-9_./+@=~ -]+")
PTXAS_OPTIONS = "-v,-warn-spills,-warn-lmem-usage"
MAX_LOG_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Unit:
    """One source file to build, with the files it includes.

    `macros` are plain -D arguments; macros that are not plain stand in the input MACROS_NAME. `linked` are further
    arguments of a program's link; the inputs they name are among `inputs`.
    """

    main: str
    inputs: Mapping[str, Input]
    macros: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()

    def has(self, flag: str) -> bool:
        """Whether the caller gave a flag (by its short name), with any value."""
        return any(given.partition("=")[0] == flag for given in self.flags)


def kept_names(main: str, arch: str) -> tuple[str, str]:
    """The names under which nvcc keeps its (PTX, cubin) of a source."""
    stem = PurePosixPath(main).stem
    return f"{stem}.ptx", f"{stem}.{arch}.cubin"


def command(unit: Unit, arch: str, target: Target, timeout_s: float) -> Command:
    """Build a program to `program`, or anything else to an object that nobody links; PTX and cubin are kept of both.

    SASS is for exactly `arch`, and so is the PTX beside it: `-arch=sm_90a` would also compile for plain compute_90.
    """
    check_name(unit.main)
    virtual = arch.replace("sm_", "compute_")
    arguments = [
        f"-gencode=arch={virtual},code=[{arch},{virtual}]",
        "-keep",
        "-I.",
        f"-Xptxas={PTXAS_OPTIONS}",
    ]
    arguments += [] if unit.has("-G") else ["-lineinfo"]
    arguments += [] if unit.has("-O") else ["-O3"]
    arguments += [] if unit.has("-std") else ["-std=c++17"]
    arguments += ["-Xcompiler=-g", *unit.macros]
    arguments += ["-include", MACROS_NAME] if MACROS_NAME in unit.inputs else []
    arguments += [flag for flag in nvcc_flags(unit.flags) if flag != "-lineinfo"]
    arguments += ["-o", PROGRAM_NAME] if target == "program" else ["-c", "-o", "kernel.o"]
    if PurePosixPath(unit.main).suffix != ".cu":
        arguments += ["-x", "cu"]
    return Command(
        program="nvcc",
        arguments=(*arguments, unit.main, *(unit.linked if target == "program" else ())),
        inputs=unit.inputs,
        outputs=(*kept_names(unit.main, arch), *((PROGRAM_NAME,) if target == "program" else ())),
        kind="compile",
        timeout_s=timeout_s,
        max_output_bytes=MAX_LOG_BYTES,
    )


def check_name(main: str) -> None:
    """nvcc hands file names to a shell: refuse those that a shell would read. Raises InvalidRequest."""
    if not _SAFE_NAME.fullmatch(main) or main.startswith("-"):
        raise InvalidRequest(
            f"nvcc cannot take the file name {main!r}", "Use letters, digits, and _ . + - @ = only."
        )
