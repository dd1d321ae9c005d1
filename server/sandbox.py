"""How a program is contained: bubblewrap where it works, else nothing but process limits, and which of the two it is."""

import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import anyio

from .command import WORK_FOLDER, Kind
from .config import SandboxMode
from .errors import Unavailable
from .process import spawn

Level = Literal["bubblewrap", "none"]
_SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt", "sys")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The level of containment found on this machine; `reason` says why it is none."""

    level: Level
    program: str = ""
    reason: str | None = None

    def __str__(self) -> str:
        return self.level if self.reason is None else f"{self.level} ({self.reason})"

    def folder(self, real: Path) -> str:
        """The path of the work folder as the program sees it."""
        return WORK_FOLDER if self.level == "bubblewrap" else str(real)

    def wrap(
        self, argv: Iterable[str], folder: Path, kind: Kind, *, gpu: bool, readable: Iterable[Path]
    ) -> list[str]:
        """The argv that runs `argv` contained: read-only system, one writable work folder, no network, own pids.

        Profiling keeps its capabilities inside the namespace: hardware counters may ask for them.
        """
        if self.level == "none":
            return list(argv)
        wrapped = [
            self.program,
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--hostname",
            "warpwise",
        ]
        if kind != "profile":
            wrapped += ["--cap-drop", "ALL"]
        for name in _SYSTEM:
            wrapped += _mount(Path("/") / name)
        wrapped += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # noqa: S108  # inside the sandbox
        wrapped += [part for secret in _secrets() for part in ("--ro-bind", "/dev/null", secret)]
        for path in sorted({*readable, Path(sys.prefix), Path(sys.base_prefix)}):
            if path.exists() and not path.is_relative_to("/usr"):
                wrapped += ["--ro-bind", str(path), str(path)]
        if gpu:
            for device in sorted(Path("/dev").glob("nvidia*")):
                wrapped += ["--dev-bind", str(device), str(device)]
        return [*wrapped, "--bind", str(folder), WORK_FOLDER, "--chdir", WORK_FOLDER, "--", *argv]


@cache
def _secrets() -> tuple[str, ...]:
    """Files of /etc that not everybody may read: a daemon of root's must not let a candidate read them either."""
    found = (Path(folder, name) for folder, _, names in os.walk("/etc") for name in names)
    return tuple(
        str(path) for path in found if path.is_file() and not path.is_symlink() and not _is_public(path)
    )


def _is_public(path: Path) -> bool:
    """Whether others may read a file, and enter the folders that lead to it."""
    return bool(path.stat().st_mode & 0o004) and all(parent.stat().st_mode & 0o001 for parent in path.parents)


def _mount(path: Path) -> list[str]:
    if path.is_symlink():
        return ["--symlink", str(path.readlink()), str(path)]
    return ["--ro-bind", str(path), str(path)] if path.is_dir() else []


async def find_sandbox(mode: SandboxMode, scratch: Path) -> Sandbox:
    """Probe bubblewrap once by running a program in it. Raises Unavailable where it is required and does not work."""
    if mode == "off":
        return Sandbox("none", reason="switched off by WARPWISE_SANDBOX=off")
    found = shutil.which("bwrap")
    reason = "bubblewrap is not installed (Debian: apt install bubblewrap)"
    if found:
        scratch.mkdir(parents=True, exist_ok=True)
        candidate = Sandbox("bubblewrap", found)
        argv = candidate.wrap(["/usr/bin/env", "true"], scratch, "run", gpu=False, readable=())
        ended = await spawn(argv, cwd=scratch, environment={"PATH": "/usr/bin:/bin"}, timeout_s=10)
        if ended.exit_code == 0:
            return candidate
        reason = "bubblewrap does not work here: " + ended.stderr.decode("utf-8", "replace").strip()[:120]
    if mode == "require":
        raise Unavailable(
            reason, "Install bubblewrap and allow user namespaces, or set WARPWISE_SANDBOX=auto."
        )
    return Sandbox("none", reason=reason)


class LazySandbox:
    """The sandbox of this machine, probed once, when a program is first run."""

    def __init__(self, mode: SandboxMode, scratch: Path) -> None:
        self._mode: SandboxMode = mode
        self._scratch = scratch
        self._found: Sandbox | None = None
        self._lock = anyio.Lock()

    async def find(self) -> Sandbox:
        """The sandbox. Raises Unavailable where one is required and none works."""
        async with self._lock:
            if self._found is None:
                self._found = await find_sandbox(self._mode, self._scratch)
            return self._found
