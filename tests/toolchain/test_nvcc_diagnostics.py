"""The parser of compiler logs on what nvcc and NVRTC really printed, and on the same texts cut and mixed."""

import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpwise.server.build_findings import Sources, findings
from warpwise.server.reports.finding import Finding
from warpwise.server.toolchain.diagnostic_rules import rule
from warpwise.server.toolchain.diagnostics import Diagnostic, Step, parse

RECORDED = Path(__file__).parents[1] / "recordings" / "compilers.json.gz"
KERNELS = Path(__file__).parents[1] / "kernels"
LOGS: dict[str, str] = json.loads(gzip.decompress(RECORDED.read_bytes()))
LINES = sorted({line for log in LOGS.values() for line in log.splitlines()})
HEADER = re.compile(
    r"(?m)^\S.*?(?:\): error|: error:|: fatal error:|error   : |fatal   : Unres|undefined reference|cannot find -l).*$"
)


@pytest.mark.parametrize("name", sorted(LOGS))
def test_every_error_line_of_a_log_becomes_a_diagnostic(name: str) -> None:
    told = [found for found in parse(LOGS[name]) if found.severity == "error"]
    printed = [line for line in HEADER.findall(LOGS[name]) if "collect2" not in line]
    assert len(told) >= len(printed)
    for line in printed:
        assert any(found.message in line for found in told)


@pytest.mark.parametrize("name", sorted(LOGS))
def test_every_line_of_a_real_log_is_understood(name: str) -> None:
    assert [found.message for found in parse(LOGS[name]) if found.program == "unknown"] == []
    assert [
        rule(found)
        for found in parse(LOGS[name])
        if rule(found) in ("nvcc-error", "ptxas-error", "gcc-error")
    ] == []


def test_a_message_keeps_its_further_lines_its_source_line_and_its_mark() -> None:
    assert parse(LOGS["nvcc/broken/ambiguous_call.cu"]) == (
        Diagnostic(
            program="front end",
            severity="error",
            message='more than one instance of overloaded function "pick" matches the argument list:',
            file="broken/ambiguous_call.cu",
            line=4,
            echo="  x[0] = pick(7);",
            caret=9,
            notes=[
                'function "pick(float)" (declared at line 1)',
                'function "pick(double)" (declared at line 2)',
                "argument types are: (int)",
            ],
        ),
    )


def test_the_way_to_an_instantiation_is_kept() -> None:
    first, _ = parse(LOGS["nvcc/broken/template_static_assertion.cu"])
    file = "broken/template_static_assertion.cu"
    assert first.trace == [
        Step('instantiation of "float pick<N>(const float *) [with N=4]"', file, 7),
        Step('instantiation of "void scale<N>(float *) [with N=4]"', file, 9),
    ]


def test_the_way_to_an_included_file_is_kept() -> None:
    (found,) = parse(LOGS["nvcc/broken/chain.cu"])
    assert (found.file, found.line) == ("broken/chain_inner.h", 1)
    assert found.trace == [
        Step("included", "broken/chain_outer.h", 1),
        Step("included", "broken/chain.cu", 2),
    ]


@pytest.mark.parametrize("compiler", ["nvcc", "nvrtc"])
def test_an_error_in_a_toolkit_header_is_placed_where_the_candidate_uses_it(compiler: str) -> None:
    told = placed(compiler, "broken/toolkit_header.cu")
    assert {str(finding.location) for finding in told} == {"broken/toolkit_header.cu:7"}
    assert {finding.excerpt for finding in told} == {
        "x[0] = cub::BlockReduce<Pair, 128>(storage).Sum(x[1]);  // expect nvcc-no-overload"
    }
    assert told[0].evidence["reported_in"].startswith("<cub/")


@pytest.mark.parametrize("compiler", ["nvcc", "nvrtc"])
def test_forty_instances_of_an_error_are_one_finding(compiler: str) -> None:
    (finding,) = placed(compiler, "broken/forty_instances.cu")
    assert (finding.rule, finding.evidence["instances"]) == ("nvcc-static-assertion", 40)


def placed(compiler: str, name: str) -> tuple[Finding, ...]:
    """The findings of a recorded log."""
    sources = Sources(name, frozenset({name}), lambda held: (KERNELS / held).read_text())
    return findings(parse(LOGS[f"{compiler}/{name}"]), sources, "sm_90")


def test_an_unknown_line_that_speaks_of_an_error_is_not_lost() -> None:
    (found,) = parse("somebody: a strange Error happened\n")
    assert (found.program, found.severity, rule(found)) == ("unknown", "error", "compiler-error")


@given(st.lists(st.sampled_from(LINES), max_size=30))
def test_any_mixture_of_real_lines_is_read(lines: list[str]) -> None:
    told = parse("\n".join(lines))
    spoken = [
        line
        for line in lines
        if re.match(r"\S", line) and re.search(r"\berror\b *:", line) and "collect2" not in line
    ]
    assert len([found for found in told if found.severity == "error"]) >= len(spoken)


@given(st.sampled_from(sorted(LOGS)), st.integers(0, 4000), st.integers(0, 400), st.text(max_size=20))
def test_a_log_cut_or_overwritten_anywhere_is_read(name: str, start: int, length: int, put: str) -> None:
    log = LOGS[name][:start] + put + LOGS[name][start + length :]
    sources = Sources("k.cu", frozenset({"k.cu"}), lambda _: "int x;\n")
    for finding in findings(parse(log), sources, "sm_90"):
        assert finding.rule
        assert finding.message is not None


def test_a_main_that_is_compiled_out_is_an_undefined_reference() -> None:
    (found,) = parse(
        "/usr/bin/ld: /usr/lib/gcc/x86_64-linux-gnu/12/../../../x86_64-linux-gnu/Scrt1.o: in function `_start':\n"
        "(.text+0x17): undefined reference to `main'\ncollect2: error: ld returned 1 exit status\n"
    )
    assert (found.program, rule(found)) == ("ld", "ld-undefined-reference")
