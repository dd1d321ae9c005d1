"""`warpwise run`: one tool, once, without MCP: the structured answer on stdout, progress on stderr."""

import json
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ..cli import EXIT_ANSWERED, EXIT_FAILED, EXIT_MISUSED

if TYPE_CHECKING:
    from ..calls import Reply
    from ..config import Config
    from ..jobs import Job
    from ..tool import Tool


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(run)


def run(
    tool: Annotated[str, typer.Argument(help="The tool, such as compile.")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE]...",
            help="Its arguments; lists comma separated, defines as NAME=VAL or JSON.",
        ),
    ] = None,
    as_json: Annotated[
        str | None, typer.Option("--json", metavar="ARGS", help="Its arguments as one JSON object.")
    ] = None,
    text: Annotated[
        bool, typer.Option("--text", help="Print the text instead of the JSON document.")
    ] = False,
    root: Annotated[
        Path | None, typer.Option(help="The folder that paths are relative to. Default: the working folder.")
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(help="Answer what needs a GPU from this folder of recorded runs.")
    ] = None,
) -> None:
    """Call one tool and wait for its answer.

    Exit: 0 answered, 2 unknown tool or argument or wrong type, 3 any other error.
    """
    import anyio

    from .. import stdio
    from ..calls import refusal
    from ..errors import InvalidArguments, UnknownTool, WarpwiseError, typed_cause

    _, writer = stdio.claim()  # the answer is all that stdout gets, whatever a library prints
    try:
        reply = anyio.run(_call, _config(root, replay), tool, arguments or [], as_json)
    except (WarpwiseError, ExceptionGroup) as error:
        if (cause := typed_cause(error)) is None:
            raise
        reply = refusal(cause)
    with os.fdopen(writer, "w", encoding="utf-8", errors="backslashreplace") as out:
        print(reply.text if text else json.dumps(reply.structured, ensure_ascii=False), file=out)
    if reply.error is None:
        raise typer.Exit(EXIT_ANSWERED)
    raise typer.Exit(EXIT_MISUSED if isinstance(reply.error, UnknownTool | InvalidArguments) else EXIT_FAILED)


def _config(root: Path | None, replay: Path | None) -> "Config":
    from ..config import from_environment
    from .serve import roots_of

    roots = roots_of([root] if root else None)
    return replace(from_environment(roots, replay=replay), roots=roots)


async def _call(config: "Config", name: str, pairs: list[str], as_json: str | None) -> "Reply":
    from ..calls import Caller, refusal
    from ..client import Client
    from ..daemon import LOCAL_CLIENT, opened
    from ..errors import InternalError, InvalidArguments
    from ..stopping import until_signal

    caller = Caller(Client(LOCAL_CLIENT, config.roots), jobs_survive=False)
    reply = refusal(InternalError("the call was interrupted", "Call it again."))
    async with until_signal() as scope, opened(config, caller) as app:
        tool = (await app.calls.catalog.tools()).get(name)
        try:
            given = given_arguments(tool, pairs, as_json) if tool else {}
        except InvalidArguments as error:
            reply = refusal(error)
        else:
            reply = await app.calls.call(caller, name, given, _Teller().tell, math.inf)
        scope.cancel()
    return reply


class _Teller:
    """Prints how far a call is, when that changes."""

    def __init__(self) -> None:
        self._last = ""

    async def tell(self, job: "Job") -> None:
        share = "" if job.fraction is None else f" {job.fraction:.0%}"
        line = f"{job.tool}: {job.message}{share}"
        if line != self._last:
            print(line, file=sys.stderr, flush=True)
        self._last = line


def given_arguments(tool: "Tool", pairs: list[str], as_json: str | None) -> dict[str, Any]:
    """The arguments of a command line, read by the tool's schema. Raises InvalidArguments where they cannot be read."""
    from ..errors import InvalidArguments
    from ..schemas import arguments_schema

    given: dict[str, Any] = {}
    if as_json is not None:
        try:
            given = json.loads(as_json)
        except ValueError as error:
            raise InvalidArguments(f"--json is not JSON: {error}") from error
        if not isinstance(given, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidArguments("--json is not a JSON object")
    properties = cast("Mapping[str, Mapping[str, Any]]", arguments_schema(tool)["properties"])
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise InvalidArguments(f"not an argument: {pair!r}", "Write KEY=VALUE.")
        given[name] = _value(properties.get(name, {}), value)
    return given


def _value(schema: Mapping[str, Any], text: str) -> object:
    """A value as its schema's type says; what does not fit stays text, for validation to name."""
    kind = schema.get("type")
    if kind == "array" and not text.startswith("["):
        items = cast("Mapping[str, Any]", schema.get("items", {}))
        return [_value(items, part.strip()) for part in text.split(",") if part.strip()]
    if kind == "object" and not text.startswith("{"):
        pairs = [part.partition("=") for part in text.split(",") if part.strip()]
        return {name.strip(): value.strip() if equals else "1" for name, equals, value in pairs}
    if kind in ("integer", "number", "boolean", "array", "object"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text
