"""Compile one kernel-only source with NVRTC: a process of its own, because a compile cannot be cancelled and may crash.

Run as `python -I nvrtc_worker.py SOURCE OPTION...` in a work folder. It leaves kernel.ptx and kernel.cubin, prints
the compiler's log on stderr and exits 0 (built), 1 (does not compile) or 3 (NVRTC cannot be used; the reason on
stderr). It imports nothing of warpwise.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

# Host headers that kernel files include out of habit. NVRTC has no host headers: these hold what device code may use.
_MATH = """fabs sqrt rsqrt cbrt exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh
pow fmod fma hypot erf erfc floor ceil round trunc rint nearbyint fmin fmax copysign ldexp lround isnan isinf isfinite"""
_MATH_MACROS = {
    "INFINITY": "__int_as_float(0x7f800000)", "NAN": "__int_as_float(0x7fffffff)",
    "HUGE_VALF": "__int_as_float(0x7f800000)", "HUGE_VAL": "__longlong_as_double(0x7ff0000000000000ll)",
    "M_PI": "3.14159265358979323846", "M_PI_2": "1.57079632679489661923", "M_E": "2.7182818284590452354",
    "M_SQRT2": "1.41421356237309504880", "M_LN2": "0.69314718055994530942", "M_LOG2E": "1.4426950408889634074",
}  # fmt: skip
_NOTHING = """cuda_runtime.h cuda_runtime_api.h cuda.h device_launch_parameters.h driver_types.h device_functions.h
math_functions.h cassert assert.h cstdio stdio.h cstdlib stdlib.h cstring string.h ctime time.h iostream iomanip fstream
sstream string vector map chrono random memory thread mutex stdexcept exception"""
_OF_CUDA_STD = """cstdint climits cfloat cstddef limits type_traits utility array tuple algorithm functional numeric
complex bit span optional initializer_list"""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ALWAYS = (
    "nvcc_macros.h"  # nvcc reads math.h before every source: INFINITY and NAN are there without an include
)


def stand_ins() -> dict[str, str]:
    """Headers by name, for those that NVRTC does not have."""
    constants = "".join(
        f"#ifndef {name}\n#define {name} {value}\n#endif\n" for name, value in _MATH_MACROS.items()
    )
    math = constants + "namespace std { " + " ".join(f"using ::{name};" for name in _MATH.split()) + " }\n"
    held = dict.fromkeys(_NOTHING.split(), "") | dict.fromkeys(("cmath", "math.h"), math)
    for name in _OF_CUDA_STD.split():
        held[name] = f"#include <cuda/std/{name}>\nnamespace std {{ using namespace ::cuda::std; }}\n"
    held |= {
        name: held[f"c{name.removesuffix('.h')}"] for name in ("stdint.h", "limits.h", "float.h", "stddef.h")
    }
    held[_ALWAYS] = constants
    return {name: f"#pragma once\n{text}" for name, text in held.items()}


def _toolkit_folders() -> list[str]:
    """The include folders of the toolkit: those the daemon names, else those of the installed wheels."""
    given = [folder for folder in os.environ.get("WARPWISE_CUDA_INCLUDE", "").split(os.pathsep) if folder]
    if given:
        return given
    from cuda.pathfinder import locate_nvidia_header_directory

    found = [locate_nvidia_header_directory(name) for name in ("cudart", "cccl")]
    return [str(header.abs_path) for header in found if header is not None and header.abs_path]


def _compile(nvrtc: ModuleType, source: Path, options: list[str]) -> int:
    headers = {name: text for name, text in stand_ins().items() if not Path(name).is_file()}
    error, program = nvrtc.nvrtcCreateProgram(
        source.read_bytes().removeprefix(_BYTE_ORDER_MARK),
        str(source).encode(),
        len(headers),
        [text.encode() for text in headers.values()],
        [name.encode() for name in headers],
    )
    if error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        return _unusable(f"nvrtcCreateProgram: {error.name}")
    folders = (f"-I{folder}" for folder in _toolkit_folders())
    given = [option.encode() for option in (*options, f"--pre-include={_ALWAYS}", *folders)]
    (ended,) = nvrtc.nvrtcCompileProgram(program, len(given), given)

    def told(size: Callable[[Any], Any], get: Callable[[Any, bytes], Any]) -> bytes:
        error, length = size(program)
        if int(error) or length < 2:  # nothing, or the terminating zero alone
            return b""
        held = b" " * length
        return b"" if int(get(program, held)[0]) else held

    log = told(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
    sys.stderr.buffer.write(log.replace(b"\0", b"").rstrip(b" \n") + b"\n")
    if ptx := told(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX).rstrip(b"\0 "):
        Path("kernel.ptx").write_bytes(ptx)
    if cubin := told(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN):
        Path("kernel.cubin").write_bytes(cubin)
    if ended in (nvrtc.nvrtcResult.NVRTC_SUCCESS, nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION):
        return int(ended != nvrtc.nvrtcResult.NVRTC_SUCCESS)
    return _unusable(f"nvrtcCompileProgram: {ended.name}")


def _warm_up(nvrtc: ModuleType) -> None:
    """Compile next to nothing: the first compile of a process takes 0.1 s longer than the next."""
    error, program = nvrtc.nvrtcCreateProgram(b"__global__ void kernel() {}", b"warm.cu", 0, [], [])
    if error == nvrtc.nvrtcResult.NVRTC_SUCCESS:
        nvrtc.nvrtcCompileProgram(program, 1, [b"-arch=sm_90"])


def _unusable(reason: str) -> int:
    sys.stderr.write(f"nvrtc unusable: {reason}\n")
    return 3


def main(arguments: list[str]) -> int:
    """Compile the source that the first argument names, with the rest as NVRTC's options.

    With the one argument `--wait` it loads NVRTC, says `ready`, and reads its arguments as a line of JSON.
    """
    try:
        nvrtc = importlib.import_module("cuda.bindings.nvrtc")
        if arguments == ["--wait"]:
            _warm_up(nvrtc)
            print("ready", flush=True)
            line = sys.stdin.readline()
            if not line:
                return 0
            arguments = json.loads(line)
        return _compile(nvrtc, Path(arguments[0]), arguments[1:])
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        return _unusable(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
