"""nvcc: what to ask of it for each kind of source. What it says is read by `diagnostics` and `ptxas`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from ..command import Command, Input
from ..errors import InvalidRequest
from .flags import nvcc_flags

Target = Literal["program", "library"]
MACROS_NAME = "warpwise_macros.h"
PROGRAM_NAME = "program"
_SAFE_NAME = re.compile(r"[A-Za-z0-9_./+@=~ -]+")
_PTXAS_OPTIONS = "-v,-warn-spills,-warn-lmem-usage"


@dataclass(frozen=True, slots=True)
class Unit:
    """One source file to build with the files it includes; `macros` are plain -D arguments, `linked` more host inputs."""

    main: str
    inputs: Mapping[str, Input]
    macros: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    linked: tuple[str, ...] = field(default=())


def kept_names(main: str, arch: str) -> tuple[str, str]:
    """The names under which nvcc keeps its (PTX, cubin) of a source."""
    stem = PurePosixPath(main).stem
    return f"{stem}.ptx", f"{stem}.{arch}.cubin"


def command(unit: Unit, arch: str, target: Target, timeout_s: float) -> Command:
    """Build a program to `program`, or anything else to an object that nobody links; PTX and cubin are kept of both."""
    check_name(unit.main)
    given = {flag.partition("=")[0] for flag in unit.flags}
    arguments = [f"-arch={arch}", "-lineinfo", "-keep", "-I.", f"-Xptxas={_PTXAS_OPTIONS}"]
    arguments += [] if "-O" in given else ["-O3"]
    arguments += [] if "-std" in given else ["-std=c++17"]
    arguments += ["-Xcompiler=-g", *unit.macros]
    if MACROS_NAME in unit.inputs:
        arguments += ["-include", MACROS_NAME]
    arguments += nvcc_flags(unit.flags)
    arguments += ["-o", PROGRAM_NAME] if target == "program" else ["-c", "-o", "kernel.o"]
    if PurePosixPath(unit.main).suffix != ".cu":
        arguments += ["-x", "cu"]
    return Command(
        program="nvcc",
        arguments=(*arguments, unit.main, *unit.linked),
        inputs=unit.inputs,
        outputs=(*kept_names(unit.main, arch), *((PROGRAM_NAME,) if target == "program" else ())),
        kind="compile",
        timeout_s=timeout_s,
        max_output_bytes=4 << 20,
    )


def check_name(main: str) -> None:
    """nvcc hands file names to a shell: refuse those that a shell would read. Raises InvalidRequest."""
    if not _SAFE_NAME.fullmatch(main) or main.startswith("-"):
        raise InvalidRequest(
            f"nvcc cannot take the file name {main!r}", "Use letters, digits, and _ . + - @ = only."
        )
