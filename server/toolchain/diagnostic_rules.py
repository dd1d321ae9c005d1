"""Names for what compilers say, stable over their versions, and what to do about each.

A rule is `<program>-<code>` where the program gives a code (`nvcc-177`, `gcc-Wformat`, `ptxas-C7510`), else
`<program>-<name>` from the tables below, else `<program>-<severity>`. The front end of nvcc and of NVRTC is one.
"""

import re
from collections.abc import Mapping

from .diagnostics import Diagnostic

_FRONT_END: tuple[tuple[str, str], ...] = (
    ("undefined-identifier", r'identifier "[^"]*" is undefined$'),
    ("expected-semicolon", r'expected a ";"'),
    ("expected-brace", r'expected a "[{}]"'),
    ("expected-parenthesis", r'expected a "[()]"'),
    ("expected-expression", r"expected an expression"),
    ("unrecognized-token", r"unrecognized token"),
    ("unterminated", r"unterminated|unclosed|missing closing quote|missing terminating"),
    ("syntax", r"expected (?!unqualified)|parse error|this declaration has no storage class"),
    ("device-call", r"calling a (?:constexpr )?__device__ function.* from a __host__ function"),
    ("host-call", r"calling a (?:constexpr )?__host__ function|is undefined in device code"),
    ("launch-configuration", r"(?:must|cannot) be configured|execution configuration|kernel launch"),
    ("kernel-return-type", r"__global__ function must have a void return type"),
    ("extended-lambda", r"extended .*lambda|--extended-lambda"),
    ("unsupported-in-device-code", r"device code does not support|not (?:supported|allowed) in (?:__|device)"),
    ("shared-initializer", r"initializ\w+ (?:is )?not (?:allowed|supported) for (?:a )?(?:.* )?__\w+__ variable"),
    ("not-constant", r"must have a constant value|variable length array|constant expression|must be a constant"),
    ("static-assertion", r"static assertion failed|static_assert"),
    ("missing-include", r"cannot open source file|: No such file or directory$"),
    ("error-directive", r"#error"),
    ("macro-arguments", r'macro "\w+" (?:requires|passed)|arguments in (?:macro )?invocation|in macro invocation'),
    ("argument-count", r"too (?:few|many) arguments in function call"),
    ("incompatible-types", r"incompatible|cannot be (?:used to initialize|assigned to)|no suitable .*conver"),
    ("no-overload", r"no instance of|no operator .* matches|no default constructor"),
    ("ambiguous", r"more than one|ambiguous"),
    ("no-member", r"has no member"),
    ("not-modifiable", r"must be a modifiable lvalue"),
    ("redefinition", r"has already been (?:declared|defined)|duplicate parameter name|redefinition|redeclaration"),
    ("incomplete-type", r"incomplete type"),
    ("host-code", r"not allowed in JIT mode"),
    ("attribute", r'attribute "\w+" does not apply'),
    ("asm", r"\basm (?:operand|constraint|string)"),
)  # fmt: skip
_PTXAS: tuple[tuple[str, str], ...] = (
    ("shared-memory", r"too much shared data"),
    ("constant-memory", r"too much .*constant data"),
    ("parameter-space", r"[Pp]arameter space overflow|too much parameter"),
    ("unresolved-extern", r"Unresolved extern"),
    ("arch-feature", r"not supported on \.target|requires \.target|requires PTX ISA|cannot be compiled to future"),
    ("syntax", r"Not a name of any known|Unknown (?:modifier|symbol|instruction)|[Pp]arsing|syntax error|Unexpected"),
    ("asm-operand", r"Arguments? mismatch|[Ii]llegal (?:operand|argument)|type mismatch|instruction types"),
    ("spills", r"Registers are spilled"),
    ("local-memory", r"Local memory used"),
    ("stack-size", r"Stack size .* cannot be statically determined"),
    ("launch-bounds", r"minnctapersm|maxntid|threads per SM for entry|launch bounds"),
    ("registers", r"too many registers|[Rr]egister allocation failed|maxrregcount|Too few registers"),
    ("double", r"double precision"),
)  # fmt: skip
_LINK: tuple[tuple[str, str], ...] = (
    ("undefined-reference", r"[Uu]ndefined reference"),
    ("multiple-definition", r"[Mm]ultiple definition"),
    ("missing-library", r"cannot find -l|Could not open"),
)
_CRASH = r"died due to signal|[Ii]nternal (?:compiler )?error|LLVM ERROR|Segmentation|Aborted|Bus error|Illegal instr"
_SHARED_NAMES = frozenset({"missing-include", "error-directive", "macro-arguments", "unterminated"})
_SYNTAX = frozenset({*(f"nvcc-{name}" for name, _ in _FRONT_END[1:8]), "nvcc-macro-arguments"})

SUGGESTIONS: Mapping[str, str] = {
    "nvcc-host-call": "Mark the function __device__ (a constexpr one: flag -expt-relaxed-constexpr).",
    "nvcc-device-call": "Call it from a kernel, or mark it __host__ __device__.",
    "nvcc-launch-configuration": "Launch a __global__ function as kernel<<<grid, block>>>(...).",
    "nvcc-kernel-return-type": "Return void and write the result through a pointer.",
    "nvcc-missing-include": "Put the header below the root, or name its folder with the flag -I.",
    "nvcc-extended-lambda": "Pass the flag -extended-lambda, and capture by value.",
    "nvcc-shared-initializer": "Assign it in the kernel, then __syncthreads().",
    "nvcc-unsupported-in-device-code": "Use another construct in device code, such as a status flag instead of throw.",
    "nvcc-12": "Mend the syntax error before it first.",
    "ptxas-constant-memory": "At most 64 KiB are constant: keep the table in global memory behind const __restrict__.",
    "ptxas-unresolved-extern": "Define the function in this file, or link its device code with the flag -rdc=true.",
    "ptxas-spills": "Use a smaller tile or less unrolling, or allow more registers per thread.",
    "ptxas-local-memory": "Index local arrays by constants (unroll the loop), so that they stay in registers.",
    "ptxas-stack-size": "Recursion: raise cudaLimitStackSize before the launch, or write it as a loop.",
    "ptxas-launch-bounds": "Lower __launch_bounds__: threads times blocks must fit on one SM.",
    "ptxas-double": "Write float literals (1.0f) and float functions, unless double precision is meant.",
    "nvcc-crash": "The compiler itself failed: simplify what changed last, or lower the optimisation (-O1).",
    "nvlink-undefined-reference": "Define the device function in a file of this program.",
    "ld-undefined-reference": "Define it (a main may be compiled out by #if), or link its library with the flag -l.",
    "ld-missing-library": "Leave out the library, or install it where the linker looks.",
}
_INCLUDES: Mapping[str, str] = {
    "half": "cuda_fp16.h", "half2": "cuda_fp16.h", "__half": "cuda_fp16.h", "__half2": "cuda_fp16.h",
    "nv_bfloat16": "cuda_bf16.h", "__nv_bfloat16": "cuda_bf16.h", "__nv_bfloat162": "cuda_bf16.h",
    "nvcuda": "mma.h", "wmma": "mma.h", "cooperative_groups": "cooperative_groups.h", "cg": "cooperative_groups.h",
    "uint32_t": "cstdint", "int32_t": "cstdint", "uint64_t": "cstdint", "int64_t": "cstdint", "uint8_t": "cstdint",
    "printf": "cstdio", "FLT_MAX": "cfloat", "INFINITY": "cmath", "INT_MAX": "climits", "assert": "cassert",
    "cub": "cub/cub.cuh", "thrust": "thrust/device_vector.h", "CUDART_INF_F": "math_constants.h",
}  # fmt: skip


def rule(found: Diagnostic) -> str:
    """The name of what a diagnostic says."""
    if found.severity == "error" and re.match(_CRASH, found.message):
        return f"{_program(found)}-crash"
    if found.program in ("front end", "host compiler"):
        name = None if found.code else _named(_FRONT_END, found.message)
        if found.program == "front end" or name in _SHARED_NAMES:
            return f"nvcc-{found.code or name or found.severity}"
        return f"gcc-{(found.code or name or found.severity).strip('-=')}"
    table = _PTXAS if found.program == "ptxas" else _LINK
    return f"{_program(found)}-{found.code or _named(table, found.message) or found.severity}"


def suggestion(name: str, found: Diagnostic, arch: str) -> str | None:
    """The next step for a rule, where there is one worth saying."""
    if name == "nvcc-undefined-identifier":
        missing = re.match(r'identifier "(\w+)"', found.message)
        header = _INCLUDES.get(missing[1]) if missing else None
        return f"#include <{header}>" if header else None
    if name == "ptxas-arch-feature" and re.fullmatch(r"sm_\d+", arch):
        return f"Build with arch={arch}a if the GPU is one of that family, or guard the instruction by __CUDA_ARCH__."
    if "wgmma.mma_async instructions are serialized" in found.message:
        return "Leave wgmma operands and accumulators untouched between the fence and the wait."
    return SUGGESTIONS.get(name)


def is_syntax(name: str) -> bool:
    """Whether a rule is a syntax error, after which a compiler guesses."""
    return name in _SYNTAX


def _program(found: Diagnostic) -> str:
    return {"front end": "nvcc", "host compiler": "gcc", "unknown": "compiler"}.get(
        found.program, found.program
    )


def _named(table: tuple[tuple[str, str], ...], message: str) -> str | None:
    return next((name for name, pattern in table if re.search(pattern, message)), None)
