"""The layers of an analysis, each from its tool's run to its findings: what `analyze` is made of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import anyio
from anyio import to_thread

from .analysis.kernel_names import plain_name
from .analysis.machine_code import machine_findings
from .analysis.memo import Memo
from .analysis.origins import Origins
from .analysis.proofs import Attempt, attempt, proof_findings
from .analysis.ptx.kernels import PtxKernel, kernels_of
from .analysis.ptx.layer import analyze_ptx
from .analysis.ptx.module import Module, parse
from .analysis.source.layer import SourceLayer, analyze_source
from .building import Build
from .candidate import Candidate
from .command import Finished, source_input
from .errors import Unavailable, UnreadableOutput, WarpwiseError
from .reports.finding import Finding, SkippedCheck
from .toolchain import nvdisasm, sentryward
from .toolchain.nvdisasm import SassFunction
from .toolchain.sentryward import Proof
from .workbench import Workbench

PROOF_BUDGET_S = 10.0
MAX_PROOFS = 24
_sources: Memo[SourceLayer] = Memo(24)
_ptx: Memo["PtxLayer"] = Memo(24)
_sass: Memo[tuple[SassFunction, ...]] = Memo(24)


@dataclass(frozen=True, slots=True)
class PtxLayer:
    """The parsed PTX, its own kernels, and what is found in them."""

    module: Module
    kernels: tuple[PtxKernel, ...]
    findings: tuple[Finding, ...]


@dataclass(slots=True)
class Proofs:
    """What the proofs found: findings, verdicts in words by linker name, runs, and the kernels without a verdict."""

    findings: list[Finding] = field(default_factory=list[Finding])
    verdicts: dict[str, str] = field(default_factory=dict[str, str])
    proved: dict[str, str] = field(default_factory=dict[str, str])
    runs: list[Finished] = field(default_factory=list[Finished])
    skipped: list[SkippedCheck] = field(default_factory=list[SkippedCheck])


async def read_source(bench: Workbench, candidate: Candidate, arch: str) -> SourceLayer:
    """The source layer; worked out once for a candidate and architecture."""
    files = {
        name: bench.blobs.read(digest).decode("utf-8", "replace") for name, digest in candidate.files.items()
    }

    def work() -> SourceLayer:
        return analyze_source(
            candidate.main, files, candidate.defines, is_program=candidate.is_program, arch=arch
        )

    return await to_thread.run_sync(lambda: _sources.get((candidate.id, arch), work))


async def read_ptx(bench: Workbench, made: Build, source: SourceLayer) -> PtxLayer:
    """The PTX layer of a build. Raises UnreadableOutput where there is no PTX or it cannot be read."""
    if made.ptx is None:
        raise UnreadableOutput("the build left no PTX")
    digest = made.ptx.digest
    origins = Origins(made.candidate.files)

    def work() -> PtxLayer:
        module = parse(bench.blobs.read(digest).decode("utf-8", "replace"))
        kernels = kernels_of(module, source.kernels, origins)
        return PtxLayer(module, tuple(kernels), tuple(analyze_ptx(module, kernels, source.kernels, origins)))

    return await to_thread.run_sync(lambda: _ptx.get((made.candidate.id, made.arch, digest), work))


async def read_sass(bench: Workbench, made: Build) -> tuple[tuple[SassFunction, ...], Finished]:
    """The machine code of a build and the run that gave it. Raises UnreadableOutput, ProgramMissing."""
    if made.cubin is None:
        raise UnreadableOutput("the build left no cubin")
    finished = await bench.run(nvdisasm.command(made.cubin))
    key = (made.cubin.digest, len(finished.stdout), finished.exit_code)

    def work() -> tuple[SassFunction, ...]:
        return tuple(nvdisasm.parse(finished))

    return await to_thread.run_sync(lambda: _sass.get(key, work)), finished


def sass_findings(made: Build, functions: Iterable[SassFunction], source: SourceLayer) -> list[Finding]:
    """The findings in the machine code of the candidate's kernels."""
    origins = Origins(made.candidate.files)
    resources = {kernel.mangled: kernel for kernel in made.kernels}
    found: list[Finding] = []
    for function in functions:
        if function.is_kernel:
            found += machine_findings(
                function, plain_name(function.name), resources.get(function.name), origins
            )
    return found


async def prove(bench: Workbench, made: Build, layer: PtxLayer, source: SourceLayer) -> Proofs:
    """Try to prove every kernel, side by side; what has no verdict is a skipped check with the reason."""
    proofs = Proofs()
    chosen, left = layer.kernels[:MAX_PROOFS], layer.kernels[MAX_PROOFS:]
    proofs.skipped += [
        SkippedCheck(check=f"proof of {each.name}", reason="too many kernels") for each in left
    ]
    results: dict[str, tuple[Attempt, Proof, Finished] | WarpwiseError] = {}

    async def one(kernel: PtxKernel) -> None:
        facts = source.kernels.get(kernel.name)
        tried = attempt(kernel, layer.module, facts.launches if facts is not None else ())
        try:
            results[kernel.mangled] = (tried, *await _verdict(bench, made, tried))
        except WarpwiseError as error:
            results[kernel.mangled] = error

    async with anyio.create_task_group() as group:
        for kernel in chosen:
            group.start_soon(one, kernel)
    for kernel in chosen:
        _take(proofs, kernel, results[kernel.mangled], Origins(made.candidate.files))
    proofs.skipped = _grouped(proofs.skipped)
    return proofs


async def _verdict(bench: Workbench, made: Build, tried: Attempt) -> tuple[Proof, Finished]:
    if made.ptx is None:
        raise UnreadableOutput("the build left no PTX")
    request = source_input(bench.blobs.put(tried.request.content()))
    finished = await bench.run(sentryward.command(made.ptx, request, PROOF_BUDGET_S))
    held = finished.files.get(sentryward.ANSWER_NAME)
    answer = bench.blobs.read(held.digest) if held is not None else None
    return sentryward.parse(finished, answer), finished


def _take(
    proofs: Proofs,
    kernel: PtxKernel,
    result: tuple[Attempt, Proof, Finished] | WarpwiseError,
    origins: Origins,
) -> None:
    check = f"proof of {kernel.name}"
    if isinstance(result, WarpwiseError):
        name = "proof" if isinstance(result, Unavailable) else check
        proofs.skipped.append(SkippedCheck(check=name, reason=result.what))
        return
    tried, proof, finished = result
    proofs.runs.append(finished)
    proofs.findings += proof_findings(tried, proof, origins)
    if proof.verdict == "race_free":
        proofs.verdicts[kernel.mangled] = "proved race-free"
        proofs.proved[kernel.name] = tried.assumption
    elif proof.verdict is None:
        proofs.skipped.append(SkippedCheck(check=check, reason=proof.reason))
    else:
        proofs.verdicts[kernel.mangled] = proof.verdict.replace("_", " ")


def _grouped(skipped: Sequence[SkippedCheck]) -> list[SkippedCheck]:
    """One per reason, naming at most three of the checks."""
    reasons: dict[str, list[str]] = {}
    for each in skipped:
        names = reasons.setdefault(each.reason, [])
        names += [each.check] if each.check not in names else []
    return [SkippedCheck(check=_listed(names), reason=reason) for reason, names in reasons.items()]


def _listed(names: Sequence[str]) -> str:
    first, *others = names
    shown = [first, *(name.removeprefix("proof of ") for name in others[:2])]
    return ", ".join(shown) + (f" and {len(others) - 2} more" if len(others) > 2 else "")


def doubted(findings: Sequence[Finding], proved: dict[str, str]) -> list[Finding]:
    """The findings, races that a proof excludes for its launch lowered to a warning that says so."""
    found: list[Finding] = []
    for finding in findings:
        launch = proved.get(finding.kernel or "")
        if launch is None or not finding.rule.endswith("/missing-barrier"):
            found.append(finding)
            continue
        evidence = {**finding.evidence, "contradicted_by": f"proof: race-free with {launch}"}
        update = {"severity": "warning", "confidence": "possible", "evidence": evidence}
        found.append(finding.model_copy(update=update))
    return found
