"""What a tool is: a function over the workbench, closed arguments, the hints a host needs. Not how it is served."""

import importlib
import logging
import pkgutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict

from .reports.answer import Answer
from .workbench import Workbench

log = logging.getLogger(__name__)


class Args(BaseModel):
    """A tool's arguments: closed, so that a misspelt one is an error; every field carries a description."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Tool:
    """One MCP tool. `component` names what of the report it gives; `long` says that it may need a job."""

    name: str
    title: str
    description: str
    args: type[Args]
    run: Callable[[Workbench, Any], Awaitable[Answer]]
    read_only: bool
    destructive: bool
    idempotent: bool
    component: str | None
    toolset: str
    long: bool


def tool(
    *,
    title: str,
    read_only: bool,
    name: str | None = None,
    component: str | None = None,
    destructive: bool = False,
    idempotent: bool = True,
    toolset: str = "core",
    long: bool = True,
) -> Callable[[Callable[[Workbench, Any], Awaitable[Answer]]], Tool]:
    """Declare a tool: its name is the function's unless given, its description the docstring of its argument class."""

    def declare(function: Callable[[Workbench, Any], Awaitable[Answer]]) -> Tool:
        args = get_type_hints(function)["args"]
        return Tool(
            name=name or function.__name__,
            title=title,
            description=" ".join((args.__doc__ or "").split()),
            args=args,
            run=function,
            read_only=read_only,
            destructive=destructive,
            idempotent=idempotent,
            component=component,
            toolset=toolset,
            long=long,
        )

    return declare


def load_tools(toolsets: frozenset[str] = frozenset({"core"})) -> dict[str, Tool]:
    """Every tool found in `server/tools/` and behind the entry points `warpwise.tools`, in a fixed order."""
    package = importlib.import_module(f"{__package__}.tools")
    modules = [
        importlib.import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
    ]
    modules += [
        module for entry in sorted(entry_points(group="warpwise.tools")) if (module := _plugged_in(entry))
    ]
    found = {
        value.name: value for module in modules for value in vars(module).values() if isinstance(value, Tool)
    }
    return {tool.name: tool for tool in sorted(found.values(), key=_rank) if tool.toolset in toolsets}


def _plugged_in(entry: EntryPoint) -> ModuleType | None:
    """The module behind an entry point, or None, and said so, where it cannot be imported."""
    try:
        module: ModuleType = entry.load()
    except (ImportError, AttributeError, SyntaxError) as error:
        log.warning("the tools of %s are left out: %s", entry.value, error)
        return None
    return module


_ORDER = (
    *("capabilities", "workloads", "compile", "debug", "analyze", "profile", "evaluate", "compare"),
    *("summarize", "advise", "freeze", "checkpoints", "job", "artifact", "attribute"),
)


def _rank(tool: Tool) -> tuple[int, str]:
    return (_ORDER.index(tool.name) if tool.name in _ORDER else len(_ORDER), tool.name)
