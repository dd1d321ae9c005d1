"""One call, from name and arguments to an answer or a refusal: find, validate, run as a job, wait. It knows no MCP.

Everything that is true of all tools happens here, once.
"""

import difflib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup
from pydantic import ValidationError

from .answering import RecordedError, Script, answered, asked
from .call_records import Heard, record
from .catalog import Catalog
from .client import Client
from .components import gives_some
from .conversations import Told
from .errors import InternalError, InvalidArguments, UnknownTool, WarpwiseError, typed_cause
from .jobs import Cancelled, Job, Progress
from .masking import WORKING, masked, masked_error, withheld_answer
from .reports.answer import Answer, Detail, Running
from .sendable import sendable
from .tool import Args, Tool
from .workbench import Services, Workbench

DEFAULT_WAIT_S = 45.0
SOONEST_S, LATEST_S = 0.25, 5.0
_SHOWN_PROBLEMS = 5
Listener = Callable[[Job], Awaitable[None]]
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a client gets: the same facts as data and as text. `error` is set where it is a refusal."""

    structured: dict[str, Any]
    text: str
    error: WarpwiseError | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, and over what: `gone` is set when the connection is lost, `jobs_survive` whether its jobs outlive it."""

    client: Client
    gone: anyio.Event | None = None
    jobs_survive: bool = True


class Calls:
    """The tools of a daemon and the one door to them; `script` answers instead of the tools where it can."""

    def __init__(self, services: Services, catalog: Catalog, script: Script | None = None) -> None:
        self.services = services
        self.catalog = catalog
        self._script = script

    async def call(
        self,
        caller: Caller,
        name: str,
        arguments: Mapping[str, Any],
        listener: Listener | None = None,
        wait_s: float | None = None,
    ) -> Reply:
        """Answer a call, or refuse it with a typed error, and note it where the client is recorded.

        `wait_s` overrides how long before work becomes a job.
        """
        heard = Heard()
        reply = await self._reply(caller, name, arguments, listener, wait_s, heard)
        try:
            error = None if reply.error is None else reply.error.as_json()
            seen = Told(reply.structured, reply.text, error)
            services = self.services
            record(services.store, services.conversations, caller.client, (name, arguments), heard, seen)
        except WarpwiseError as error:
            return refusal(error)
        return reply

    async def _reply(
        self,
        caller: Caller,
        name: str,
        arguments: Mapping[str, Any],
        listener: Listener | None,
        wait_s: float | None,
        heard: Heard,
    ) -> Reply:
        try:
            tool = await self.find(name)
            if not gives_some(caller.client.given, tool.component):
                return told(withheld_answer(), "summary")
            args = validated(tool, arguments)
            if self._script is not None or caller.client.record is not None:
                heard.question = await asked(Workbench(self.services, caller.client), tool, args)
            if self._script is not None and (held := await self._held(tool, args, caller, heard)):
                return held
            wait = wait_s if wait_s is not None else getattr(args, "wait_s", DEFAULT_WAIT_S)
            answer = await self._answer(tool, args, caller, listener, wait)
            heard.answer = answer
            return told(masked(answer, caller.client.given), self._detail(args, caller))
        except Exception as error:  # noqa: BLE001  # the daemon's one outermost door: every failure leaves typed
            return refusal(masked_error(typed_error(error, name), caller.client.given))

    async def _held(self, tool: Tool, args: Args, caller: Caller, heard: Heard) -> Reply | None:
        """The script's reply; None where the tool must run."""
        if self._script is None or heard.question is None:
            return None
        bench = Workbench(self.services, caller.client)
        held = await answered(self._script, bench, tool, args, heard.question)
        if isinstance(held, Told):
            error = None if held.error is None else RecordedError(held.error)
            return Reply(held.structured, held.text, error)
        return None if held is None else told(held, self._detail(args, caller))

    async def find(self, name: str) -> Tool:
        """The tool of that name. Raises UnknownTool, with the nearest name."""
        tools = await self.catalog.tools()
        if name not in tools:
            raise UnknownTool(f"no tool {name[:80]!r}{_meant(name, tools)}", f"Tools: {', '.join(tools)}.")
        return tools[name]

    async def stop(self) -> None:
        """End every job and see it ended, so that whoever waits for one is answered before the daemon goes."""
        running = self.services.jobs.running()
        for job in running:
            job.cancel()
        for job in running:
            await job.done.wait()

    async def _answer(
        self, tool: Tool, args: Args, caller: Caller, listener: Listener | None, wait_s: float
    ) -> Answer:
        bench = Workbench(self.services, caller.client)

        async def ask(name: str, arguments: Mapping[str, Any]) -> Answer:
            other = await self.find(name)
            taken = {key: value for key, value in arguments.items() if key in other.args.model_fields}
            return await other.run(bench, validated(other, taken))

        def work(progress: Progress) -> Awaitable[Answer]:
            shown = progress if caller.client.given is None else _unspecific(progress)
            return tool.run(replace(bench, progress=shown, ask=ask), args)

        if not tool.long:
            return await _attended(tool, caller, listener, work)
        job = self.services.jobs.start(
            caller.client.name, tool.name, getattr(args, "detail", "summary"), work
        )
        await _wait(job, wait_s, listener, caller.gone)
        answer = job.answer()
        if isinstance(answer, Running) and not caller.jobs_survive:
            return answer.model_copy(
                update={"next": (*answer.next, "the job ends when this connection ends")}
            )
        return answer

    def _detail(self, args: Args, caller: Caller) -> Detail:
        """As the call asks; the answer of a job is told as the call that started it asked."""
        if "detail" in type(args).model_fields:
            return cast("Detail", getattr(args, "detail"))  # noqa: B009
        id = getattr(args, "id", None)  # noqa: A001
        if isinstance(id, str) and id.startswith("j-"):
            return cast("Detail", self.services.jobs.find(caller.client.name, id).detail)
        return "summary"


def told(answer: Answer, detail: Detail) -> Reply:
    """An answer as text and data, within the detail asked for."""
    return Reply(sendable(answer.structured(detail)), sendable(answer.text(detail)))


def _unspecific(progress: Progress) -> Progress:
    """How far work is, for a client that is not given everything: that it goes on, and no more."""

    async def tell(message: str, fraction: float | None = None) -> None:
        await progress(WORKING, None)

    return tell


async def _attended(
    tool: Tool, caller: Caller, listener: Listener | None, work: Callable[[Progress], Awaitable[Answer]]
) -> Answer:
    """Do short work inside its request: nobody can come back for it, so it ends with the request."""
    job = Job("", tool.name, caller.client.name, "summary", time.time())
    async with anyio.create_task_group() as group:
        job.scope = group.cancel_scope
        _watch(group, job, listener, caller.gone)
        answer = await work(job.progress)
        group.cancel_scope.cancel()
        return answer
    raise Cancelled(f"{tool.name} was given up: its connection was lost")


async def _wait(job: Job, wait_s: float, listener: Listener | None, gone: anyio.Event | None) -> None:
    """Wait for a job's end or for `wait_s`; whoever stops waiting before that takes the job along."""
    try:
        with anyio.move_on_after(wait_s):
            async with anyio.create_task_group() as group:
                _watch(group, job, listener, gone)
                await job.done.wait()
                group.cancel_scope.cancel()
    except anyio.get_cancelled_exc_class():
        job.cancel()
        raise


def _watch(group: TaskGroup, job: Job, listener: Listener | None, gone: anyio.Event | None) -> None:
    if listener is not None:
        group.start_soon(_report, job, listener)
    if gone is not None:
        group.start_soon(_abandon, job, gone)


async def _report(job: Job, listener: Listener) -> None:
    """Tell how far a job is: when that changes, but at most 4 times a second, and every 5 s in any case."""
    while True:
        changed = job.changed
        await anyio.sleep(SOONEST_S)
        await listener(job)
        with anyio.move_on_after(LATEST_S - SOONEST_S):
            await changed.wait()


async def _abandon(job: Job, gone: anyio.Event) -> None:
    await gone.wait()
    job.cancel()


def validated(tool: Tool, arguments: Mapping[str, Any]) -> Args:
    """The arguments as the tool's model. Raises InvalidArguments naming each wrong one and what was probably meant."""
    try:
        return tool.args.model_validate(dict(arguments))
    except ValidationError as error:
        problems = [
            _problem(tool, cast("Mapping[str, Any]", found)) for found in error.errors(include_url=False)
        ]
        if len(problems) > _SHOWN_PROBLEMS:
            problems = [*problems[:_SHOWN_PROBLEMS], f"{len(problems) - _SHOWN_PROBLEMS} more"]
        hint = f"{tool.name} takes: {', '.join(tool.args.model_fields) or 'no arguments'}."
        raise InvalidArguments(f"{tool.name}: {'; '.join(problems)}", hint) from error


def _problem(tool: Tool, found: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in found["loc"])
    if found["type"] == "extra_forbidden":
        return f"unknown argument {where[:80]!r}{_meant(where, tool.args.model_fields)}"
    if found["type"] == "missing":
        return f"argument {where!r} is missing"
    got = repr(found["input"])
    message = str(found["msg"]).removeprefix("Value error, ")
    return f"{where or 'arguments'}: {message} (got {got if len(got) <= 60 else got[:57] + '...'})"


def _meant(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name[:80], list(known), 1, 0.5)
    return f": did you mean {near[0]!r}?" if near else ""


def refusal(error: WarpwiseError) -> Reply:
    """The reply that refuses, with the same error as data and as text."""
    retry = " (retrying may help)" if error.retryable else ""
    return Reply(
        sendable({"error": error.as_json()}),
        sendable(f"{error.code}: {error.what}{retry}\n{error.hint}"),
        error,
    )


def typed_error(error: Exception, name: str) -> WarpwiseError:
    """The error as a client may see it: an unforeseen one is logged whole and told without its text."""
    if (cause := typed_cause(error)) is not None:
        return cause
    log.error("%s failed", name[:80], exc_info=error)
    return InternalError(f"warpwise failed internally while answering {name[:80]}")
