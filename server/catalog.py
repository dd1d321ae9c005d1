"""The tools of a daemon: their listing at once, the tools themselves when the first one is called.

Importing every tool takes longer than a host's start may. So the listing is kept in the state folder, under a
fingerprint of the code that it was made from, as Python keeps compiled modules; it is checked whenever the tools load.
"""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread

from warpwise import __version__

from .schemas import listing_entry
from .tool import Tool, load_tools

Listing = list[dict[str, Any]]
_FILE = "listing.json"
_ANSWER_FIRST_S = 0.1  # importing in a thread would hold up the very answer that is wanted


class Catalog:
    """`listing()` is what clients see; `tools()` loads them, once, off the event loop."""

    def __init__(self, toolsets: frozenset[str], state_dir: Path | None = None) -> None:
        self._toolsets = toolsets
        self._file = state_dir / _FILE if state_dir else None
        self._listing: Listing | None = None
        self._tools: Mapping[str, Tool] | None = None
        self._loading = anyio.Lock()
        self._wanted = anyio.Event()

    @classmethod
    def of(cls, tools: Mapping[str, Tool]) -> "Catalog":
        """The catalog of tools that are loaded already."""
        catalog = cls(frozenset())
        catalog._tools = tools
        catalog._listing = [listing_entry(tool) for tool in tools.values()]
        return catalog

    async def listing(self) -> Listing:
        """Every tool as `tools/list` shows it, from the kept listing where the code is the same."""
        if self._listing is None:
            self._listing = self._kept()
        self._wanted.set()
        if self._listing is None:
            await self.tools()
        return cast("Listing", self._listing)

    async def tools(self) -> Mapping[str, Tool]:
        """The tools by name."""
        async with self._loading:
            if self._tools is None:
                loaded = await anyio.to_thread.run_sync(load_tools, self._toolsets, abandon_on_cancel=True)
                self._take(loaded)
                self._tools = loaded
            return self._tools

    async def load_when_wanted(self) -> None:
        """Load the tools once somebody has seen the listing, so that the first call need not wait for it."""
        await self._wanted.wait()
        await anyio.sleep(_ANSWER_FIRST_S)
        with suppress(Exception):  # a tool that cannot be imported is told, and logged, when one is called
            await self.tools()

    def _take(self, tools: Mapping[str, Tool]) -> None:
        """Hold the listing of the loaded tools, and keep it unless what is kept says the same."""
        seen, self._listing = self._listing, [listing_entry(tool) for tool in tools.values()]
        if self._file is None or seen == self._listing:
            return
        try:
            handle, name = tempfile.mkstemp(dir=self._file.parent, prefix=".listing-")
            with os.fdopen(handle, "w") as stream:
                json.dump({"made_from": fingerprint(self._toolsets), "tools": self._listing}, stream)
            Path(name).replace(self._file)
        except OSError:
            return  # it only makes the next start slower

    def _kept(self) -> Listing | None:
        if self._file is None:
            return None
        try:
            kept = json.loads(self._file.read_bytes())
            return (
                cast("Listing", kept["tools"]) if kept["made_from"] == fingerprint(self._toolsets) else None
            )
        except (OSError, ValueError, LookupError, TypeError):
            return None


def fingerprint(toolsets: frozenset[str]) -> str:
    """What a listing depends on: our source files, by name, size and time; which packages are installed; Python."""
    facts: list[object] = [__version__, sys.version, sorted(toolsets)]
    facts += [(folder, _changed_ns(folder)) for folder in sys.path]
    facts += sorted(_sources(Path(__file__).resolve().parent))
    facts += sorted(_sources(Path(__file__).resolve().parent.parent / "attribution"))
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _sources(folder: Path) -> Iterator[tuple[str, int, int]]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir():
            yield from _sources(Path(entry.path))
        elif entry.name.endswith(".py"):
            stat = entry.stat()
            yield entry.path, stat.st_size, stat.st_mtime_ns


def _changed_ns(folder: str) -> int:
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0
