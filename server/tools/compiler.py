"""The tool `compile`: does it build, what stands in the way, and what each kernel costs."""

from ..building import Build, build
from ..reports.compilation import CompileAnswer, KernelResources
from ..tool import tool
from ..tools_arguments import KernelArgs
from ..workbench import Workbench

_DEADLINE_S = 120.0


class CompileArgs(KernelArgs):
    """Build a CUDA kernel or program: errors by line; registers, spills, shared memory and occupancy per kernel."""


@tool(name="compile", title="Compile a kernel", read_only=True, component="compiler")
async def compile_kernel(bench: Workbench, args: CompileArgs) -> CompileAnswer:
    """Build the candidate and tell what the compilers said."""
    candidate = await args.candidate(bench)
    arch = await args.build_arch(bench, candidate)
    await bench.progress(f"compiling for {arch}", None)
    made = await build(bench, candidate, arch, args.deadline(_DEADLINE_S))
    kept = not made.ok or args.detail != "summary"
    return CompileAnswer(
        candidate=candidate.id,
        summary=_summary(made),
        findings=made.findings,
        provenance=bench.origin(list(made.runs)),
        artifacts=(bench.keep_artifact("build.log", made.log.encode(), "compiler"),) if kept else (),
        next=_next(made),
        builds=made.ok,
        arch=arch,
        compiler=made.compiler,
        kind=made.kind,
        kernels=made.kernels,
    )


def _summary(made: Build) -> str:
    if not made.ok:
        real = [finding for finding in made.errors if not finding.evidence.get("follow_up")]
        following = len(made.errors) - len(real)
        echo = f", {following} more that likely follow{'s' * (following == 1)} from it" if following else ""
        least = " or more" if "Error limit reached" in made.log else ""
        return f"Does not build for {made.arch}: {_number(len(real), 'error')}{least}{echo}."
    warnings = sum(finding.severity == "warning" for finding in made.findings)
    told = f"{_number(len(made.kernels), 'kernel')}, {_number(warnings, 'warning') if warnings else 'no warnings'}"
    unlaunchable = [kernel for kernel in made.kernels if not _launchable(kernel)]
    trouble = f" {len(unlaunchable)} cannot launch with the largest block they allow." if unlaunchable else ""
    return f"Builds for {made.arch} ({made.kind}, {made.compiler}): {told}.{trouble}"


def _launchable(kernel: KernelResources) -> bool:
    bounded = kernel.max_threads is not None
    return not bounded or all(held.blocks_per_sm for held in kernel.occupancy)


def _next(made: Build) -> tuple[str, ...]:
    if not made.ok:
        return ("mend the first error and compile again",)
    if made.kind == "program":
        return ("debug: is it correct on the GPU?", "profile: what bounds it?")
    return ("analyze: what can be seen without running it",)


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
