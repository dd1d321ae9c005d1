"""Settings of one daemon, read once from flags and WARPWISE_* variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import platformdirs

from .errors import InvalidRequest

SandboxMode = Literal["auto", "off", "require"]


@dataclass(frozen=True, slots=True)
class Config:
    """Where state lies, what clients may read, how programs are contained.

    `replay` is a pack of recorded runs (a folder): what needs a GPU that is not here is answered from it. `given` (None:
    everything) and `record` hold for every client that has none of its own.
    `script` names a recording or checkpoint that answers instead of the tools; with `fill` they answer what it lacks.
    """

    state_dir: Path
    roots: tuple[Path, ...] = ()
    sandbox: SandboxMode = "auto"
    replay: Path | None = None
    given: frozenset[str] | None = None
    record: str | None = None
    script: str | None = None
    fill: bool = False
    toolsets: frozenset[str] = field(default_factory=lambda: frozenset({"core"}))

    @property
    def work_dir(self) -> Path:
        """Where runs get their fresh folders."""
        return self.state_dir / "work"


def from_environment(
    roots: tuple[Path, ...] = (), environ: Mapping[str, str] = os.environ, *, replay: Path | None = None
) -> Config:
    """The settings of this process: WARPWISE_STATE, WARPWISE_SANDBOX (auto, off, require) and WARPWISE_REPLAY."""
    state = environ.get("WARPWISE_STATE") or platformdirs.user_state_dir("warpwise", appauthor=False)
    asked = environ.get("WARPWISE_SANDBOX", "auto")
    modes: dict[str, SandboxMode] = {"auto": "auto", "off": "off", "require": "require"}
    if asked not in modes:
        raise InvalidRequest(f"WARPWISE_SANDBOX is {asked!r}", "Set it to auto, off or require.")
    given = environ.get("WARPWISE_REPLAY")
    return Config(
        state_dir=Path(state).expanduser().absolute(),
        roots=tuple(root.resolve() for root in roots) or (Path.cwd().resolve(),),
        sandbox=modes[asked],
        replay=replay or (Path(given).absolute() if given else None),
    )
