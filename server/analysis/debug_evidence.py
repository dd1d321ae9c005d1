"""What one debugging session left behind, read: the plain run, its launches, its core dump, each sanitizer's faults.

Runs come in as finished (or as the error for which they could not run); nothing is started here. Reading is remembered by
the digests of what is read, so that a repeated question costs no second parse.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache

from ..blobs import Blobs
from ..command import Finished
from ..errors import UnreadableOutput, WarpwiseError
from ..reports.compilation import KernelResources
from ..reports.finding import SkippedCheck
from ..toolchain import cuda_gdb, launch_probe, sanitizer
from ..toolchain.cuda_gdb import Crash
from ..toolchain.sanitizer import Report, Tool
from .fault_clusters import Fault, FaultCollector
from .host_lines import Executable
from .host_sites import SourceOf, source_finder
from .launches import Launches, read_launches
from .run_findings import text_tail

PLAIN_RUN = "plain run"
Outcome = Finished | WarpwiseError


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One sanitizer's report and faults; `left_out` counts faults beyond the bound."""

    finished: Finished
    report: Report
    faults: tuple[Fault, ...]
    left_out: int


@dataclass(slots=True)
class Evidence:
    """All of it. What could not be had or read stands in `skipped` with its reason; it is never taken for clean."""

    names: tuple[str, ...]
    plain: Finished | None = None
    launches: Launches | None = None
    crash: Crash | None = None
    checks: dict[Tool, CheckResult] = field(default_factory=dict[Tool, CheckResult])
    skipped: list[SkippedCheck] = field(default_factory=list[SkippedCheck])

    @property
    def died_of_gpu(self) -> bool:
        """Whether the plain run left a GPU core dump, readable or not."""
        return self.plain is not None and cuda_gdb.CORE_NAME in self.plain.files

    @property
    def source_of(self) -> SourceOf:
        """From a tool's path to the candidate's own name of the file."""
        return source_finder(self.names)


def gather(
    blobs: Blobs,
    names: Iterable[str],
    kernels: Sequence[KernelResources],
    plain: Outcome,
    debugger: Outcome | None,
    checks: Mapping[Tool, Outcome],
) -> Evidence:
    """Read everything that ran. Raises the first error where nothing could be run or read at all."""
    evidence = Evidence(tuple(names))
    _read_plain(evidence, blobs, kernels, plain)
    _read_crash(evidence, debugger)
    errors = [_read_check(evidence, blobs, tool, outcome) for tool, outcome in checks.items()]
    if evidence.plain is None and not evidence.checks:
        raise next(error for error in (plain, *errors) if isinstance(error, WarpwiseError))
    return evidence


def _read_plain(evidence: Evidence, blobs: Blobs, kernels: Sequence[KernelResources], plain: Outcome) -> None:
    if isinstance(plain, WarpwiseError):
        evidence.skipped.append(SkippedCheck(check=PLAIN_RUN, reason=plain.what))
        return
    evidence.plain = plain
    table = plain.files.get(launch_probe.TABLE_NAME)
    executable = _executable_of(plain, blobs)
    if table is None or executable is None:
        missing = "left no table of its launches" if table is None else "its executable is not at hand"
        evidence.skipped.append(SkippedCheck(check="kernel launches", reason=f"the run {missing}"))
        return
    try:
        parsed = launch_probe.parse(blobs.read(table.digest))
        evidence.launches = read_launches(parsed, executable, kernels, evidence.source_of)
    except UnreadableOutput as error:
        evidence.skipped.append(SkippedCheck(check="kernel launches", reason=error.what))


def _read_crash(evidence: Evidence, debugger: Outcome | None) -> None:
    if debugger is None:
        return
    try:
        if isinstance(debugger, WarpwiseError):
            raise debugger
        ended = debugger.require_end("cuda-gdb")
        evidence.crash = cuda_gdb.parse((ended.stdout + ended.stderr).decode("utf-8", "replace"))
    except WarpwiseError as error:
        evidence.skipped.append(SkippedCheck(check="place of the GPU crash", reason=error.what))


def _read_check(evidence: Evidence, blobs: Blobs, tool: Tool, outcome: Outcome) -> WarpwiseError | None:
    try:
        if isinstance(outcome, WarpwiseError):
            raise outcome
        files = outcome.files
        xml, log = files.get(sanitizer.XML_NAME), files.get(sanitizer.LOG_NAME)
        report, collector = _parsed(
            blobs,
            tool,
            xml.digest if xml else None,
            log.digest if log else None,
            outcome.inputs.get("program"),
            evidence.names,
            not (outcome.timed_out or outcome.was_killed) and outcome.signal is None,
        )
    except WarpwiseError as error:
        evidence.skipped.append(SkippedCheck(check=tool, reason=error.what + _said(outcome)))
        return error
    evidence.skipped += [SkippedCheck(check=f"all of {tool}", reason=note) for note in collector.notes]
    evidence.checks[tool] = CheckResult(outcome, report, tuple(collector.faults), collector.left_out)
    return None


def _said(outcome: Outcome) -> str:
    """What a process whose report cannot be read printed instead."""
    if isinstance(outcome, WarpwiseError):
        return ""
    said = text_tail(outcome.stderr) or text_tail(outcome.stdout)
    return f"; it printed: {said}" if said else ""


@lru_cache(maxsize=64)
def _parsed(
    blobs: Blobs,
    tool: Tool,
    xml: str | None,
    log: str | None,
    program: str | None,
    names: tuple[str, ...],
    ended: bool,
) -> tuple[Report, FaultCollector]:
    collector = FaultCollector(tool, source_finder(names), _executable(blobs, program) if program else None)
    with ExitStack() as opened:
        report = opened.enter_context(blobs.open(xml)) if xml else None
        told = opened.enter_context(blobs.open(log)) if log else None
        return sanitizer.parse(tool, report, told, collector.take, ended=ended), collector


def _executable_of(finished: Finished, blobs: Blobs) -> Executable | None:
    digest = finished.inputs.get("program")
    return _executable(blobs, digest) if digest else None


@lru_cache(maxsize=16)
def _executable(blobs: Blobs, digest: str) -> Executable | None:
    """The executable whose addresses a run's outputs speak of; None where its bytes are not kept here."""
    if not blobs.holds(digest):
        return None
    try:
        return Executable(blobs.read(digest))
    except UnreadableOutput:
        return None
