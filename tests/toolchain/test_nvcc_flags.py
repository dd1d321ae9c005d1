"""Flags, macros and architectures: what is let through, in one spelling, and that nothing else is."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from warpwise.server.errors import InvalidRequest
from warpwise.server.toolchain.flags import (
    ARCHES,
    checked_arch,
    checked_defines,
    checked_flags,
    macros,
    nvcc_flags,
    nvrtc_flags,
)

SPELLINGS = {
    ("-O2",): ("-O=2",),
    ("-O", "2"): ("-O=2",),
    ("--optimize=2",): ("-O=2",),
    ("-Ofc=mid",): ("-Ofc=mid",),
    ("-std=c++20",): ("-std=c++20",),
    ("--std", "c++20"): ("-std=c++20",),
    ("--use_fast_math",): ("-use_fast_math",),
    ("-maxrregcount=64",): ("-maxrregcount=64",),
    ("--maxrregcount 64",): ("-maxrregcount=64",),
    ("-Xptxas", "-v,-O3"): ("-Xptxas=-v,-O3",),
    ("-Xptxas -dlcm=ca",): ("-Xptxas=-dlcm=ca",),
    ("--ptxas-options=-O1",): ("-Xptxas=-O1",),
    ("-Xcompiler=-Wall,-fopenmp",): ("-Xcompiler=-Wall,-fopenmp",),
    ("-DTILE=32",): ("-D=TILE=32",),
    ("-D", "TILE"): ("-D=TILE",),
    ("-Iinclude/own",): ("-I=include/own",),
    ("-lcublas",): ("-l=cublas",),
    ("--expt-relaxed-constexpr",): ("-expt-relaxed-constexpr",),
    ("--generate-line-info",): ("-lineinfo",),
    ("-lineinfo",): ("-lineinfo",),
    ("-Werror", "all-warnings"): ("-Werror=all-warnings",),
    ("-diag-suppress=177,550",): ("-diag-suppress=177,550",),
    ("--fmad=false",): ("-fmad=false",),
}
REFUSED = (
    "-o x|--output-file=x|-odir=/tmp|-c|-ptx|-E|-M|-MF=x|-run|--run|-run-args=x|-ccbin=/tmp/evil"
    "|--compiler-bindir=/tmp|-arch=sm_90|-gencode=arch=compute_90,code=sm_90|-include=/etc/passwd|-I/etc|-I../up|-Ia/../../b|-isystem=/etc|-L/tmp|-Xlinker=-rpath"
    "|-Xcompiler=-fplugin=x.so|-Xcompiler=-wrapper,sh|-Xcompiler=-B/tmp|-Xcompiler=-specs=x|-Xcompiler=@file|-Xptxas=-o,x"
    "|@response|--options-file=x|-optf=x|-keep-dir=/tmp|-time=/tmp/x|-fdevice-time-trace=x|-ldir=/tmp|-target-dir=x|-noprof"
    "|-dryrun|-clean|-x=c|-dlto|-arbin=sh|-D1A=2|-DA-B|-lx/../y|-std=c++98|-O9|-maxrregcount=-1|-w=3|-qpp-config=x|;ls|$(ls)|`ls`"
)


@pytest.mark.parametrize(("given", "told"), SPELLINGS.items())
def test_a_flag_has_one_spelling(given: tuple[str, ...], told: tuple[str, ...]) -> None:
    assert checked_flags(given) == told
    assert checked_flags(told) == told


@pytest.mark.parametrize("flag", REFUSED.split("|"))
def test_what_could_write_run_or_load_is_refused_by_name(flag: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(re.split(r"[= ]", flag)[0][:2])):
        checked_flags((flag,))


def test_a_refusal_names_the_nearest_flag_or_the_right_argument() -> None:
    with pytest.raises(InvalidRequest) as near:
        checked_flags(("-maxregcount=64",))
    assert near.value.hint == "Did you mean -maxrregcount?"
    with pytest.raises(InvalidRequest, match="argument `arch`"):
        checked_flags(("-arch=sm_90",))


SAFE = re.compile(r"-(?:I[A-Za-z0-9_./+-]+|[A-Za-z0-9_-]+(?:=[A-Za-z0-9_.,=+/@:-]*)?)")


@given(
    st.lists(
        st.text(max_size=30) | st.sampled_from([flag for flags in SPELLINGS for flag in flags]), max_size=5
    )
)
@example(["-Xptxas", "-v\n"])
@example(["-I", "-o"])
@example(["-D", "A=$(touch pwned)"])
def test_whatever_is_let_through_is_harmless_to_a_shell_and_stays_so(flags: list[str]) -> None:
    try:
        told = checked_flags(flags)
    except InvalidRequest:
        return
    assert checked_flags(told) == told
    for flag in (*nvcc_flags(told), *(nvrtc_flags(told) or ())):
        assert SAFE.fullmatch(flag), flag
        assert not flag.startswith(("-o", "-ccbin", "-run", "-include", "-I/", "-L"))


def test_flags_for_nvrtc_leave_out_what_is_the_hosts() -> None:
    given = checked_flags(
        ("-O3", "-use_fast_math", "-Xptxas=-O2,-dlcm=cg", "-lcublas", "-Xcompiler=-Wall", "-std=c++20")
    )
    assert nvrtc_flags(given) == ("-use_fast_math", "-Xptxas=-O2", "-Xptxas=-dlcm=cg", "-std=c++20")
    assert nvrtc_flags(checked_flags(("-rdc=true",))) is None


def test_macros_that_configure_headers_come_early_and_all_others_in_a_header() -> None:
    plain, header = macros(
        {"TILE": "32", "_GNU_SOURCE": "1", "CUDA_X": "a b"}, checked_flags(("-DT=float", "-DNDEBUG"))
    )
    assert plain == ("-D_GNU_SOURCE=1", "-DNDEBUG=1")
    assert header == "#define TILE 32\n\n#define CUDA_X a b\n\n#define T float\n\n"


@given(st.text(max_size=20), st.text(max_size=40))
def test_a_macro_is_an_identifier_with_one_line_or_refused(name: str, value: str) -> None:
    try:
        told = checked_defines({name: value})
    except InvalidRequest:
        return
    plain, header = macros(told, ())
    assert re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)
    assert all(SAFE.fullmatch(flag) for flag in plain)
    assert header in ("", f"#define {name} {value}\n\n")
    assert len(re.split(r"[\n\r]", header)) in (1, 3)


@pytest.mark.parametrize("asked", ["sm_90a", "90a", "SM_90A", "compute_90a", " sm_90a "])
def test_an_architecture_has_one_spelling(asked: str) -> None:
    assert checked_arch(asked) == "sm_90a"


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [
        ("sm_91", "sm_90"),
        ("sm_70", "sm_75"),
        ("sm_90f", "sm_90"),
        ("hopper", "sm_90"),
        ("sm_122", "sm_121"),
        ("", "sm_90"),
    ],
)
def test_an_unknown_architecture_is_refused_with_the_nearest(asked: str, nearest: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        checked_arch(asked)
    assert f"Nearest: {nearest}." in raised.value.hint


def test_the_architectures_are_those_of_the_toolkit() -> None:
    assert ARCHES[:4] == ("sm_75", "sm_80", "sm_86", "sm_87")
    assert {"sm_90a", "sm_100f", "sm_121a"} <= set(ARCHES)
    assert "sm_90f" not in ARCHES
