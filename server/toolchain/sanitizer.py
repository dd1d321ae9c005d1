"""compute-sanitizer: what to ask of it for each check, and how its two outputs, XML and log, are read as one.

The records come from the XML file (`sanitizer_xml`), the totals and the allocations from the log (`sanitizer_log`).
Nothing is judged here: what is one fault and what is not, `analysis.fault_clusters` says.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import BinaryIO, Literal

from ..command import Command, Input
from ..errors import UnreadableOutput
from . import sanitizer_log
from .sanitizer_log import Log
from .sanitizer_xml import Record, RecordReader

Check = Literal["memcheck", "racecheck", "initcheck", "synccheck", "leakcheck"]
Tool = Literal["memcheck", "racecheck", "initcheck", "synccheck"]
CHECKS: tuple[Check, ...] = ("memcheck", "racecheck", "initcheck", "synccheck", "leakcheck")
XML_NAME = "report.xml"
LOG_NAME = "report.txt"
PRINT_LIMIT = 10_000
PADDING_BYTES = 32


@dataclass(frozen=True, slots=True)
class Report:
    """How one sanitizer process ended up: how many records were read, how many there were, and what it said of itself.

    `total` is None where it never came to its summary. `cut` says that the XML ends in the middle, as after a kill.
    """

    tool: Tool
    shown: int
    log: Log
    cut: bool

    @property
    def total(self) -> int | None:
        """The number of faults that the tool counted, printed or not."""
        return None if self.log.total is None else max(self.log.total, self.shown + self.log.not_printed)

    @property
    def truncated(self) -> bool:
        """Whether there was more than was read."""
        return self.cut or (self.total is not None and self.total > self.shown)

    @property
    def complete(self) -> bool:
        """Whether the tool watched the program to its end."""
        return self.log.started and self.total is not None and not self.cut


def tools_for(checks: Iterable[Check]) -> tuple[Tool, ...]:
    """The processes that answer these checks: leaks are found by memcheck's."""
    wanted = {"memcheck" if check == "leakcheck" else check for check in checks}
    tools: tuple[Tool, ...] = ("memcheck", "racecheck", "initcheck", "synccheck")
    return tuple(tool for tool in tools if tool in wanted)


def command(
    tool: Tool,
    executable: Input,
    *,
    arguments: tuple[str, ...] = (),
    leaks: bool = False,
    all_hazards: bool = False,
    timeout_s: float = 60.0,
) -> Command:
    """One sanitizer over `./program`. `all_hazards` makes racecheck list single hazards beside its analysis."""
    return over(
        tool,
        ("./program", *arguments),
        {"program": executable},
        leaks=leaks,
        all_hazards=all_hazards,
        timeout_s=timeout_s,
    )


def over(
    tool: Tool,
    target: tuple[str, ...],
    inputs: Mapping[str, Input],
    *,
    leaks: bool = False,
    all_hazards: bool = False,
    timeout_s: float = 60.0,
) -> Command:
    """One sanitizer over whatever `target` starts.

    memcheck always pads allocations: without it an overrun that ends in the next allocation is reported clean. A faulting
    kernel is ended, not the whole context, so that faults of later kernels are found in the same run.
    """
    options = {
        "memcheck": (
            *("--padding", str(PADDING_BYTES), "--leak-check", "full" if leaks else "no"),
            *("--report-api-errors", "explicit", "--track-stream-ordered-races", "all"),
        ),
        "racecheck": ("--racecheck-report", "all" if all_hazards else "analysis"),
        "initcheck": (),
        "synccheck": (),
    }[tool]
    return Command(
        program="compute-sanitizer",
        arguments=(
            *("--tool", tool, *options),
            *("--destroy-on-device-error", "kernel", "--target-processes", "all", "--launch-timeout", "0"),
            *("--show-backtrace", "yes", "--print-limit", str(PRINT_LIMIT)),
            *("--xml", "--save", XML_NAME, "--log-file", LOG_NAME),
            *("--", *target),
        ),
        inputs=inputs,
        outputs=(XML_NAME, LOG_NAME),
        kind="sanitize",
        gpu="shared",
        timeout_s=timeout_s,
    )


def parse(
    tool: Tool,
    xml: BinaryIO | None,
    log: BinaryIO | None,
    take: Callable[[Record, Log], None],
    *,
    ended: bool,
) -> Report:
    """Read both outputs as streams, giving each record to `take`; `ended` says whether the tool ended by itself.

    After a kill, a missing or cut file is a report that says so; a missing XML is none where the program never used CUDA.
    Raises UnreadableOutput for everything else that is not what the tool writes.
    """
    if log is None:
        if ended:
            raise UnreadableOutput(f"{tool} wrote no log")
        told = Log()
    else:
        told = sanitizer_log.parse(log, ended=ended)
    if xml is None:
        if told.started and ended:
            raise UnreadableOutput(f"{tool} wrote no XML report", told.excerpt)
        return Report(tool, 0, told, cut=not ended)
    reader = RecordReader(xml, may_be_cut=not ended)
    shown = 0
    for record in reader:
        take(record, told)
        shown += 1
    if shown == 0 and ended and (told.total or 0) > 0:
        raise UnreadableOutput(
            f"{tool} counts {told.total} faults and its XML report holds none", told.excerpt
        )
    return Report(tool, shown, told, reader.cut)
