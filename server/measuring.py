"""Measures every base component of a candidate that applies, once, by asking the tools themselves. It keeps nothing."""

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio

from warpwise import __version__

from .candidate import Candidate
from .checkpoints import Part, answer_bytes
from .components import BASE, gives_some
from .errors import StorageFailure, WarpwiseError
from .reports.answer import Answer
from .toolchain.discovery import Toolchain
from .workbench import Workbench

TOOLS: Mapping[str, str] = {
    "compiler": "compile",
    "debugger": "debug",
    "analyzer": "analyze",
    "profiler": "profile",
    "evaluation": "evaluate",
}
_PROGRAMS = ("nvcc", "nvrtc", "nvdisasm", "compute-sanitizer", "cuda-gdb", "ncu", "sentryward")
_known: "weakref.WeakKeyDictionary[Toolchain, Mapping[str, str]]" = weakref.WeakKeyDictionary()


@dataclass(slots=True)
class Measured:
    """The parts in canonical order, and their answers by component. `final` says that asking again would not help."""

    parts: list[Part] = field(default_factory=list[Part])
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    final: bool = True


async def fingerprint(bench: Workbench) -> dict[str, str]:
    """What a frozen state was measured with: GPU, driver, the version of each tool that is here, and of warpwise."""
    toolchain = bench.toolchain
    if toolchain not in _known:
        found: dict[str, str] = {}
        for name in _PROGRAMS:
            try:
                found[name] = (await toolchain.program(name)).version
            except WarpwiseError:
                found[name] = "missing"
        _known[toolchain] = found
    return {"warpwise": __version__, **bench.services.gpus.facts(), **_known[toolchain]}


async def measure(
    bench: Workbench, candidate: Candidate, arguments: Mapping[str, Any], judging: Mapping[str, Any]
) -> Measured:
    """Ask for each given base component; `judging` (workload, preset) is empty where there is nothing to judge by."""
    measured = Measured()
    parts: dict[str, Part] = {}
    wanted = [name for name in BASE if gives_some(bench.client.given, name)]

    async def one(component: str) -> None:
        asked = {**arguments, **judging} if component == "evaluation" else arguments
        parts[component] = await _part(bench, measured, component, asked)
        await bench.progress(
            f"{len(parts)} of {len(wanted)} components ({component})", len(parts) / len(wanted)
        )

    if "compiler" in wanted:
        await one("compiler")
    builds = getattr(measured.answers.get("compiler"), "builds", True)
    async with anyio.create_task_group() as group:
        for component in wanted:
            if component == "compiler":
                continue
            if reason := _does_not_apply(component, candidate, builds=builds, judged=bool(judging)):
                parts[component] = Part(component=component, state="not applicable", reason=reason)
            else:
                group.start_soon(one, component)
    measured.parts = [parts[name] for name in wanted]
    return measured


def _does_not_apply(component: str, candidate: Candidate, *, builds: bool, judged: bool) -> str | None:
    if component in ("debugger", "profiler"):
        if not candidate.is_program:
            return "it has no main, so nothing launches its kernels"
        return None if builds else "it does not build"
    if component == "evaluation":
        if not judged:
            return "no workload was named"
        return "it is a program, not a candidate of a workload" if candidate.is_program else None
    return None


async def _part(bench: Workbench, measured: Measured, component: str, arguments: Mapping[str, Any]) -> Part:
    try:
        answer = await bench.ask(TOOLS[component], arguments)
    except StorageFailure:
        raise
    except WarpwiseError as error:
        measured.final = measured.final and error.code in ("unavailable", "program_missing", "not_recorded")
        return Part(component=component, state="not measured", reason=f"{error.code}: {error.what}"[:400])
    measured.answers[component] = answer
    artifacts: dict[str, tuple[str, str]] = {}
    for artifact in answer.artifacts:
        id = artifact.uri.rpartition("/")[2]  # noqa: A001
        _, digest, _ = bench.services.store.artifact(bench.client.name, id)
        artifacts[id] = (artifact.name, digest)
    kept = bench.blobs.put(answer_bytes(answer))
    return Part(component=component, state="measured", answer=kept, artifacts=artifacts)
