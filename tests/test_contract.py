"""The public contract: each tool's listing as a snapshot that a reviewer sees change, and what is true of all of them.

`WARPWISE_UPDATE_CONTRACT=1 pytest tests/test_contract.py` renews the snapshots.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import bpe_openai
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp import Client, types

from warpwise.server.app import App
from warpwise.server.calls import Caller, Calls
from warpwise.server.catalog import Catalog
from warpwise.server.client import Client as Who
from warpwise.server.schemas import report_schema
from warpwise.server.tool import load_tools
from warpwise.server.workbench import Services

SNAPSHOTS = Path(__file__).parent / "contract"
MAX_LISTING_TOKENS = 5_000
UPDATE = bool(os.environ.get("WARPWISE_UPDATE_CONTRACT"))
TOOLS = load_tools()


@pytest.fixture
async def listed(services: Services) -> list[dict[str, Any]]:
    """The tools as they go over the wire."""
    app = App(Calls(services, Catalog.of(TOOLS)), Caller(Who("local", ())), "0")
    async with Client(app.server) as client:
        answer = await client.list_tools()
    return [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in answer.tools]


async def test_each_tool_is_listed_as_its_snapshot_says(listed: list[dict[str, Any]]) -> None:
    if UPDATE:
        SNAPSHOTS.mkdir(exist_ok=True)
        for old in SNAPSHOTS.glob("*.json"):
            old.unlink()
        for tool in listed:
            (SNAPSHOTS / f"{tool['name']}.json").write_text(json.dumps(tool, indent=2) + "\n")
    kept = {path.stem: json.loads(path.read_text()) for path in SNAPSHOTS.glob("*.json")}
    assert {tool["name"]: tool for tool in listed} == kept


async def test_the_whole_listing_is_short(listed: list[dict[str, Any]]) -> None:
    wire = json.dumps({"tools": listed}, separators=(",", ":"), ensure_ascii=False)
    count = len(bpe_openai.get_encoding("o200k_base").encode(wire))
    assert count < MAX_LISTING_TOKENS * len(listed) / 15


async def test_tools_come_in_the_order_of_a_session(listed: list[dict[str, Any]]) -> None:
    names = [tool["name"] for tool in listed]
    assert names[0] == "capabilities"
    assert names.index("compile") < names.index("debug") < names.index("profile") < names.index("job")


async def test_every_tool_says_what_it_does_and_whether_it_changes_anything(
    listed: list[dict[str, Any]],
) -> None:
    for tool in listed:
        assert tool["description"].endswith("."), tool["name"]
        assert "\n\n" not in tool["description"], tool["name"]
        assert set(tool["annotations"]) >= {"readOnlyHint", "destructiveHint", "openWorldHint"}
        assert not (tool["annotations"]["readOnlyHint"] and tool["annotations"]["destructiveHint"])


async def test_every_argument_is_described_and_no_other_is_taken(listed: list[dict[str, Any]]) -> None:
    for tool in listed:
        schema = tool["inputSchema"]
        Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
        for name, field in schema["properties"].items():
            assert field.get("description"), f"{tool['name']}.{name}"


async def test_schemas_have_nothing_that_a_host_may_reject_or_a_model_must_skip(
    listed: list[dict[str, Any]],
) -> None:
    for tool in listed:
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            assert {"$ref", "$defs", "title", "anyOf", "oneOf", "allOf", "gt", "le"} & set(
                _keywords(schema)
            ) == set(), tool["name"]


async def test_an_answer_must_only_say_whether_it_is_done(listed: list[dict[str, Any]]) -> None:
    for tool in listed:
        assert tool["outputSchema"]["required"] == ["state"]
        validator: Any = Draft202012Validator(tool["outputSchema"])
        assert validator.is_valid({"state": "running", "job": "j-1"})
        assert not validator.is_valid({"state": "nearly"})


@pytest.mark.parametrize("name", TOOLS)
def test_the_full_schema_of_an_answer_is_a_schema(name: str) -> None:
    schema = report_schema(TOOLS[name])
    Draft202012Validator.check_schema(schema)
    assert {"state", "summary", "findings", "provenance", "next"} <= set(schema["properties"])


def test_the_listing_is_what_the_sdk_takes_for_valid() -> None:
    for path in SNAPSHOTS.glob("*.json"):
        types.Tool.model_validate(json.loads(path.read_text()))


def _keywords(schema: dict[str, Any]) -> Iterator[str]:
    """Every schema keyword in use; the names of properties are none."""
    for key, value in schema.items():
        yield key
        if key == "properties":
            for field in value.values():
                yield from _keywords(field)
        elif isinstance(value, dict):
            yield from _keywords(cast("dict[str, Any]", value))
