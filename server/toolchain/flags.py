"""Which nvcc flags, macros and architectures a caller may give. Nothing here runs a compiler.

An allow list: nvcc hands its arguments to a shell and can load plugins, run what it built, and write anywhere, so a
flag that is not known to be harmless is refused by name. Each known flag also says what NVRTC makes of it.
"""

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from ..errors import InvalidRequest

Nvrtc = Literal["same", "drop", "never"]
_ON_OFF = r"true|false|on|off|0|1"
_NUMBER = r"\d{1,6}"
_CODES = r"[0-9A-Za-z_]+(?:,[0-9A-Za-z_]+)*"
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EARLY = re.compile(r"_|CUDA|CUB_|THRUST_|CCCL_|LIBCUDACXX_|NDEBUG$")
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_.+:-]*")


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag that may be given: its value's pattern (None: it has none), and whether NVRTC takes, ignores or lacks it."""

    name: str
    value: str | None = None
    nvrtc: Nvrtc = "same"


_FLAGS: Mapping[str, Flag] = {
    flag.name: flag
    for flag in (
        Flag("-G"),
        Flag("-g", nvrtc="drop"),
        Flag("-lineinfo"),
        Flag("-O", r"[0-3]", "drop"),
        Flag("-Ofc", r"0|min|mid|max"),
        Flag("-dopt", r"on"),
        Flag("-std", r"c\+\+(?:11|14|17|20|23)"),
        Flag("-maxrregcount", _NUMBER),
        Flag("-use_fast_math"),
        Flag("-ftz", _ON_OFF),
        Flag("-prec-div", _ON_OFF),
        Flag("-prec-sqrt", _ON_OFF),
        Flag("-fmad", _ON_OFF),
        Flag("-extra-device-vectorization"),
        Flag("-restrict"),
        Flag("-rdc", _ON_OFF, "never"),
        Flag("-default-stream", r"legacy|null|per-thread", "drop"),
        Flag("-expt-relaxed-constexpr", nvrtc="drop"),
        Flag("-extended-lambda", nvrtc="drop"),
        Flag("-expt-extended-lambda", nvrtc="drop"),
        Flag("-keep-device-functions", nvrtc="never"),
        Flag("-src-in-ptx", nvrtc="drop"),
        Flag("-res-usage", nvrtc="drop"),
        Flag("-m64", nvrtc="drop"),
        Flag("-w"),
        Flag("-Werror", r"[a-z-]+(?:,[a-z-]+)*", "never"),
        Flag("-Wreorder", nvrtc="drop"),
        Flag("-Wconversion", nvrtc="never"),
        Flag("-Wdefault-stream-launch", nvrtc="drop"),
        Flag("-Wmissing-launch-bounds", nvrtc="never"),
        Flag("-Wext-lambda-captures-this", nvrtc="drop"),
        Flag("-Wno-deprecated-declarations", nvrtc="drop"),
        Flag("-Wno-deprecated-gpu-targets", nvrtc="drop"),
        Flag("-diag-error", _CODES),
        Flag("-diag-suppress", _CODES),
        Flag("-diag-warn", _CODES),
        Flag("-ftemplate-depth", _NUMBER, "drop"),
        Flag("-jtd", _NUMBER),
        Flag("-Xptxas", r".+"),
        Flag("-Xcompiler", r".+", "drop"),
        Flag("-l", r"[A-Za-z0-9_]+", "drop"),
        Flag("-I", r"(?!/)[A-Za-z0-9_./+-]+"),
        Flag("-U", _IDENTIFIER.pattern),
        Flag("-D", r"[A-Za-z_][A-Za-z0-9_]*(?:=[^\n\r\0]*)?"),
    )
}
_LONG_NAMES: Mapping[str, str] = {
    "--device-debug": "-G", "--debug": "-g", "--generate-line-info": "-lineinfo", "--optimize": "-O",
    "--Ofast-compile": "-Ofc", "--source-in-ptx": "-src-in-ptx", "--resource-usage": "-res-usage",
    "--disable-warnings": "-w", "--relocatable-device-code": "-rdc", "--ptxas-options": "-Xptxas",
    "--compiler-options": "-Xcompiler", "--library": "-l", "--include-path": "-I", "--undefine-macro": "-U",
    "--define-macro": "-D", "--jump-table-density": "-jtd",
}  # fmt: skip
_REFUSED: Mapping[str, str] = {
    **dict.fromkeys(
        ("-arch", "--gpu-architecture", "-code", "-gencode", "--generate-code"), "use the argument `arch`"
    ),
    **dict.fromkeys(
        (
            "-o",
            "-odir",
            "-c",
            "-dc",
            "-ptx",
            "-cubin",
            "-fatbin",
            "-E",
            "-shared",
            "-keep",
            "-keep-dir",
            "-MF",
        ),
        "warpwise names the outputs itself",
    ),
    **dict.fromkeys(("-run", "--run", "-run-args"), "`debug` and `profile` run programs"),
    **dict.fromkeys(("-ccbin", "--compiler-bindir"), "the host compiler is the operator's choice"),
    "-include": "include the file in the source",
    "-dlto": "link-time optimisation leaves nothing to analyse before the link",
}
_PTXAS = re.compile(
    r"-v|--verbose|-O[0-4]|--opt-level[= ][0-4]|-warn-spills|--warn-on-spills|-warn-lmem-usage"
    r"|--warn-on-local-memory-usage|-warn-double-usage|--warn-on-double-precision-use|-dlcm=(?:ca|cg|cs|cv|lu)|-dscm=(?:wb|cg|cs|wt)"
    r"|--def-(?:load|store)-cache=[a-z]{2}|-Werror|-register-usage-level=\d{1,2}|--register-usage-level=\d{1,2}"
    r"|--maxrregcount=\d{1,3}|-maxrregcount=\d{1,3}|--allow-expensive-optimizations=(?:true|false)|-fmad=(?:true|false)"
    r"|-suppress-stack-size-warning|--suppress-stack-size-warning|--disable-optimizer-constants"
)
_HOST = re.compile(
    r"-O(?:[0-3sg]|fast)?|-g[0-3]?|-fopenmp|-f[Pp][IiCc][CcEe]|-pthread|-ffast-math|-funroll-loops|-fno-strict-aliasing"
    r"|-fpermissive|-march=[a-z0-9-]+|-mtune=[a-z0-9-]+|-m(?:avx2?|fma|sse[0-9.]*|avx512[a-z]+)"
    r"|-W(?:no-)?(?:all|extra|error|[a-z]+(?:-[a-z]+)*)(?:=\d)?|-w"
)
_ARCHES: Mapping[int, str] = {
    75: "", 80: "", 86: "", 87: "", 88: "", 89: "", 90: "a",
    100: "af", 103: "af", 107: "af", 110: "af", 120: "af", 121: "af",
}  # fmt: skip
ARCHES: tuple[str, ...] = tuple(
    f"sm_{number}{suffix}" for number, suffixes in _ARCHES.items() for suffix in ("", *suffixes)
)


def checked_arch(asked: str) -> str:
    """The architecture as nvcc names it, such as sm_90a (also of `90a` or `compute_90a`). Raises InvalidRequest."""
    match = re.fullmatch(r"(?:sm_|compute_|sm)?(\d{2,3})([a-z]?)", asked.strip().lower())
    name = f"sm_{match[1]}{match[2]}" if match else asked
    if name in ARCHES:
        return name
    raise InvalidRequest(
        f"unknown arch {asked!r}",
        f"Nearest: {_nearest(name)}. Known: sm_75 to sm_121, 'a' or 'f' where it exists.",
    )


def _nearest(name: str) -> str:
    number = re.search(r"\d{2,3}", name)
    if not number:
        return "sm_90"
    wanted = int(number[0])
    return f"sm_{min(_ARCHES, key=lambda known: (abs(known - wanted), known))}"


def checked_defines(defines: Mapping[str, str]) -> dict[str, str]:
    """Macros whose names are C identifiers and whose values are single lines. Raises InvalidRequest."""
    for name, value in defines.items():
        if not _IDENTIFIER.fullmatch(name):
            raise InvalidRequest(f"a macro's name must be a C identifier: {name!r}")
        if re.search(r"[\n\r\0]", value):
            raise InvalidRequest(f"the value of macro {name} must be one line")
    return dict(defines)


def checked_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """The flags in one spelling, `-name` or `-name=value`, each allowed. Raises InvalidRequest with the nearest known."""
    waiting = [part for flag in flags for part in _words(flag)]
    found: list[str] = []
    while waiting:
        name, value = _split(waiting.pop(0))
        flag = _FLAGS.get(name)
        if flag is None:
            raise _refusal(name)
        if flag.value is None and value not in (None, "true"):
            raise InvalidRequest(f"flag {name} takes no value")
        if flag.value is not None and value is None:
            if not waiting:
                raise InvalidRequest(f"flag {name} needs a value")
            value = waiting.pop(0)
        found.append(_spelled(flag, value or ""))
    return tuple(found)


def _words(flag: str) -> list[str]:
    if re.search(r"[\n\r\0]", flag):
        raise InvalidRequest(f"a flag must be one line: {flag!r}")
    if not re.search(r"\s", flag.strip()):
        return [flag.strip()]
    try:
        return shlex.split(flag)
    except ValueError as error:
        raise InvalidRequest(f"flag {flag!r}: {error}".lower()) from error


def _split(word: str) -> tuple[str, str | None]:
    """(name in its short spelling, value or None) of one word."""
    name, equals, value = word.partition("=")
    name = _LONG_NAMES.get(name, name)
    short = name.replace("--", "-", 1)
    if short in _FLAGS and len(short) > 2:
        return short, value if equals else None
    if word[:2] in ("-D", "-U", "-I", "-O", "-l") and len(word) > 2 and name not in _REFUSED:
        return word[:2], word[2:].removeprefix("=")
    return name, value if equals else None


def _spelled(flag: Flag, value: str) -> str:
    if flag.value is None:
        return flag.name
    if not re.fullmatch(flag.value, value):
        raise InvalidRequest(f"flag {flag.name} cannot have the value {value!r}")
    if flag.name == "-I" and ".." in value.split("/"):
        raise InvalidRequest(f"flag -I{value} is not allowed: an include folder must lie below the root")
    if flag.name == "-D":
        checked_defines({value.partition("=")[0]: value.partition("=")[2]})
    inner = {"-Xptxas": _PTXAS, "-Xcompiler": _HOST}.get(flag.name)
    if inner:
        for part in value.split(","):
            if not inner.fullmatch(part):
                raise InvalidRequest(
                    f"{flag.name} {part!r} is not allowed", "Give only options that change code generation."
                )
    return f"{flag.name}={value}"


def _refusal(name: str) -> InvalidRequest:
    if name in _REFUSED:
        return InvalidRequest(f"flag {name} is not allowed: {_REFUSED[name]}")
    near = get_close_matches(name, [*_FLAGS, *_LONG_NAMES], n=1, cutoff=0.6)
    hint = (
        f"Did you mean {near[0]}?"
        if near
        else "Allowed are flags that change code generation or diagnostics."
    )
    return InvalidRequest(f"flag {name!r} is not allowed", hint)


def nvcc_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Checked flags as nvcc takes them, macros left out (see `macros`)."""
    return tuple(_joined(flag) for flag in flags if not flag.startswith("-D="))


def nvrtc_flags(flags: Iterable[str]) -> tuple[str, ...] | None:
    """Checked flags as NVRTC takes them, macros left out; None where one of them needs nvcc."""
    kept: list[str] = []
    for flag in flags:
        name, _, value = flag.partition("=")
        if _FLAGS[name].nvrtc == "never":
            return None
        if name == "-Xptxas":
            kept += [f"-Xptxas={part}" for part in value.split(",")]
        elif _FLAGS[name].nvrtc == "same" and name != "-D":
            kept.append(_joined(flag))
    return tuple(kept)


def _joined(flag: str) -> str:
    """The flags of one letter as compilers take them: -Ifolder, -lname, -O2."""
    name, _, value = flag.partition("=")
    return name + value if len(name) == 2 and value else flag


def macros(defines: Mapping[str, str], flags: Iterable[str]) -> tuple[tuple[str, ...], str]:
    """(arguments, header) that define the macros: what configures headers as -DNAME=VALUE, all others in the header.

    The header is read after the runtime's own, which a macro named N or T would break; and nvcc splits -D values at
    commas and gives them to a shell, so only plain values may go there.
    """
    given = dict(defines)
    for flag in flags:
        if flag.startswith("-D="):
            name, equals, value = flag[3:].partition("=")
            given[name] = value if equals else "1"
    early = {
        name: value for name, value in given.items() if _EARLY.match(name) and _PLAIN_VALUE.fullmatch(value)
    }
    header = "".join(f"#define {name} {value}\n\n" for name, value in given.items() if name not in early)
    return tuple(f"-D{name}={value}" for name, value in early.items()), header
