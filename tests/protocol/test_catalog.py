"""The kept listing: it is what the tools say, it is renewed when the code changes, and losing it changes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from programs import Start

from warpwise.server import catalog
from warpwise.server.catalog import Catalog
from warpwise.server.schemas import listing_entry
from warpwise.server.tool import load_tools

CORE = frozenset({"core"})


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[str]]:
    """One entry for each time that the tools are loaded."""
    seen: list[frozenset[str]] = []

    def counted(toolsets: frozenset[str]) -> Any:  # noqa: ANN401
        seen.append(toolsets)
        return load_tools(toolsets)

    monkeypatch.setattr(catalog, "load_tools", counted)
    return seen


async def test_a_second_start_lists_without_loading(tmp_path: Path, loads: list[frozenset[str]]) -> None:
    first = await Catalog(CORE, tmp_path).listing()
    assert first == [listing_entry(tool) for tool in load_tools(CORE).values()]
    again = Catalog(CORE, tmp_path)
    assert await again.listing() == first
    assert len(loads) == 1
    assert list(await again.tools()) == [entry["name"] for entry in first]
    assert len(loads) == 2


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"made_from": "x"}', b"\xff"])
async def test_a_damaged_listing_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    expected = await Catalog(CORE, tmp_path).listing()
    (tmp_path / "listing.json").write_bytes(damage)
    assert await Catalog(CORE, tmp_path).listing() == expected


async def test_other_code_or_other_toolsets_make_another_listing(
    tmp_path: Path, loads: list[frozenset[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    await Catalog(CORE, tmp_path).listing()
    assert await Catalog(frozenset({"none"}), tmp_path).listing() == []
    await Catalog(CORE, tmp_path).listing()
    monkeypatch.setattr(catalog, "__version__", "another")
    await Catalog(CORE, tmp_path).listing()
    assert len(loads) == 4


async def test_a_listing_that_lies_is_put_right_when_the_tools_load(tmp_path: Path) -> None:
    expected = await Catalog(CORE, tmp_path).listing()
    kept = json.loads((tmp_path / "listing.json").read_text())
    kept["tools"].pop()
    (tmp_path / "listing.json").write_text(json.dumps(kept))
    found = Catalog(CORE, tmp_path)
    assert await found.listing() == expected[:-1]
    await found.tools()
    assert await found.listing() == expected
    assert await Catalog(CORE, tmp_path).listing() == expected


async def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert await Catalog(CORE, tmp_path / "file").listing()


async def test_a_restarted_daemon_lists_the_same_and_calls_work(start: Start) -> None:
    seen: list[Any] = []
    for _ in range(2):
        async with start("serve") as program:
            seen.append(await program.request("tools/list"))
            assert (await program.call("probe_echo", text="hi"))["summary"] == "hi"
    assert seen[0] == seen[1]
