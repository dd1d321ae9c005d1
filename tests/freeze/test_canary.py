"""No byte of a withheld component reaches a client, over any surface, in any coalition; what is given arrives."""

import hashlib
import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from freeze import canaries
from mcp import Client, MCPError

from warpwise.server.app import App
from warpwise.server.calls import Caller, Calls
from warpwise.server.catalog import Catalog
from warpwise.server.client import Client as Who
from warpwise.server.components import BASE
from warpwise.server.masking import masked
from warpwise.server.tool import Tool, load_tools
from warpwise.server.workbench import Services

COALITIONS = [
    frozenset(given) for size in range(len(BASE) + 1) for given in itertools.combinations(BASE, size)
]
PROGRAM = "int main() {{}} // {}\n"


def tools() -> dict[str, Tool]:
    """The real tools, those that measure with canaries in their place."""
    loaded = load_tools()
    return loaded | {name: replace(loaded[name], run=canaries.canary(name)) for name in canaries.ANSWERS}


@pytest.fixture
async def connect(services: Services, root: Path) -> Callable[[frozenset[str] | None], App]:
    """An app whose one client is given these components."""
    catalog = Catalog.of(tools())
    return lambda given: App(Calls(services, catalog), Caller(Who("local", (root,), given)), "0")


class Ear:
    """Asks one client's server over every surface, and keeps whatever it says."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.heard: list[str] = []

    async def _listen(self, progress: float, total: float | None, message: str | None) -> None:
        self.heard.append(f"{progress} {total} {message}")

    async def call(self, name: str, **arguments: object) -> dict[str, Any]:
        result = await self.client.call_tool(name, arguments, progress_callback=self._listen)
        self.heard.append(result.model_dump_json())
        return result.structured_content or {}

    async def everything(self) -> str:
        client = self.client
        lists = (
            client.list_tools,
            client.list_resources,
            client.list_resource_templates,
            client.list_prompts,
        )
        for listed in lists:
            self.heard.append((await listed()).model_dump_json())
        uris = [uri for name in canaries.ANSWERS for uri in await self._tool(name)]
        await self._frozen()
        for uri in [*uris, *(f"warpwise://artifact/{one}" for one in _artifacts())]:
            await self.call("artifact", uri=uri)
            try:
                self.heard.append((await client.read_resource(uri)).model_dump_json())
            except MCPError as error:
                self.heard.append(f"{error} {error.error.data}")
        return "\n".join(self.heard)

    async def _tool(self, name: str) -> list[str]:
        """Ask a measuring tool in every way; returns the uris that it named."""
        named: dict[str, object] = {"source": PROGRAM.format(1)}
        if name == "compare":
            named = {"a": "c-1", "b": "c-2"}
        if name in ("compare", "evaluate"):
            named["workload"] = "gemm"
        uris: list[str] = []
        for detail in ("summary", "evidence", "raw"):
            told = await self.call(name, **named, detail=detail)
            uris += [artifact["uri"] for artifact in told.get("artifacts", [])]
        for word in ("fail", "unbuilt") if name != "compare" else ():
            await self.call(name, **(named | {"source": PROGRAM.format(word)}))
        if name in ("compile", "evaluate"):
            await self.call(name, **(named | {"source": PROGRAM.format("slow 1")}))
            named["source"] = PROGRAM.format("slow 2")
        later = await self.call(name, **named, wait_s=0)
        if "job" in later:
            await self.call("job", id=later["job"], wait_s=5)
        return uris

    async def _frozen(self) -> None:
        sources = (PROGRAM.format(2), PROGRAM.format("unbuilt 3"))
        frozen = [await self.call("freeze", source=source, plan="a plan") for source in sources]
        ids = [one["checkpoint"] for one in frozen if "checkpoint" in one]
        await self.call("checkpoints")
        for detail in ("summary", "evidence", "raw"):
            for one in ids:
                await self.call("checkpoints", action="show", id=one, detail=detail)
            if len(ids) == 2:
                await self.call("checkpoints", action="diff", id=ids[0], other=ids[1], detail=detail)


def _artifacts() -> list[str]:
    """The ids of every component's artifact, which a client may guess or have seen before."""
    return [
        f"a-{hashlib.sha256(f'{word} artifact'.encode()).hexdigest()[:16]}"
        for word in canaries.WORDS.values()
    ]


async def test_a_client_gets_exactly_what_it_is_given(
    connect: Callable[[frozenset[str] | None], App],
) -> None:
    async with Client(connect(None).server) as client:
        whole = await Ear(client).everything()
    assert whole.count("zqcompilerqz progress") >= 2  # while waiting, and of the job
    assert all(word in whole for word in canaries.WORDS.values())
    for given in COALITIONS:
        async with Client(connect(given).server) as client:
            heard = await Ear(client).everything()
        for name in BASE:
            assert (canaries.WORDS[name] in heard) == (name in given), (name, sorted(given))
            number = str(canaries.NUMBERS[name])
            shown = number in heard or f"{canaries.NUMBERS[name]:,}" in heard
            assert shown == (name in given), (number, sorted(given))


@pytest.mark.parametrize("name", list(canaries.ANSWERS))
def test_a_base_part_is_the_same_in_every_coalition_that_gives_it(name: str) -> None:
    component, made = canaries.ANSWERS[name]
    answer = made()
    others = [given for given in COALITIONS if component in given]
    alone = masked(answer, frozenset({component})).structured("raw")
    for given in others:
        told = masked(answer, given).structured("raw")
        for key in alone.keys() - {
            "findings",
            "kernels",
            "findings_left_out",
            "checks_skipped",
            "checks_run",
        }:
            assert told[key] == alone[key]
        own = [one for one in told["findings"] if one["rule"] == canaries.RULES[component]]
        assert own == alone["findings"]


def test_what_is_withheld_of_a_kernel_is_absent_and_the_rest_as_it_was() -> None:
    told = masked(canaries.analyzed(), frozenset({"analyzer"})).structured("evidence")
    assert told["kernels"] == [{"name": "k", "instructions": canaries.NUMBERS["analyzer"]}]
    fine = masked(canaries.debugged(), frozenset({"debugger.racecheck"})).structured("raw")
    assert "findings" not in fine
    assert fine["summary"] == "0 findings told."
