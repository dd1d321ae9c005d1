"""Answers of every tool that carry each component's own strings and numbers, in their own and in each other's answers."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from warpwise.server.components import BASE
from warpwise.server.errors import UnreadableOutput
from warpwise.server.reports.analysis import AnalysisAnswer, KernelAnalysis
from warpwise.server.reports.answer import Answer, Origin
from warpwise.server.reports.comparison import ComparisonAnswer
from warpwise.server.reports.compilation import CompileAnswer, KernelResources
from warpwise.server.reports.debugging import CheckRecords, DebugAnswer, KernelRun
from warpwise.server.reports.evaluation import EvaluationAnswer, HiddenSizes
from warpwise.server.reports.finding import Finding, Location, SkippedCheck
from warpwise.server.reports.number import Number
from warpwise.server.reports.performance import KernelPerformance, ProfileAnswer, Timing
from warpwise.server.workbench import Workbench

SLOW_S = 0.1
WORDS = {name: f"zq{name}qz" for name in BASE}
NUMBERS = {name: 70_001 + 1_111 * index for index, name in enumerate(BASE)}
RULES = {
    "compiler": "nvcc-undefined-identifier",
    "debugger": "memcheck.out-of-bounds",
    "analyzer": "source/missing-barrier",
    "profiler": "profile/bank-conflict",
    "evaluation": "evaluation/wrong-values",
}


def finding(name: str) -> Finding:
    return Finding(
        rule=RULES[name],
        severity="error",
        message=f"{WORDS[name]} message {NUMBERS[name]}",
        location=Location(file=f"{WORDS[name]}.cu", line=NUMBERS[name]),
        excerpt=f"{WORDS[name]} excerpt",
        evidence={"word": WORDS[name]},
        suggestion=f"{WORDS[name]} suggestion",
    )


def shared(name: str, *others: str) -> dict[str, Any]:
    """The fields of any answer of a component, with findings of others beside its own."""
    word = WORDS[name]
    return {
        "summary": f"{word} summary",
        "findings": tuple(finding(one) for one in (name, *others)),
        "provenance": Origin(how="measured", environment=f"{word} environment"),
        "next": (f"{word} next",),
        "checks_skipped": (SkippedCheck(check=f"{word} check", reason=f"{word} reason"),),
    }


def number(name: str, unit: str = "us") -> Number:
    return Number(value=NUMBERS[name], unit=unit)


def compiled(**_: object) -> Answer:
    kernel = KernelResources(name=WORDS["compiler"], mangled=WORDS["compiler"], registers=NUMBERS["compiler"])
    return CompileAnswer(
        **shared("compiler"), builds=True, arch="sm_90", compiler="nvcc", kind="kernel", kernels=(kernel,)
    )


def debugged(**_: object) -> Answer:
    return DebugAnswer(
        **shared("debugger", "compiler"),
        verdict="faults",
        kernels=(KernelRun(name=WORDS["debugger"], launches=NUMBERS["debugger"], grid="(1)", block="(1)"),),
        records=(CheckRecords(check="memcheck", shown=NUMBERS["debugger"], total=None, truncated=False),),
        raw={"stdout.txt": WORDS["debugger"]},
    )


def does_not_build(**_: object) -> Answer:
    told = shared("debugger", "compiler")
    told |= {"summary": WORDS["compiler"], "findings": (finding("compiler"),), "next": (), "provenance": None}
    told["checks_skipped"] = (SkippedCheck(check="memcheck", reason=WORDS["compiler"]),)
    return DebugAnswer(**told, verdict="does not build")


def analyzed(**_: object) -> Answer:
    told = shared("analyzer", "compiler")
    told["checks_skipped"] = (SkippedCheck(check="ptx", reason=f"does not build: {WORDS['compiler']}"),)
    kernel = KernelAnalysis(name="k", registers=NUMBERS["compiler"], instructions=NUMBERS["analyzer"])
    return AnalysisAnswer(**told, arch="sm_90", builds=True, kernels=(kernel,))


def profiled(**_: object) -> Answer:
    us = number("profiler")
    kernel = KernelPerformance(
        kernel=WORDS["profiler"],
        signature="k()",
        launches=1,
        profiled=(),
        total=us,
        share=us,
        compute_pct=us,
        l1_pct=us,
        l2_pct=us,
    )
    timing = Timing(launches=1, timed=1, profiled=0, total=us, how=WORDS["profiler"])
    return ProfileAnswer(**shared("profiler"), timing=timing, kernels=(kernel,))


def evaluated(**_: object) -> Answer:
    hidden = HiddenSizes(seed=WORDS["evaluation"], repeated=False, sizes=({"N": NUMBERS["evaluation"]},))
    return EvaluationAnswer(
        **shared("evaluation", "compiler", "debugger"),
        checks_run=("memcheck", "schedule"),
        verdict="COMPILE",
        status=WORDS["evaluation"],
        workload="gemm",
        assurance="A",
        hidden=hidden,
    )


def compared(**_: object) -> Answer:
    return ComparisonAnswer(
        **shared("evaluation", "compiler"),
        workload="gemm",
        a="c-1",
        b="c-2",
        a_status=WORDS["evaluation"],
        b_status=WORDS["evaluation"],
        difference=f"{WORDS['evaluation']} {NUMBERS['evaluation']}",
    )


ANSWERS: Mapping[str, tuple[str, Callable[..., Answer]]] = {
    "compile": ("compiler", compiled),
    "debug": ("debugger", debugged),
    "analyze": ("analyzer", analyzed),
    "profile": ("profiler", profiled),
    "evaluate": ("evaluation", evaluated),
    "compare": ("evaluation", compared),
}


def canary(name: str) -> Callable[[Workbench, Any], Awaitable[Answer]]:
    """A tool's function: its answer with an artifact, progress in its own words; an error where the source asks."""
    component, made = ANSWERS[name]

    async def run(bench: Workbench, args: object) -> Answer:
        await bench.progress(f"{WORDS[component]} progress", 0.5)
        source = str(getattr(args, "source", ""))
        if "slow" in source:
            await anyio.sleep(SLOW_S)  # long enough to be told of while it works
        if "fail" in source:
            words = " ".join(WORDS[one] for one in ("compiler", component))
            raise UnreadableOutput(words, words)
        if "unbuilt" in source and name == "debug":
            return does_not_build()
        content = f"{WORDS[component]} artifact".encode()
        kept = bench.keep_artifact(f"{WORDS[component]}.log", content, component)
        return made().model_copy(update={"artifacts": (kept,)})

    return run
