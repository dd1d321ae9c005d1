"""What an H200 said of the fixture kernels, told again here: every planted fault at its line, within its tokens."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import bpe_openai
import pytest
from recorded_calls import CALLS, KERNELS, PACK, RecordedCall

from warpwise.server.calls import Caller, Calls, Reply
from warpwise.server.catalog import Catalog
from warpwise.server.client import Client
from warpwise.server.config import Config
from warpwise.server.services import open_services

FAULTS: dict[str, list[tuple[str, int]]] = {
    "badapi": [("launch.failed", 4), ("launch.failed", 4), ("memcheck.api-error", 4), ("leakcheck.leak", 4)],
    "gemm": [("leakcheck.leak", 28)] * 3,
    "hang": [("run.hang", 3)],
    "misaligned": [
        *[("memcheck.misaligned", 3), ("initcheck.uninitialized", 3)],
        *[("leakcheck.leak", 4), ("leakcheck.leak", 4)],
    ],
    "oob": [("memcheck.out-of-bounds", 7)],
    "race": [("racecheck.race", 7)],
    "spill": [("leakcheck.leak", 13)],
    "sync": [("synccheck.divergent-barrier", 5)],
    "uninit": [("initcheck.uninitialized", 3), *[("leakcheck.leak", 5)] * 3],
}
MOST_TOKENS = {"oob": 400, "race": 400}
MANY_FINDINGS = 700


@pytest.fixture
async def calls(tmp_path: Path) -> AsyncIterator[Calls]:
    async with open_services(Config(tmp_path / "state", (KERNELS,), replay=PACK)) as services:
        yield Calls(services, Catalog(frozenset({"core"})))


async def ask(calls: Calls, call: RecordedCall) -> Reply:
    return await calls.call(Caller(Client("test", (KERNELS,))), call.tool, call.all_arguments(), wait_s=600)


def tokens(text: str) -> int:
    return len(bpe_openai.get_encoding("o200k_base").encode(text))


def compact(reply: Reply) -> str:
    return json.dumps(reply.structured, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("call", [call for call in CALLS if call.tool == "debug"], ids=lambda call: call.name)
async def test_debug_finds_each_planted_fault_at_its_line_and_nothing_else(
    calls: Calls, call: RecordedCall
) -> None:
    reply = await ask(calls, call)
    assert reply.error is None, reply.text
    found = [(one["rule"], one["location"]["line"]) for one in reply.structured["findings"]]
    assert found == FAULTS[call.kernel]
    assert reply.structured["provenance"]["how"] == "recorded"
    assert "GPU NVIDIA H200" in reply.structured["provenance"]["environment"]


@pytest.mark.parametrize(
    "call",
    [call for call in CALLS if call.tool == "debug" and "detail" not in call.arguments],
    ids=lambda call: call.name,
)
async def test_a_default_debug_answer_is_short_as_text_and_as_data(calls: Calls, call: RecordedCall) -> None:
    reply = await ask(calls, call)
    most = MOST_TOKENS.get(call.kernel, MANY_FINDINGS)
    assert tokens(reply.text) <= most, reply.text
    assert tokens(compact(reply)) <= most, compact(reply)
