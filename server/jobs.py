"""Work that outlives the request that started it: it lives in the daemon's task group and belongs to a client."""

import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

import anyio
import anyio.abc

from .errors import NotFound, WarpwiseError
from .reports.answer import Answer, Running

JobState = Literal["running", "done", "failed", "cancelled"]
Progress = Callable[[str, float | None], Awaitable[None]]
_KEPT = 256


@dataclass(eq=False, slots=True)
class Job:
    """One piece of work: `done` is set when it ended, by whatever way; then `outcome` holds its answer or error."""

    id: str
    tool: str
    client: str
    detail: str
    started_at: float
    state: JobState = "running"
    message: str = "started"
    fraction: float | None = None
    outcome: Answer | BaseException | None = None
    done: anyio.Event = field(default_factory=anyio.Event)
    changed: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    async def progress(self, message: str, fraction: float | None = None) -> None:
        """Note how far the work is (fraction 0 to 1 where known) and wake whoever watches."""
        self.message, self.fraction = message, fraction
        self._wake()

    def answer(self) -> Answer:
        """The work's answer, or while it runs how far it is. Raises what the work raised."""
        if self.outcome is None:
            return Running(
                job=self.id,
                summary=f"{self.tool}: {self.message}",
                fraction=self.fraction,
                next=(f'job(id="{self.id}") waits for the answer; action="cancel" ends it',),
            )
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome

    def cancel(self) -> None:
        """Ask the work to stop; its programs are ended with all their descendants."""
        self.scope.cancel()

    def finish(self, state: JobState, outcome: Answer | BaseException) -> None:
        """Set the end of the work."""
        self.state, self.outcome = state, outcome
        self.done.set()
        self._wake()

    def _wake(self) -> None:
        changed, self.changed = self.changed, anyio.Event()
        changed.set()


class Cancelled(WarpwiseError):
    """The job was cancelled before it had an answer."""

    code = "cancelled"
    default_hint = "Call the tool again to start anew."


class Jobs:
    """The jobs of a daemon; the last 256 ended ones are kept for whoever asks."""

    def __init__(self, group: anyio.abc.TaskGroup) -> None:
        self._group = group
        self._jobs: dict[str, Job] = {}

    def start(
        self, client: str, tool: str, detail: str, work: Callable[[Progress], Awaitable[Answer]]
    ) -> Job:
        """Start work for a client; it goes on until it ends, is cancelled, or the daemon stops."""
        job = Job(f"j-{secrets.token_hex(8)}", tool, client, detail, time.time())
        self._jobs[job.id] = job
        self._forget()
        self._group.start_soon(self._run, job, work)
        return job

    async def _run(self, job: Job, work: Callable[[Progress], Awaitable[Answer]]) -> None:
        try:
            with job.scope:
                job.finish("done", await work(job.progress))
        except Exception as error:  # noqa: BLE001  # one job's bug must not end the daemon; the waiter re-raises it
            job.finish("failed", error)
        finally:
            if not job.done.is_set():
                job.finish("cancelled", Cancelled(f"job {job.id} ({job.tool}) was cancelled"))

    def find(self, client: str, id: str) -> Job:  # noqa: A002
        """A client's job. Raises NotFound, also for another client's."""
        job = self._jobs.get(id)
        if job is None or job.client != client:
            raise NotFound(f"no job {id}", "Jobs (j-…) live as long as the daemon; call the tool again.")
        return job

    def running(self) -> list[Job]:
        """The jobs that have not ended."""
        return [job for job in self._jobs.values() if job.state == "running"]

    def _forget(self) -> None:
        ended = [job.id for job in self._jobs.values() if job.state != "running"]
        for id in ended[:-_KEPT]:  # noqa: A001
            del self._jobs[id]
