"""`debug`: run a program plainly and under the sanitizers, side by side, and say what is wrong with it, and where."""

import anyio
import anyio.to_thread
from pydantic import Field, field_validator
from pydantic.json_schema import SkipJsonSchema

from ..analysis.debug_answer import Diagnosis, Program, diagnose
from ..analysis.debug_evidence import PLAIN_RUN, Evidence, Outcome, gather
from ..analysis.run_findings import program_end, text_tail
from ..building import Build, build
from ..candidate import Candidate, code_only
from ..command import Command, Finished
from ..errors import InvalidRequest, StorageFailure, WarpwiseError
from ..evaluation.judging.debugging import debug_candidate
from ..evaluation.judging.entries import Request
from ..evaluation.shipped import find
from ..reports.answer import Artifact, Detail
from ..reports.debugging import DebugAnswer
from ..reports.finding import Location, SkippedCheck
from ..tool import tool
from ..toolchain import cuda_gdb, launch_probe, sanitizer
from ..toolchain.sanitizer import CHECKS, Check, Tool
from ..tools_arguments import KernelArgs
from ..workbench import Workbench

DEFAULT_TIMEOUT_S = 60.0
MAX_ARGUMENTS = 256
MAX_ARGUMENT_LENGTH = 16_384
_EXCERPT_CHARACTERS = 160
_PAGE_CHARACTERS = 1_500
_NEEDS_MAIN = (
    "Give it a main that launches the kernel, or name its workload; compile and analyze take it as it is."
)


class DebugArgs(KernelArgs):
    """Run a CUDA program under the sanitizers: faults, races, leaks, crashes, hangs; and whether each kernel ran."""

    checks: tuple[Check, ...] = Field(
        default_factory=lambda: CHECKS, description="Which checks; default: all."
    )
    workload: str | SkipJsonSchema[None] = Field(
        None, description="Debug kernels of this workload, without a main."
    )
    args: tuple[str, ...] = Field(
        default=(), max_length=MAX_ARGUMENTS, description="The program's own arguments."
    )

    @field_validator("args")
    @classmethod
    def _plain_texts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for argument in value:
            if "\0" in argument or argument != argument.encode(errors="replace").decode():
                raise ValueError("an argument must be text without NUL characters")
            if len(argument) > MAX_ARGUMENT_LENGTH:
                raise ValueError(f"an argument may have {MAX_ARGUMENT_LENGTH:,} characters")
        return value


@tool(title="Debug a CUDA program", read_only=True, component="debugger")
async def debug(bench: Workbench, args: DebugArgs) -> DebugAnswer:
    """Build once, run everything side by side, judge by what was reported and by what was launched."""
    candidate = await args.candidate(bench)
    if args.workload is not None and not candidate.is_program:
        arch = await args.build_arch(bench, candidate)
        workload = find(args.workload, bench.client.roots)
        request = Request(workload, arch, timing=None, timeout_s=args.deadline(DEFAULT_TIMEOUT_S))
        return await debug_candidate(bench, candidate, request, args.checks)
    if not candidate.is_program:
        raise InvalidRequest(f"{candidate.main} has no main, so there is nothing to run", _NEEDS_MAIN)
    arch = await args.build_arch(bench, candidate)
    await bench.progress("building", 0.0)
    built = await build(bench, candidate, arch)
    if not built.ok or built.executable is None:
        return _does_not_build(candidate, built, args, bench)
    outcomes = await _run_all(bench, _commands(built, args))
    debugger = await _debugger(bench, built, outcomes[PLAIN_RUN])
    checks: dict[Tool, Outcome] = {tool: outcomes[tool] for tool in sanitizer.tools_for(args.checks)}
    evidence = await anyio.to_thread.run_sync(
        gather, bench.blobs, tuple(candidate.files), built.kernels, outcomes[PLAIN_RUN], debugger, checks
    )
    excerpts = _Excerpts(bench, candidate)
    program = Program(candidate.main, code_only(candidate.source), arch, built.kernels)
    diagnosis = await anyio.to_thread.run_sync(diagnose, evidence, args.checks, program, excerpts)
    return _answer(bench, candidate, evidence, diagnosis, args.detail)


def _commands(built: Build, args: DebugArgs) -> dict[str, Command]:
    """The runs of one session by name: the plain one with GPU core dumps enabled, and one process per sanitizer."""
    assert built.executable is not None
    timeout_s = args.deadline(DEFAULT_TIMEOUT_S)
    commands = {
        PLAIN_RUN: Command(
            program="./program",
            arguments=args.args,
            inputs={"program": built.executable},
            outputs=(launch_probe.TABLE_NAME, cuda_gdb.CORE_NAME),
            environment=cuda_gdb.CORE_ENVIRONMENT,
            kind="run",
            gpu="shared",
            timeout_s=timeout_s,
        )
    }
    for name in sanitizer.tools_for(args.checks):
        commands[name] = sanitizer.command(
            name,
            built.executable,
            arguments=args.args,
            leaks="leakcheck" in args.checks,
            all_hazards=args.detail != "summary",
            timeout_s=timeout_s,
        )
    return commands


async def _run_all(bench: Workbench, commands: dict[str, Command]) -> dict[str, Outcome]:
    """Run side by side; a run that cannot be had is its error, so that the others still answer."""
    outcomes: dict[str, Outcome] = {}

    async def run(name: str, command: Command) -> None:
        try:
            outcomes[name] = await bench.run(command)
        except StorageFailure:
            raise
        except WarpwiseError as error:
            outcomes[name] = error
        await bench.progress(
            f"{len(outcomes)} of {len(commands)} runs ended ({name})", len(outcomes) / len(commands)
        )

    try:
        async with anyio.create_task_group() as group:
            for name, command in commands.items():
                group.start_soon(run, name, command)
    except* StorageFailure as failures:
        raise failures.exceptions[0] from None
    return outcomes


async def _debugger(bench: Workbench, built: Build, plain: Outcome) -> Outcome | None:
    """Ask cuda-gdb about the core dump, where there is one."""
    if isinstance(plain, WarpwiseError) or cuda_gdb.CORE_NAME not in plain.files or built.executable is None:
        return None
    await bench.progress("reading the GPU core dump", None)
    try:
        return await bench.run(cuda_gdb.command(built.executable, plain.built(cuda_gdb.CORE_NAME)))
    except WarpwiseError as error:
        return error


class _Excerpts:
    """Source lines of a candidate's files, trimmed for an answer."""

    def __init__(self, bench: Workbench, candidate: Candidate) -> None:
        self._bench = bench
        self._candidate = candidate
        self._lines: dict[str, list[str]] = {candidate.main: candidate.source.splitlines()}

    def __call__(self, location: Location | None) -> str | None:
        if location is None or location.line is None or location.file not in self._candidate.files:
            return None
        if location.file not in self._lines:
            content = self._bench.blobs.read(self._candidate.files[location.file])
            self._lines[location.file] = content.decode("utf-8", "replace").splitlines()
        lines = self._lines[location.file]
        text = lines[location.line - 1].strip() if 0 < location.line <= len(lines) else ""
        return text[:_EXCERPT_CHARACTERS] or None


def _answer(
    bench: Workbench, candidate: Candidate, evidence: Evidence, diagnosis: Diagnosis, detail: Detail
) -> DebugAnswer:
    runs = [evidence.plain] if evidence.plain else []
    runs += [result.finished for result in evidence.checks.values()]
    raw, artifacts = _raw(bench, evidence) if detail == "raw" else ({}, ())
    launches = evidence.launches
    return DebugAnswer(
        candidate=candidate.id,
        summary=diagnosis.summary,
        findings=diagnosis.findings,
        provenance=bench.origin(runs) if runs else None,
        artifacts=artifacts,
        next=_next_steps(diagnosis, detail),
        checks_run=diagnosis.checks_run,
        checks_skipped=diagnosis.checks_skipped,
        verdict=diagnosis.verdict,
        kernels=launches.runs if launches else (),
        graph_launches=launches.table.graph_launches if launches else 0,
        program=program_end(evidence.plain) if evidence.plain else None,
        records=diagnosis.records,
        raw=raw,
    )


def _next_steps(diagnosis: Diagnosis, detail: Detail) -> tuple[str, ...]:
    if diagnosis.verdict == "clean":
        return ("profile",)
    steps = ["Mend the first finding, then debug again."] if diagnosis.findings else []
    if any(finding.rule.startswith("memcheck.") for finding in diagnosis.findings):
        steps = ["Mend, then debug again: a kernel ends at its first fault."]
    return (*steps, 'More: detail="evidence" or "raw".') if detail == "summary" else tuple(steps)


def _raw(bench: Workbench, evidence: Evidence) -> tuple[dict[str, str], tuple[Artifact, ...]]:
    """The first page of what the tools printed, and all of it as artifacts."""
    pages: dict[str, str] = {}
    artifacts: list[Artifact] = []
    streams: list[tuple[str, bytes]] = []
    if evidence.plain:
        streams = [("stdout.txt", evidence.plain.stdout), ("stderr.txt", evidence.plain.stderr)]
    for check, result in evidence.checks.items():
        held = result.finished.files
        for file in (sanitizer.LOG_NAME, sanitizer.XML_NAME):
            if file in held:
                streams.append((f"{check}-{file}", bench.blobs.read(held[file].digest)))
    for name, content in streams:
        if content:
            artifacts.append(bench.keep_artifact(name, content, "debugger"))
            if name.endswith(".txt"):
                pages[name] = content[:_PAGE_CHARACTERS].decode("utf-8", "replace")
    return pages, tuple(artifacts)


def _does_not_build(candidate: Candidate, built: Build, args: DebugArgs, bench: Workbench) -> DebugAnswer:
    errors = built.errors
    said = (
        f"{len(errors)} error{'s'[: len(errors) != 1]}"
        if errors
        else text_tail(built.log.encode()) or "no reason"
    )
    return DebugAnswer(
        candidate=candidate.id,
        summary=f"Does not build ({said}), so nothing was run.",
        findings=built.findings,
        provenance=bench.origin([_last(built)]),
        next=("Mend the build, then debug again.",),
        checks_skipped=(SkippedCheck(check=", ".join(args.checks) or PLAIN_RUN, reason="it does not build"),),
        verdict="does not build",
    )


def _last(built: Build) -> Finished:
    return built.finished
