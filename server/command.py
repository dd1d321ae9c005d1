"""One execution of an external program, before (`Command`) and after (`Finished`). Data only: nothing runs here.

A command holds only paths relative to its work folder, so that its digest, the *question*, is the same on every
machine. A built input counts by the question that built it, never by its bytes, so that what an H200 said of a program
is found again where another compiler built the same program.
"""

import hashlib
import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from .errors import InvalidRequest, ProgramKilled, ProgramTimedOut

Kind = Literal["compile", "analyze", "run", "sanitize", "profile"]
GpuUse = Literal["none", "shared", "exclusive"]
WORK_FOLDER = "/w"
DELEGATE = "@delegate"
_SHELL_KILLED = 128 + signal.SIGKILL


@dataclass(frozen=True, slots=True)
class File:
    """A kept file: sha256 of its bytes, and its size."""

    digest: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Input:
    """A file that a command reads: where its bytes are, and the origin that identifies it in the question."""

    digest: str
    origin: str
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Environment:
    """What the answer of a run depends on beside its question: tool versions, GPU, driver."""

    facts: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The digest of all facts."""
        return _digest(dict(self.facts))

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.facts.items())


@dataclass(frozen=True, slots=True)
class Command:
    """What to run: a program by its name, its arguments, the files it gets, the files it leaves.

    `delegate` names a toolchain program that this one starts: the argument `@delegate` stands for its whole argv.
    `program` is a toolchain name (`nvcc`, `compute-sanitizer`, `ncu`, ...) or a relative path to one of the inputs
    (`./program`). `outputs` are relative names, kept when present afterwards. `timeout_s` is in seconds of wall time.
    """

    program: str
    arguments: tuple[str, ...] = ()
    inputs: Mapping[str, Input] = field(default_factory=dict[str, Input])
    outputs: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    stdin: bytes = b""
    delegate: str | None = None
    kind: Kind = "run"
    gpu: GpuUse = "none"
    timeout_s: float = 60.0
    max_output_bytes: int = 1 << 20

    def __post_init__(self) -> None:
        for name in (*self.inputs, *self.outputs):
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise InvalidRequest(f"a command's file must lie in its work folder: {name!r}")

    @property
    def programs(self) -> tuple[str, ...]:
        """The toolchain programs that it uses: its own and the one it starts."""
        named = () if self.program.startswith("./") else (self.program,)
        return named if self.delegate is None else (*named, self.delegate)

    @property
    def question(self) -> str:
        """The digest of what is asked, the same on every machine (deadline and output bound left out)."""
        return _digest(
            {
                "program": self.program,
                "delegate": self.delegate,
                "arguments": list(self.arguments),
                "inputs": {name: given.origin for name, given in sorted(self.inputs.items())},
                "outputs": sorted(self.outputs),
                "environment": dict(sorted(self.environment.items())),
                "stdin": hashlib.sha256(self.stdin).hexdigest(),
            }
        )


@dataclass(frozen=True, slots=True)
class Finished:
    """How a run ended: `exit_code` is None when a signal or the deadline ended it.

    `inputs` are the digests of the bytes that this very run read: addresses in its output belong to those files.
    Streams hold at most the command's bound, head and tail kept; `*_dropped` counts the bytes left out between.
    """

    exit_code: int | None
    signal: int | None
    timed_out: bool
    stdout: bytes
    stderr: bytes
    stdout_dropped: int
    stderr_dropped: int
    files: Mapping[str, File]
    wall_s: float
    question: str
    environment: Environment
    sandbox: str
    measured_at: float
    inputs: Mapping[str, str] = field(default_factory=dict[str, str])
    recorded: bool = False

    def built(self, name: str, *, executable: bool = False) -> Input:
        """An output of this run as an input of another, identified by the question that built it."""
        return Input(self.files[name].digest, f"built:{self.question}/{name}", executable)

    @property
    def was_killed(self) -> bool:
        """Whether SIGKILL ended it, also where a sandbox or a shell passed that on as exit code 137."""
        return self.signal == signal.SIGKILL or self.exit_code == _SHELL_KILLED

    def require_end(self, program: str) -> "Finished":
        """This run if it ended by itself. Raises ProgramTimedOut or ProgramKilled."""
        if self.timed_out:
            raise ProgramTimedOut(
                f"{program} was still running at its deadline ({self.wall_s:.0f} s) and was killed"
            )
        if self.signal is not None:
            raise ProgramKilled(f"{program} was ended by signal {self.signal}")
        if self.was_killed:
            raise ProgramKilled(f"{program} or a process of it was killed (exit code {_SHELL_KILLED})")
        return self


def source_input(digest: str) -> Input:
    """A source file as an input, identified by its content."""
    return Input(digest, f"sha256:{digest}")


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
