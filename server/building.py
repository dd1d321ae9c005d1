"""One build that serves every tool: a candidate in, its diagnostics, resources, PTX, cubin and program out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .candidate import Candidate
from .command import Finished, Input, source_input
from .reports.compilation import KernelResources
from .reports.finding import Finding, Location
from .toolchain import diagnostics, nvcc, ptxas
from .toolchain.discovery import require_host_compiler
from .toolchain.flags import checked_defines, checked_flags, macros
from .workbench import Workbench

BuildKind = Literal["program", "library", "kernel"]


@dataclass(frozen=True, slots=True)
class Build:
    """A finished build. `ok` says whether everything asked for was made; then `cubin` and `ptx` exist.

    `kind`: a program has a `main` (and `executable`); a library has host code but no `main`; a kernel-only source has
    none. `findings` are the diagnostics, most important first; `kernels` are in the order of ptxas. `log` is what the
    compilers printed.
    """

    candidate: Candidate
    arch: str
    kind: BuildKind
    compiler: Literal["nvcc", "nvrtc"]
    ok: bool
    findings: tuple[Finding, ...]
    kernels: tuple[KernelResources, ...]
    runs: tuple[Finished, ...]
    finished: Finished
    log: str
    executable: Input | None = None
    ptx: Input | None = None
    cubin: Input | None = None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings because of which it does not build."""
        return tuple(finding for finding in self.findings if finding.severity == "error")


async def build(bench: Workbench, candidate: Candidate, arch: str, timeout_s: float = 120.0) -> Build:
    """Build a candidate for exactly one architecture. A source that does not compile is a Build that is not `ok`.

    Raises InvalidRequest for a flag or macro that is not allowed, ProgramMissing where a compiler is not installed,
    ProgramTimedOut, ProgramKilled, and UnreadableOutput where a failing compiler says nothing that can be read.
    """
    flags = checked_flags(candidate.flags)
    plain, header = macros(checked_defines(candidate.defines), flags)
    inputs = candidate.inputs()
    if header:
        inputs[nvcc.MACROS_NAME] = source_input(bench.blobs.put(header.encode()))
    unit = nvcc.Unit(candidate.main, inputs, plain, flags)
    return await _with_nvcc(bench, candidate, unit, arch, timeout_s)


async def _with_nvcc(
    bench: Workbench, candidate: Candidate, unit: nvcc.Unit, arch: str, timeout_s: float
) -> Build:
    require_host_compiler()
    kind: Literal["program", "library"] = "program" if candidate.is_program else "library"
    finished = (await bench.run(nvcc.command(unit, arch, kind, timeout_s))).require_end("nvcc")
    log = (finished.stderr + finished.stdout).decode("utf-8", "replace")
    ptx, cubin = nvcc.kept_names(candidate.main, arch)
    return Build(
        candidate=candidate,
        arch=arch,
        kind=kind,
        compiler="nvcc",
        ok=finished.exit_code == 0,
        findings=tuple(_finding(found) for found in diagnostics.parse(log)),
        kernels=tuple(_kernel(found) for found in ptxas.parse(log) if found.is_entry),
        runs=(finished,),
        finished=finished,
        log=log,
        executable=_built(finished, nvcc.PROGRAM_NAME, executable=True),
        ptx=_built(finished, ptx),
        cubin=_built(finished, cubin),
    )


def _built(finished: Finished, name: str, *, executable: bool = False) -> Input | None:
    held: Mapping[str, object] = finished.files
    return finished.built(name, executable=executable) if name in held else None


def _finding(found: diagnostics.Diagnostic) -> Finding:
    location = Location(file=found.file, line=found.line, column=found.column) if found.file else None
    return Finding(
        rule=f"nvcc-{found.code or found.severity}",
        severity=found.severity,
        message=found.message,
        location=location,
    )


def _kernel(found: ptxas.FunctionResources) -> KernelResources:
    return KernelResources(
        name=found.mangled,
        mangled=found.mangled,
        registers=found.registers,
        spill_store_bytes=found.spill_store_bytes,
        spill_load_bytes=found.spill_load_bytes,
        stack_bytes=found.stack_bytes,
        static_shared_bytes=found.shared_bytes,
        barriers=found.barriers,
        constant_bytes=found.constant_bytes,
    )
