"""What debugging a program tells: the verdict, which kernels really ran, and how far each check came."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from .answer import Answer, Detail
from .number import Frozen

Verdict = Literal["clean", "faults", "not run", "unfinished", "undecided", "does not build"]
KERNELS_SHOWN: dict[Detail, int] = {"summary": 6, "evidence": 40, "raw": 400}


class KernelRun(Frozen):
    """One kernel's launches in the plain run: accepted, failed, and captured into graphs; the latest configuration.

    `grid` and `block` are as a launch writes them (`(32,32)`), None for a kernel that was never launched.
    """

    name: str
    launches: int = 0
    failed: int = 0
    captured: int = 0
    grid: str | None = None
    block: str | None = None
    shared_bytes: int = 0
    launched_at: str | None = None

    def __str__(self) -> str:
        if not self.launches and not self.failed and not self.captured:
            return f"{self.name}: never launched"
        shared = f", {self.shared_bytes} B" if self.shared_bytes else ""
        counts = [f"{self.launches:,}x"] if self.launches or not self.captured else []
        counts += [f"{self.captured:,}x in graphs"] if self.captured else []
        counts += [f"{self.failed:,} failed"] if self.failed else []
        return f"{self.name}<<<{self.grid}, {self.block}{shared}>>> {', '.join(counts)}"


class ProgramEnd(Frozen):
    """How the plain run ended, in seconds of wall time; `exit_code` is None when a signal or the deadline ended it."""

    exit_code: int | None
    signal: str | None = None
    timed_out: bool = False
    seconds: float
    stdout_bytes_dropped: int = 0

    def __str__(self) -> str:
        end = f"exit code {self.exit_code}" if self.exit_code is not None else f"ended by {self.signal}"
        if self.timed_out:
            end = "killed at its deadline"
        dropped = (
            f"; {self.stdout_bytes_dropped:,} bytes of output dropped" if self.stdout_bytes_dropped else ""
        )
        return f"{end} after {self.seconds:g} s{dropped}"


class CheckRecords(Frozen):
    """How many records of a check were read, of how many there were (None: it never said)."""

    check: str
    shown: int
    total: int | None
    truncated: bool

    def __str__(self) -> str:
        if not self.truncated:
            return f"{self.check} {self.shown:,}"
        return (
            f"{self.check} {self.shown:,} of {'?' if self.total is None else f'{self.total:,}'} (truncated)"
        )


class DebugAnswer(Answer):
    """What the sanitizers, the plain run and the core dump say of one program."""

    component: ClassVar[str | None] = "debugger"
    verdict: Verdict
    kernels: tuple[KernelRun, ...] = ()
    graph_launches: int = 0
    program: ProgramEnd | None = None
    records: tuple[CheckRecords, ...] = ()
    raw: Mapping[str, str] = {}

    @property
    def _told(self) -> list[CheckRecords]:
        """The counts that are not simply none."""
        return [count for count in self.records if count.shown or count.truncated]

    def block(self, detail: Detail) -> dict[str, Any]:
        """Verdict, kernels, program end and record counts, without what is zero or unknown."""
        shown = self.kernels[: KERNELS_SHOWN[detail]]
        data: dict[str, Any] = {"verdict": self.verdict}
        data["kernels"] = [
            str(kernel)
            if detail == "summary"
            else kernel.model_dump(exclude_defaults=True, exclude_none=True)
            for kernel in shown
        ]
        if len(self.kernels) > len(shown):
            data["kernels_left_out"] = len(self.kernels) - len(shown)
        if self.graph_launches:
            data["graph_launches"] = self.graph_launches
        if self.program:
            data["program"] = self.program.model_dump(exclude_defaults=True, exclude_none=True)
        data["records"] = {
            count.check: count.shown if not count.truncated else count.model_dump(exclude={"check"})
            for count in self._told
        }
        if detail == "raw":
            data["raw"] = self.raw
        return data

    def block_lines(self, detail: Detail) -> list[str]:
        """The same as lines."""
        shown = self.kernels[: KERNELS_SHOWN[detail]]
        lines = ["kernels: " + "; ".join(str(kernel) for kernel in shown)] if shown else []
        if len(self.kernels) > len(shown):
            lines.append(f"left out: {len(self.kernels) - len(shown)} kernels")
        if self.graph_launches:
            lines.append(f"graph launches: {self.graph_launches:,}")
        if self.program:
            lines.append(f"program: {self.program}")
        if self._told:
            lines.append("records: " + ", ".join(str(count) for count in self._told))
        if detail == "raw":
            lines += [f"--- {name}\n{text}" for name, text in self.raw.items()]
        return lines
