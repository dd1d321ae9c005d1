"""What every tool may use during one call: the candidate, runs, stored bytes, progress. It knows nothing of MCP."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import candidate as candidates
from .blobs import Blobs
from .candidate import Candidate
from .client import Client
from .command import Command, Finished
from .config import Config
from .conversations import Conversations
from .errors import InternalError, InvalidRequest, NotFound
from .gpu import Gpus
from .jobs import Jobs
from .reports.answer import Answer, Artifact, Origin
from .runner import Runner
from .sandbox import LazySandbox
from .store import Store
from .toolchain.discovery import Toolchain

Progress = Callable[[str, float | None], Awaitable[None]]
Ask = Callable[[str, Mapping[str, Any]], Awaitable[Answer]]


async def silent(message: str, fraction: float | None = None) -> None:
    """A progress listener that tells nobody."""


async def nobody(tool: str, arguments: Mapping[str, Any]) -> Answer:
    """Where no tools are served, none can be asked."""
    raise InternalError(f"{tool} was asked where no tools are served")


@dataclass(frozen=True, slots=True)
class Services:
    """What lives as long as the daemon, shared by all calls."""

    config: Config
    store: Store
    runner: Runner
    gpus: Gpus
    toolchain: Toolchain
    sandbox: LazySandbox
    jobs: Jobs
    conversations: Conversations


@dataclass(frozen=True, slots=True)
class Workbench:
    """One call's view of the daemon: whose call it is, where its progress goes, and how it asks another tool."""

    services: Services
    client: Client
    progress: Progress = silent
    ask: Ask = nobody

    @property
    def blobs(self) -> Blobs:
        """The stored bytes."""
        return self.services.store.blobs

    @property
    def toolchain(self) -> Toolchain:
        """The programs of this machine."""
        return self.services.toolchain

    async def candidate(
        self,
        *,
        path: str | None,
        source: str | None,
        id: str | None,  # noqa: A002  # the argument's name in every tool
        defines: Mapping[str, str] | None = None,
        flags: tuple[str, ...] = (),
    ) -> Candidate:
        """The candidate that a call names, kept so that its id can be named later."""
        given = [
            name for name, value in (("path", path), ("source", source), ("id", id)) if value is not None
        ]
        if len(given) != 1:
            raise InvalidRequest(f"give one of path, source, id; got {', '.join(given) or 'none'}")
        if id is not None:
            found = candidates.from_manifest(self.services.store.candidate(id), self.blobs)
            if defines or flags:
                found = candidates.build(
                    found.main,
                    {name: self.blobs.read(digest) for name, digest in found.files.items()},
                    {**found.defines, **(defines or {})},
                    (*found.flags, *flags),
                    self.blobs,
                )
        elif path is not None:
            found = candidates.from_path(self.client, path, defines or {}, flags, self.blobs)
        else:
            found = candidates.from_source(source or "", defines or {}, flags, self.blobs)
        self.services.store.keep_candidate(found.id, found.manifest())
        return found

    async def arch(self, asked: str | None, found: Candidate) -> str:
        """The architecture to build for: the one asked, else the GPU's own, else sm_90; `a` where the source needs it."""
        base = asked or self.services.gpus.arch() or "sm_90"
        needs_a = any(word in found.source for word in ("wgmma.", "tcgen05.", "setmaxnreg"))
        return f"{base}a" if asked is None and needs_a and base in ("sm_90", "sm_100") else base

    async def run(self, command: Command) -> Finished:
        """Run a command, or answer it from the store where the same question was answered in this environment."""
        return await self.services.runner.run(command)

    def keep_artifact(self, name: str, content: bytes, component: str) -> Artifact:
        """Keep bytes that are too long for an answer; `artifact` pages through them by the returned uri."""
        return self.services.store.keep_artifact(self.client.name, name, content, component)

    def origin(self, runs: list[Finished]) -> Origin:
        """Where an answer made of these runs comes from: recorded if all were, with the age of the oldest."""
        if not runs:
            raise NotFound("an answer without a run has no origin")
        facts = {name: value for run in runs for name, value in run.environment.facts.items()}
        recorded = all(run.recorded for run in runs)
        return Origin(
            how="recorded" if recorded else "measured",
            environment=", ".join(f"{name} {value}" for name, value in facts.items()),
            age_s=round(time.time() - min(run.measured_at for run in runs), 1) if recorded else None,
            sandbox=None if recorded else runs[-1].sandbox,
        )
