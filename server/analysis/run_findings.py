"""Findings about the run itself: what was never launched, what was refused, and runs that did not come to their end."""

import re
import signal
from collections.abc import Callable, Sequence

from ..command import Finished
from ..reports.compilation import KernelResources
from ..reports.debugging import ProgramEnd
from ..reports.finding import Finding, Location
from ..toolchain.demangle import demangle
from . import cuda_errors
from .kernel_names import plain_linker_name
from .launch_limits import explain
from .launches import Launches, NamedLaunch, configuration

Excerpt = Callable[[Location | None], str | None]
_TAIL_CHARACTERS = 240
_SHELL_SIGNALS = range(129, 160)  # how a shell or a sandbox passes a signal on: 128 + its number


def program_end(finished: Finished) -> ProgramEnd:
    """How the plain run ended."""
    number = ending_signal(finished)
    return ProgramEnd(
        exit_code=None if number else finished.exit_code,
        signal=signal_name(number) if number else None,
        timed_out=finished.timed_out,
        seconds=round(finished.wall_s, 2),
        stdout_bytes_dropped=finished.stdout_dropped,
    )


def ending_signal(finished: Finished) -> int | None:
    """The signal that ended a run, also where a sandbox passed it on as an exit code."""
    if finished.signal is None and finished.exit_code in _SHELL_SIGNALS:
        return (finished.exit_code or 128) - 128
    return finished.signal


def signal_name(number: int) -> str:
    """SIGSEGV for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def launch_findings(
    launches: Launches, arch: str, kernels: Sequence[KernelResources], excerpt: Excerpt
) -> list[Finding]:
    """What was refused, what was captured and never run, and whether anything was launched at all."""
    found = [_refused(launch, arch, kernels, excerpt) for launch in launches.failed]
    found += _driver_failures(launches)
    captured = [named for named in launches.named if named.launch.captured and not named.launch.error]
    if captured and not launches.table.graph_launches:
        names = ", ".join(sorted({named.name for named in captured}))
        found.append(
            Finding(
                rule="launch.graph-not-launched",
                severity="error",
                message=f"{names} stands in a graph that is never launched, so it never ran",
                suggestion="Call cudaGraphLaunch on the instantiated graph.",
            )
        )
    if not found and not launches.table.ran_anything:
        found.append(_nothing_launched(launches))
    if launches.never and launches.table.ran_anything:
        found.append(_never_launched(launches))
    return found


def _refused(named: NamedLaunch, arch: str, kernels: Sequence[KernelResources], excerpt: Excerpt) -> Finding:
    launch, site = named.launch, named.site
    resources = None
    if named.kernel:
        wanted = demangle(plain_linker_name(named.kernel))
        named_so = (kernel for kernel in kernels if demangle(plain_linker_name(kernel.mangled)) == wanted)
        resources = next(named_so, None)
    reason = explain(launch.latest, launch.error, arch, resources)
    grid, block = configuration(launch.latest)
    shared = f", {launch.latest.shared_bytes}" if launch.latest.shared_bytes else ""
    location = Location(file=site.file, line=site.line) if site.file else None
    times = f" ({launch.count:,} times)" if launch.count > 1 else ""
    return Finding(
        rule="launch.failed",
        severity="error",
        message=f"{named.name}<<<{grid}, {block}{shared}>>> did not run{times}: {reason.what}",
        kernel=named.name if named.kernel else None,
        location=location,
        excerpt=excerpt(location),
        evidence={
            "error": cuda_errors.name(launch.error),
            "launches": launch.count,
            "shared_bytes": launch.latest.shared_bytes,
        },
        suggestion=reason.suggestion,
        confirm="check cudaGetLastError() after the launch",
    )


def _driver_failures(launches: Launches) -> list[Finding]:
    table = launches.table
    failed = {"cuLaunchKernel": table.driver_failures, "cudaGraphLaunch": table.graph_failures}
    return [
        Finding(
            rule="launch.failed",
            severity="error",
            message=f"{count:,} calls of {call} failed: what they should launch did not run",
            suggestion=f"Check the result of every {call}.",
        )
        for call, count in failed.items()
        if count
    ]


def _nothing_launched(launches: Launches) -> Finding:
    held = ", ".join(run.name for run in launches.runs[:4]) or "no kernel at all"
    unseen = launches.unseen
    return Finding(
        rule="launch.none",
        severity="warning" if unseen else "error",
        confidence="possible" if unseen else "certain",
        message=f"the program launched no kernel, so nothing was checked; it holds {held}"
        + (f" ({unseen})" if unseen else ""),
        suggestion="Launch the kernel on the path that main takes; pass what it needs in `args`.",
    )


def _never_launched(launches: Launches) -> Finding:
    names = launches.never
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    graphs = " (unless from a graph)" if launches.table.graph_launches else ""
    return Finding(
        rule="launch.never",
        severity="note",
        message=f"never launched{graphs}, so not checked: {shown}",
        evidence={"kernels": list(names)},
        suggestion="Launch it, or take it out.",
    )


def unfinished(
    name: str, finished: Finished, launches: Launches | None, source: str, main: str, excerpt: Excerpt
) -> Finding:
    """The finding of a plain run that was killed at its deadline: the last kernel launched is where to look."""
    latest = launches.latest if launches else None
    message = f"did not finish within {finished.wall_s:.0f} s ({name})"
    if latest is None:
        return Finding(
            rule="run.hang",
            severity="error",
            message=f"{message}; no kernel had been launched: the host code waits or loops",
            suggestion="Look for an endless loop in main, or raise timeout_s if the work is long.",
        )
    at = f" at {latest.site.file}:{latest.site.line}" if latest.site.file else ""
    line = definition_line(source, latest.name)
    location = Location(file=main, line=line) if line else None
    launched = Location(file=latest.site.file, line=latest.site.line) if latest.site.file else None
    return Finding(
        rule="run.hang",
        severity="error",
        confidence="likely",
        message=f"{message}; the last kernel launched is {latest.name}{at}: it, or the host after it, never ends",
        kernel=latest.name,
        location=location or launched,
        related=(launched,) if launched and location else (),
        excerpt=excerpt(location or launched),
        suggestion="Look for a loop whose exit no thread can reach, or a barrier that not all threads reach.",
    )


def definition_line(source: str, kernel: str) -> int | None:
    """The line on which a kernel's definition begins, by its plain name; None where it is not plain to see."""
    plain = re.escape(re.sub(r"<.*", "", kernel).rpartition("::")[2])
    found = re.search(rf"__global__[^;{{}}]*?\b{plain}\s*\(", source)
    return source.count("\n", 0, found.end()) + 1 if found else None


def ended_by_signal(name: str, finished: Finished, number: int) -> Finding:
    """A run that a signal ended."""
    killed = number == signal.SIGKILL
    tail = text_tail(finished.stderr)
    return Finding(
        rule="run.killed" if killed else "run.signal",
        severity="error",
        message=f"{name} was ended by {signal_name(number)}" + (f": {tail}" if tail else ""),
        evidence={"signal": number},
        suggestion="Usually the machine is out of memory: use a smaller problem, or free some."
        if killed
        else "The host code crashed: check its pointers; device memory cannot be read on the host.",
    )


def exit_note(finished: Finished) -> Finding:
    """The program's own non-zero exit, with the end of what it said."""
    tail = text_tail(finished.stderr) or text_tail(finished.stdout)
    return Finding(
        rule="run.exit-code",
        severity="note",
        message=f"the program exits with {finished.exit_code}" + (f": {tail}" if tail else ""),
        evidence={"stderr": text_tail(finished.stderr, 2000)},
    )


def dropped_output(finished: Finished) -> Finding:
    """A program that wrote more than is kept."""
    kept = len(finished.stdout) + len(finished.stderr)
    dropped = finished.stdout_dropped + finished.stderr_dropped
    return Finding(
        rule="run.output-dropped",
        severity="note",
        message=f"the program wrote {kept + dropped:,} bytes; head and tail, {kept:,} bytes, are kept",
        suggestion="Print less: output costs time and is never read for the verdict.",
    )


def text_tail(content: bytes, characters: int = _TAIL_CHARACTERS) -> str:
    """The end of a program's output as one line."""
    text = content[-4 * characters :].decode("utf-8", "replace").strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    joined = " | ".join(lines[-3:])
    return "…" + joined[-characters:] if len(joined) > characters else joined
