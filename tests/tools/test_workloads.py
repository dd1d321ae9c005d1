"""The tool `workloads` tells an agent all that it needs to write a kernel, in few words."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from warpwise.server.errors import InvalidRequest, NotFound
from warpwise.server.evaluation.schedule_block import HELP
from warpwise.server.evaluation.shipped import FOLDER, shipped
from warpwise.server.reports.answer import Detail
from warpwise.server.tools.workloads import WorkloadsArgs, workloads
from warpwise.server.workbench import Workbench

Tokens = Callable[[str], int]


def compact(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


async def test_the_list_names_every_workload_within_600_tokens(
    bench: Workbench, count_tokens: Tokens
) -> None:
    answer = await workloads.run(bench, WorkloadsArgs())
    text, data = answer.text(), answer.structured()
    assert data["summary"] == "38 workloads."
    assert sorted(name for titles in data["workloads"].values() for name in titles) == list(shipped())
    assert all(
        f"  {name}: {title}" in text
        for titles in data["workloads"].values()
        for name, title in titles.items()
    )
    assert count_tokens(text) <= 600
    assert count_tokens(compact(data)) <= 600


async def test_one_workload_is_told_in_full(bench: Workbench) -> None:
    answer = await workloads.run(bench, WorkloadsArgs(name="gemm"))
    assert answer.structured()["workload"] == {
        "name": "gemm",
        "suite": "polybench",
        "about": "C = alpha·A·B + beta·C",
        "sizes": {"NI": "rows of A and C", "NJ": "columns of B and C", "NK": "columns of A, rows of B"},
        "buffers": ("in float32 A[NI, NK]", "in float32 B[NK, NJ]", "inout float32 C[NI, NJ]"),
        "scalars": {"alpha": "float32", "beta": "float32"},
        "presets": {
            "tiny": {"NI": 96, "NJ": 80, "NK": 64},
            **{preset: dict.fromkeys(("NI", "NJ", "NK"), size) for preset, size in
               (("small", 256), ("medium", 1024), ("large", 2048), ("xl", 4096))},
        },
        "hidden": {"NI": "1..200, odd/tail/prime", "NJ": "1..200, tail/prime/odd", "NK": "1..200, prime/odd/tail"},
        "flops": {"tiny": 1006080, "small": 33751040, "medium": 2150629376, "large": 17192452096, "xl": 137489285120},
        "bytes": {"tiny": 106496, "small": 1048576, "medium": 16777216, "large": 67108864, "xl": 268435456},
        "schedule": (FOLDER / "gemm" / "baseline.cu").read_text().partition("// ///\n\n")[0] + "// ///",
        "schedule_help": HELP,
        "tolerance_at_medium": {
            "C": "reduction over NK: |error| <= 3.9e-06·|want| + 3.1e-05·rms of the tensor"
        },
    }  # fmt: skip


@pytest.mark.parametrize("name", shipped())
async def test_text_and_data_tell_the_same_within_900_tokens(
    bench: Workbench, count_tokens: Tokens, name: str
) -> None:
    answer = await workloads.run(bench, WorkloadsArgs(name=name))
    text, data = answer.text(), answer.structured()
    assert count_tokens(text) <= 900
    assert count_tokens(compact(data)) <= 900
    told = data["workload"]
    facts = [
        told["about"],
        told["schedule"],
        told["schedule_help"],
        *told["buffers"],
        *told["sizes"].values(),
        *told["hidden"].values(),
    ]
    facts += [f"{size}={value}" for sizes in told["presets"].values() for size, value in sizes.items()]
    facts += list(told.get("tolerance_at_medium", {}).values())
    assert [fact for fact in facts if fact not in text] == []


@pytest.mark.parametrize(("detail", "whole"), [("summary", False), ("evidence", True), ("raw", True)])
async def test_the_baseline_comes_with_more_detail(bench: Workbench, detail: Detail, whole: bool) -> None:
    answer = await workloads.run(bench, WorkloadsArgs(name="softmax", detail=detail))
    source = (FOLDER / "softmax" / "baseline.cu").read_text()
    assert (source in answer.text(detail)) is whole
    assert (answer.structured(detail)["workload"].get("source") == source) is whole


async def test_a_workload_of_ones_own_is_told_too(
    bench: Workbench, write: Callable[[str, str], Path]
) -> None:
    for file in ("workload.toml", "oracle.py", "baseline.cu"):
        write(f"problems/lu/{file}", (FOLDER / "lu" / file).read_text())
    answer = await workloads.run(bench, WorkloadsArgs(name="problems/lu"))
    assert answer.summary == "lu: LU factorization without pivoting"
    assert answer.next == ('evaluate(workload="problems/lu", path="mine.cu")',)


async def test_an_unknown_workload_is_refused_with_the_nearest(bench: Workbench) -> None:
    with pytest.raises(NotFound) as raised:
        await workloads.run(bench, WorkloadsArgs(name="softmx"))
    assert (raised.value.what, raised.value.hint) == (
        "there is no workload `softmx`",
        "Did you mean `softmax`?",
    )
    for outside in ("../gemm", "/etc/passwd", "./", "a\0b/c", "./" + "x" * 5000):
        with pytest.raises(InvalidRequest):
            await workloads.run(bench, WorkloadsArgs(name=outside))
