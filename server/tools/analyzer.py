"""The tool `analyze`: what can be found without running the kernel, from its source, PTX, machine code and by proof."""

from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version

import anyio
from pydantic import Field

from warpwise import __version__

from ..analysis.joining import joined
from ..analysis.kernel_summary import summaries
from ..analysis.source.layer import SourceLayer
from ..analyzing import Proofs, doubted, prove, read_ptx, read_sass, read_source, sass_findings
from ..building import Build, build
from ..candidate import Candidate
from ..command import Finished
from ..errors import ToolchainError, Unavailable
from ..reports.analysis import AnalysisAnswer, Layer
from ..reports.answer import Origin
from ..reports.finding import Finding, SkippedCheck
from ..reports.sarif import sarif
from ..tool import tool
from ..toolchain.nvdisasm import SassFunction
from ..tools_arguments import KernelArgs
from ..workbench import Workbench

LAYERS: tuple[Layer, ...] = ("source", "ptx", "sass", "proof")
_DEADLINE_S = 120.0
_SARIF_NAME = "analysis.sarif"


class AnalyzeArgs(KernelArgs):
    """Find races, divergent barriers, bad bounds, slow access, spills, doubles in source, PTX, SASS; prove no races."""

    layers: tuple[Layer, ...] = Field(
        default=LAYERS, description="Which layers to look at; source alone needs no build."
    )


class _Work:
    """What one call gathers: findings by layer in order, runs, kernels, checks run and skipped."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.runs: list[Finished] = []
        self.functions: Sequence[SassFunction] = ()
        self.proofs = Proofs()
        self.checks_run: list[str] = []
        self.skipped: list[SkippedCheck] = []
        self.made: Build | None = None


@tool(title="Analyze a kernel", read_only=True, component="analyzer")
async def analyze(bench: Workbench, args: AnalyzeArgs) -> AnalysisAnswer:
    """Look at the layers asked for, join what they find, and rank it."""
    candidate = await args.candidate(bench)
    arch = await args.build_arch(bench, candidate)
    asked = args.layers or LAYERS
    layers: list[Layer] = [layer for layer in LAYERS if layer in asked]
    work = _Work()
    await bench.progress("reading the source", None)
    source = await read_source(bench, candidate, arch)
    if "source" in layers:
        _take_source(work, source)
    if layers != ["source"]:
        await bench.progress(f"building for {arch}", None)
        await _built_layers(bench, work, candidate, arch, layers, source, args.deadline(_DEADLINE_S))
    return _answer(bench, work, candidate, arch, source)


def _take_source(work: _Work, source: SourceLayer) -> None:
    work.findings += source.findings
    work.checks_run.append("source")
    if source.unreadable_lines:
        places = ", ".join(source.unreadable_lines[:3])
        work.skipped.append(SkippedCheck(check="source in part", reason=f"not understood at {places}"))
    unfollowed = [kernel.name for kernel in source.kernels.values() if kernel.flow is None]
    if unfollowed:
        reason = f"{', '.join(unfollowed[:3])}: goto or very long, only its expressions are looked at"
        work.skipped.append(SkippedCheck(check="source flow", reason=reason))


async def _built_layers(
    bench: Workbench,
    work: _Work,
    candidate: Candidate,
    arch: str,
    layers: Sequence[Layer],
    source: SourceLayer,
    deadline_s: float,
) -> None:
    wanted: list[Layer] = [layer for layer in layers if layer != "source"]
    try:
        made = await build(bench, candidate, arch, deadline_s)
    except (Unavailable, ToolchainError) as error:
        work.skipped += [SkippedCheck(check=layer, reason=error.what) for layer in wanted]
        return
    work.made = made
    work.runs += made.runs
    if not made.ok:
        work.skipped += [SkippedCheck(check=layer, reason=_why(made)) for layer in wanted]
        return
    await bench.progress("analyzing PTX and machine code", None)
    async with anyio.create_task_group() as group:
        if "sass" in wanted:
            group.start_soon(_take_sass, bench, work, made, source)
        if "ptx" in wanted or "proof" in wanted:
            group.start_soon(_take_ptx, bench, work, made, source, wanted)


def _why(made: Build) -> str:
    error = next(iter(made.errors), None)
    if error is None:
        return "does not build"
    place = f"{error.location}: " if error.location else ""
    return f"does not build: {place}{error.message}"[:160]


async def _take_sass(bench: Workbench, work: _Work, made: Build, source: SourceLayer) -> None:
    try:
        work.functions, finished = await read_sass(bench, made)
    except (Unavailable, ToolchainError) as error:
        work.skipped.append(SkippedCheck(check="sass", reason=error.what))
        return
    work.runs.append(finished)
    work.findings += sass_findings(made, work.functions, source)
    work.checks_run.append("sass")


async def _take_ptx(
    bench: Workbench, work: _Work, made: Build, source: SourceLayer, wanted: Sequence[Layer]
) -> None:
    try:
        layer = await read_ptx(bench, made, source)
    except ToolchainError as error:
        work.skipped += [
            SkippedCheck(check=name, reason=error.what) for name in ("ptx", "proof") if name in wanted
        ]
        return
    if "ptx" in wanted:
        work.findings += layer.findings
        work.checks_run.append("ptx")
    if "proof" in wanted:
        work.proofs = await prove(bench, made, layer, source)
        if work.proofs.runs:
            work.checks_run.append("proof")
        work.findings += work.proofs.findings
        work.runs += work.proofs.runs
        work.skipped += work.proofs.skipped


def _answer(
    bench: Workbench, work: _Work, candidate: Candidate, arch: str, source: SourceLayer
) -> AnalysisAnswer:
    found = [_with_excerpt(bench, candidate, finding) for finding in _ordered(work)]
    resources = work.made.kernels if work.made is not None else ()
    kernels = summaries(resources, work.functions, source.kernels, work.proofs.verdicts)
    report = bench.keep_artifact(_SARIF_NAME, sarif(found, __version__), "analyzer")
    return AnalysisAnswer(
        candidate=candidate.id,
        summary=_summary(found, len(kernels), arch),
        findings=tuple(found),
        provenance=_origin(bench, work.runs),
        artifacts=(report,),
        next=_next(work, found, candidate),
        checks_run=(*(layer for layer in LAYERS if layer in work.checks_run), *_proved(work.proofs)),
        checks_skipped=tuple(work.skipped),
        arch=arch,
        builds=work.made.ok if work.made is not None else None,
        kernels=kernels,
    )


def _ordered(work: _Work) -> tuple[Finding, ...]:
    """Joined and ranked, the same whatever layer ended first."""
    by_layer = sorted(work.findings, key=lambda finding: LAYERS.index(_layer(finding)))
    return joined(doubted(by_layer, work.proofs.proved))


def _layer(finding: Finding) -> Layer:
    return next(layer for layer in LAYERS if finding.rule.startswith(f"{layer}/"))


def _with_excerpt(bench: Workbench, candidate: Candidate, finding: Finding) -> Finding:
    place = finding.location
    if place is None or place.line is None or place.file not in candidate.files:
        return finding
    lines = bench.blobs.read(candidate.files[place.file]).decode("utf-8", "replace").splitlines()
    line = lines[place.line - 1].strip() if place.line <= len(lines) else ""
    return finding.model_copy(update={"excerpt": line[:240]}) if line else finding


def _origin(bench: Workbench, runs: list[Finished]) -> Origin:
    if runs:
        return bench.origin(runs)
    return Origin(how="derived", environment=f"tree-sitter-cuda {version('tree-sitter-cuda')}, nothing run")


def _proved(proofs: Proofs) -> Iterable[str]:
    """The proofs that succeeded, by the launch they hold for."""
    launches: dict[str, list[str]] = {}
    for name, launch in proofs.proved.items():
        launches.setdefault(launch, []).append(name)
    for launch, names in launches.items():
        yield f"proof: {', '.join(names)} race-free ({launch})"


def _summary(found: Sequence[Finding], kernels: int, arch: str) -> str:
    counts = Counter(finding.severity for finding in found)
    told = [
        f"{counts[severity]} {severity}{'s' if counts[severity] > 1 else ''}"
        for severity in ("error", "warning", "note")
        if counts[severity]
    ]
    where = f"in {kernels} kernel{'s' if kernels != 1 else ''} (static, {arch})"
    return f"{', '.join(told)} {where}." if told else f"Nothing found {where}."


def _next(work: _Work, found: Sequence[Finding], candidate: Candidate) -> tuple[str, ...]:
    if work.made is not None and not work.made.ok:
        return ("compile: mend the build first",)
    if any(finding.severity == "error" for finding in found):
        return (
            ("mend the errors, then debug confirms",) if candidate.is_program else ("mend the errors first",)
        )
    return (
        ("debug, then profile, confirm on a GPU",)
        if candidate.is_program
        else ("evaluate it against a workload",)
    )
