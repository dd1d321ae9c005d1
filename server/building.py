"""One build that serves every tool: a candidate in, its diagnostics, resources, PTX, cubin and program out."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from .analysis.planned_launches import misfits, planned_launches, with_occupancy
from .blobs import Blobs
from .build_findings import Sources, findings
from .candidate import Candidate
from .command import Finished, Input, source_input
from .errors import (
    InvalidRequest,
    ProgramKilled,
    ProgramMissing,
    StorageFailure,
    Unavailable,
    UnreadableOutput,
)
from .evaluation.schedule_block import declared_defines
from .reports.compilation import KernelResources
from .reports.finding import Finding, ranked
from .toolchain import diagnostics, launch_probe, nvcc, nvrtc, ptxas
from .toolchain.demangle import demangle
from .toolchain.flags import checked_defines, checked_flags, macros
from .toolchain.ptx_places import LaunchBounds, PtxPlaces
from .workbench import Workbench

BuildKind = Literal["program", "library", "kernel"]
Compiler = Literal["nvcc", "nvrtc"]
_NO_HOST_COMPILER = re.compile(
    r"gcc: (?:No such file|not found|command not found)|preprocess host compiler properties"
)
_KILLED = re.compile(
    r"^Killed$|^\S.*(?:Killed|Terminated) signal terminated program|^nvcc error.*died due to signal (?:9|15)\b"
    r"|^\S+: out of memory allocating \d+|^terminate called after .*bad_alloc|^\S*virtual memory exhausted",
    re.MULTILINE,
)
_DISK_FULL = re.compile(
    r"^(?!.*(?:#error|#warning|static assertion|note:))\S.*No space left on device\s*$", re.MULTILINE
)
_UNUSABLE = re.compile(
    r"^nvcc fatal\s*: (.*)|^\S.*host_config\.h.*#error.*(unsupported GNU version.*)", re.MULTILINE
)
_ABSOLUTE_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[\"<](/[^\">\n]{0,200})", re.MULTILINE)
_RELATIVE_HINT = "Include files below the root by relative paths, the toolkit's by <name>."
_HOST_COMPILER_HINT = (
    "Install g++ (Debian: apt install g++). Sources without host code build without it, by NVRTC."
)


@dataclass(frozen=True, slots=True)
class Build:
    """A finished build. `ok` says whether everything asked for was made; then `cubin` and `ptx` exist.

    `kind`: a program has a `main` (and `executable`); a library has host code but no `main`; a kernel-only source has
    none. `findings` are the diagnostics, most important first; `kernels` come in source order. `log` is what the
    compiler printed. `finished` is the run of that compiler, `runs` are all that the answer depends on.
    """

    candidate: Candidate
    arch: str
    kind: BuildKind
    compiler: Compiler
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

    Raises InvalidRequest for a flag, macro or arch that is not allowed, ProgramMissing where a compiler is not
    installed, ProgramTimedOut, ProgramKilled, and UnreadableOutput where a failing compiler says nothing readable.
    """
    unit = _unit(bench, candidate)
    if candidate.is_program:
        return await _with_nvcc(bench, candidate, await _probed(bench, unit), arch, "program", timeout_s)
    if candidate.launches or not nvrtc.takes(unit):
        return await _with_nvcc(bench, candidate, unit, arch, "library", timeout_s)
    sources = (bench.blobs.read(digest).decode() for digest in candidate.files.values())
    if nvrtc.is_quicker(sources):
        return await _quickly(bench, candidate, unit, arch, timeout_s)
    try:
        return await _with_nvcc(bench, candidate, unit, arch, "library", timeout_s)
    except ProgramMissing as missing:
        return await _with_nvrtc(bench, candidate, unit, arch, timeout_s, missing)


def _unit(bench: Workbench, candidate: Candidate) -> nvcc.Unit:
    flags = checked_flags(candidate.flags)
    defines = {**declared_defines(candidate.source, candidate.main), **candidate.defines}
    plain, header = macros(checked_defines(defines), flags)
    inputs = candidate.inputs()
    for name, digest in candidate.files.items():
        if absolute := _ABSOLUTE_INCLUDE.search(bench.blobs.read(digest)):
            raise InvalidRequest(
                f"{name} includes by an absolute path: {absolute[1].decode()}", _RELATIVE_HINT
            )
    if header:
        inputs[nvcc.MACROS_NAME] = source_input(bench.blobs.put(header.encode()))
    return nvcc.Unit(candidate.main, inputs, plain, flags)


async def _probed(bench: Workbench, unit: nvcc.Unit) -> nvcc.Unit:
    """The unit with the launch probe linked in, which tells `debug` and `profile` what really ran."""
    made = await bench.run(launch_probe.command(source_input(bench.blobs.put(launch_probe.source()))))
    _require_able(made.require_end("nvcc").stderr.decode("utf-8", "replace"), "this GPU")
    if launch_probe.OBJECT_NAME not in made.files:
        raise UnreadableOutput("the launch probe does not compile", made.stderr)
    inputs = {**unit.inputs, launch_probe.OBJECT_NAME: made.built(launch_probe.OBJECT_NAME)}
    return replace(unit, inputs=inputs, linked=launch_probe.LINK_ARGUMENTS)


async def _quickly(
    bench: Workbench, candidate: Candidate, unit: nvcc.Unit, arch: str, timeout_s: float
) -> Build:
    """By NVRTC; by nvcc where NVRTC is missing or meets something that only nvcc has."""
    try:
        quick = await _with_nvrtc(bench, candidate, unit, arch, timeout_s)
    except ProgramMissing:
        return await _with_nvcc(bench, candidate, unit, arch, "library", timeout_s)
    if quick.ok or not nvrtc.is_limit(quick.log):
        return quick
    try:
        return await _with_nvcc(bench, candidate, unit, arch, "library", timeout_s)
    except ProgramMissing:
        if nvrtc.has_host_code(quick.log):
            raise
        return quick


async def _with_nvrtc(
    bench: Workbench,
    candidate: Candidate,
    unit: nvcc.Unit,
    arch: str,
    timeout_s: float,
    otherwise: ProgramMissing | None = None,
) -> Build:
    """By NVRTC; where it meets something that only nvcc has, `otherwise` says why nvcc was not asked."""
    finished = (await bench.run(nvrtc.command(unit, arch, timeout_s))).require_end("nvrtc")
    log = nvrtc.log(finished)
    if otherwise and finished.exit_code != 0 and nvrtc.is_limit(log):
        raise otherwise
    made = Build(
        candidate, arch, "kernel", "nvrtc", finished.exit_code == 0, (), (), (finished,), finished, log
    )
    return _read(bench, made, nvrtc.PTX_NAME, nvrtc.CUBIN_NAME)


async def _with_nvcc(
    bench: Workbench,
    candidate: Candidate,
    unit: nvcc.Unit,
    arch: str,
    target: nvcc.Target,
    timeout_s: float,
) -> Build:
    finished = (await bench.run(nvcc.command(unit, arch, target, timeout_s))).require_end("nvcc")
    log = (finished.stderr + finished.stdout).decode("utf-8", "replace")
    _require_able(log, arch)
    program = _output(finished, nvcc.PROGRAM_NAME, executable=True)
    ok = finished.exit_code == 0 and (target == "library" or program is not None)
    made = Build(candidate, arch, target, "nvcc", ok, (), (), (finished,), finished, log, program)
    return _read(bench, made, *nvcc.kept_names(candidate.main, arch))


def _require_able(log: str, arch: str) -> None:
    """Raises where the compiler could not work here, whatever the source says."""
    if _NO_HOST_COMPILER.search(log):
        raise ProgramMissing("nvcc needs a host compiler and there is no g++", _HOST_COMPILER_HINT)
    if _DISK_FULL.search(log):
        raise StorageFailure("the compiler found no space left on its disk")
    if _KILLED.search(log):
        raise ProgramKilled("a stage of the compiler was killed or ran out of memory")
    if re.search(
        r"(?m)^nvcc fatal\s*: .*(?:gpu architecture|gpu-architecture|is not defined for option)", log
    ):
        raise InvalidRequest(
            f"this nvcc does not build for {arch}", "Ask for another arch, or update the toolkit."
        )
    if unusable := _UNUSABLE.search(log):
        raise Unavailable(f"nvcc cannot build here: {unusable[1] or unusable[2]}")


def _read(bench: Workbench, made: Build, ptx_name: str, cubin_name: str) -> Build:
    """The build with what its log, its PTX and its source say. Raises UnreadableOutput for a failure without an error."""
    ptx = _output(made.finished, ptx_name)
    places = PtxPlaces(bench.blobs.read(ptx.digest).decode("utf-8", "replace")) if ptx else None
    texts = Texts(bench.blobs, made.candidate.files)
    sources = Sources(made.candidate.main, frozenset(made.candidate.files), texts.__getitem__, places)
    told = findings(diagnostics.parse(made.log), sources, made.arch)
    kernels: tuple[KernelResources, ...] = ()
    if made.ok:
        told = tuple(finding for finding in told if finding.severity != "error")
        entries = [found for found in ptxas.parse(made.log) if found.is_entry]
        entries.sort(key=lambda found: places.order(found.mangled) if places else 0)
        kernels, unfit = _fitted([_kernel(found, places) for found in entries], made, texts)
        told = ranked([*told, *unfit])
    elif not any(finding.severity == "error" for finding in told):
        raise UnreadableOutput(f"{made.compiler} failed without a readable error", made.log[-200:].strip())
    return replace(made, findings=told, kernels=kernels, ptx=ptx, cubin=_output(made.finished, cubin_name))


def _fitted(
    kernels: list[KernelResources], made: Build, texts: Mapping[str, str]
) -> tuple[tuple[KernelResources, ...], list[Finding]]:
    """The kernels with the occupancy of their launches, and the launches that do not fit."""
    planned = planned_launches(made.candidate.main, texts, made.candidate.defines, made.arch)
    launches = [planned.get(_base(kernel), ()) for kernel in kernels]
    pairs = list(zip(kernels, launches, strict=True))
    unfit = [finding for kernel, held in pairs for finding in misfits(kernel, made.arch, held)]
    return tuple(with_occupancy(kernel, made.arch, held) for kernel, held in pairs), unfit


def _base(kernel: KernelResources) -> str:
    """The name that a launch in the source has: without namespaces and template arguments."""
    return re.sub(r"<.*", "", kernel.short_name).rpartition("::")[2]


class Texts(Mapping[str, str]):
    """The files of a candidate by name, read when first asked for."""

    def __init__(self, blobs: Blobs, files: Mapping[str, str]) -> None:
        self._blobs = blobs
        self._files = files
        self._read: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name not in self._read:
            self._read[name] = self._blobs.read(self._files[name]).decode()
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def _output(finished: Finished, name: str, *, executable: bool = False) -> Input | None:
    held: Mapping[str, object] = finished.files
    return finished.built(name, executable=executable) if name in held else None


def _kernel(found: ptxas.FunctionResources, places: PtxPlaces | None) -> KernelResources:
    bounds = places.launch_bounds(found.mangled) if places else LaunchBounds()
    return KernelResources(
        name=demangle(found.mangled),
        mangled=found.mangled,
        registers=found.registers,
        spill_store_bytes=found.spill_store_bytes,
        spill_load_bytes=found.spill_load_bytes,
        stack_bytes=found.stack_bytes,
        static_shared_bytes=found.shared_bytes,
        barriers=found.barriers,
        constant_bytes=found.constant_bytes,
        max_threads=bounds.max_threads,
        min_blocks=bounds.min_blocks,
        uses_dynamic_shared=places.uses_dynamic_shared(found.mangled) if places else False,
    )
