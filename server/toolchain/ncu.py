"""ncu, the Nsight Compute profiler: what to ask of it, and what its log says. Its reports are read by `ncu_report`.

Clocks are never touched (`--clock-control none`): the card may serve others. Reading hardware counters needs a permission
that a driver can withhold, and ncu ends with 0 when nothing was profiled: both are read from its log.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..command import DELEGATE, Command, Finished, Input
from ..errors import Busy, ProgramTimedOut, ToolchainError, UnreadableOutput
from . import launch_probe

Target = Input | Command  # a built program, or a command of a toolchain program that launches kernels
ProfileSet = Literal["quick", "standard", "full", "source"]
REPORT_NAME = "report.ncu-rep"
LOG_NAME = "ncu.log"
PROGRAM_NAME = "program"
TIMED_LAUNCHES = 1_000
_SECTIONS: dict[ProfileSet, tuple[str, ...]] = {
    "quick": ("SpeedOfLight", "LaunchStats", "Occupancy"),
    "standard": (
        *("SpeedOfLight", "SpeedOfLight_RooflineChart", "SpeedOfLight_HierarchicalTensorRooflineChart"),
        *("MemoryWorkloadAnalysis", "MemoryWorkloadAnalysis_Tables", "Occupancy", "LaunchStats"),
        *("WarpStateStats", "SchedulerStats", "SourceCounters"),
    ),
    "full": (),
    "source": ("SpeedOfLight", "LaunchStats", "WarpStateStats", "SourceCounters"),
}
_COMMON = ("--clock-control", "none", "--target-processes", "all", "--force-overwrite")
_PROFILING = re.compile(r'^==PROF== Profiling "(?P<kernel>.*)" - (?P<number>\d+)', re.MULTILINE)
_MESSAGE = re.compile(r"^==(?P<level>ERROR|WARNING)==\s*(?P<text>.+)$", re.MULTILINE)
_EXIT = re.compile(r"application returned an error code \((?P<code>-?\d+)\)")


@dataclass(frozen=True, slots=True)
class Log:
    """What ncu said: kernels in the order it began them, its errors and warnings, and how the program itself ended.

    `denied`: the driver or the sandbox keeps the counters from us. `nothing`: no launch was profiled.
    """

    began: tuple[str, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    exit_code: int | None
    denied: bool
    nothing: bool


def timing_command(program: Target, args: Sequence[str], timeout_s: float) -> Command:
    """Time every launch (the first TIMED_LAUNCHES), one pass each, caches left as the program left them."""
    counted = ("--metrics", "gpu__time_duration.sum", "--section", "LaunchStats", "--apply-rules", "no")
    plainly = ("--import-sass", "no", "--cache-control", "none", "--launch-count", str(TIMED_LAUNCHES))
    return _command(program, args, (*counted, *plainly), timeout_s)


def profile_command(
    program: Target,
    args: Sequence[str],
    chosen: ProfileSet,
    selected: tuple[Sequence[str], Sequence[int]] | None,
    timeout_s: float,
) -> Command:
    """Profile in depth: (linker names, their invocations from 1), or every launch where `selected` is None."""
    options: tuple[str, ...] = ("--import-source", "yes", "--source-folders", ".")
    sections = _SECTIONS[chosen]
    options += tuple(word for name in sections for word in ("--section", name)) or ("--set", "full")
    if selected is not None:
        names = "|".join(re.escape(name) for name in selected[0])
        numbers = "|".join(str(number) for number in selected[1])
        options += ("--kernel-name-base", "mangled", "--kernel-id", f"::regex:^({names})$:^({numbers})$")
    return _command(program, args, options, timeout_s)


def details_command(report: Input) -> Command:
    """The vendor's own text for a report; needs no GPU."""
    return Command(
        program="ncu",
        arguments=("--import", REPORT_NAME, "--page", "details", "--print-details", "all"),
        inputs={REPORT_NAME: report},
        kind="analyze",
        timeout_s=120.0,
        max_output_bytes=16 << 20,
    )


def _command(program: Target, args: Sequence[str], options: Sequence[str], timeout_s: float) -> Command:
    files = ("--log-file", LOG_NAME, "--export", REPORT_NAME)
    started = program if isinstance(program, Command) else None
    return Command(
        program="ncu",
        arguments=(*_COMMON, *options, *files, DELEGATE if started else f"./{PROGRAM_NAME}", *args),
        inputs=program.inputs if isinstance(program, Command) else {PROGRAM_NAME: program},
        outputs=(REPORT_NAME, LOG_NAME, *(started.outputs if started else (launch_probe.TABLE_NAME,))),
        delegate=started.program if started else None,
        kind="profile",
        gpu="exclusive",
        timeout_s=timeout_s,
    )


def parse_log(finished: Finished, content: bytes | None) -> Log:
    """What the log says (its file, or stdout where ncu left none). Raises UnreadableOutput where it says nothing."""
    text = (finished.stdout if content is None else content).decode("utf-8", "replace")
    messages = [(match["level"], match["text"].strip()) for match in _MESSAGE.finditer(text)]
    errors = tuple(said for level, said in messages if level == "ERROR")
    warnings = tuple(said for level, said in messages if level == "WARNING")
    if "==PROF==" not in text and not messages and not finished.timed_out:
        tail = (finished.stderr + finished.stdout)[-200:]
        raise UnreadableOutput(f"ncu ended with {finished.exit_code} and said nothing", tail)
    exits = [int(match["code"]) for error in errors if (match := _EXIT.search(error))]
    return Log(
        began=tuple(match["kernel"] for match in _PROFILING.finditer(text)),
        errors=tuple(error for error in errors if not _EXIT.search(error)),
        warnings=warnings,
        exit_code=exits[-1] if exits else None,
        denied=any("ERR_NVGPUCTRPERM" in error for error in errors),
        nothing=any("No kernels were profiled" in warning for warning in warnings),
    )


def require_report(finished: Finished, log: Log) -> None:
    """Raises where a run of ncu gave neither a report nor a known reason for having none.

    ProgramTimedOut names the kernel that was running; Busy where another tool has the counters; ToolchainError with ncu's
    own words otherwise. A denied permission and an empty run are no errors here: the caller tells of them.
    """
    if finished.timed_out:
        running = f" while profiling {log.began[-1]}" if log.began else ""
        raise ProgramTimedOut(
            f"ncu and its program were still running at the deadline ({finished.wall_s:.0f} s){running} and were killed",
            "Look for an endless loop; else raise timeout_s, or profile less: set=quick, kernel=, launch_count=1.",
        )
    finished.require_end("ncu")
    if REPORT_NAME in finished.files or log.denied or log.nothing:
        return
    said = log.errors[0] if log.errors else f"exit code {finished.exit_code} and no report"
    if "driver resource was unavailable" in said:
        raise Busy(
            "another tool is using the GPU's performance counters",
            "Stop DCGM, Nsight or another ncu, then retry.",
        )
    raise ToolchainError(
        f"ncu could not profile: {said[:300]}", "Read the log's words; `debug` finds a crash's line."
    )
