"""What an H200 said of the fixture kernels, told again here: every planted fault at its line, within its tokens."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

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


PROFILED: dict[str, list[tuple[str, str | None, int | None]]] = {
    "gemm": [
        ("profile/uncoalesced-access", "gemm_naive", 12),
        ("profile/bank-conflict", "transpose_conflict", 24),
    ],
    "spill": [("profile/register-spill", "spill", 9)],
}


@pytest.mark.parametrize("kernel", PROFILED)
async def test_profile_names_what_was_planted_at_its_line(calls: Calls, kernel: str) -> None:
    reply = await ask(calls, RecordedCall("profile", kernel))
    assert reply.error is None, reply.text
    found = {
        (one["rule"], one.get("kernel"), one.get("location", {}).get("line"))
        for one in reply.structured["findings"]
    }
    assert set(PROFILED[kernel]) <= found
    if kernel == "gemm":
        assert "32-way bank conflict" in reply.text


async def test_a_default_profile_of_one_kernel_is_short_as_text_and_as_data(calls: Calls) -> None:
    for kernel in ("oob", "spill"):
        reply = await ask(calls, RecordedCall("profile", kernel))
        assert tokens(reply.text) <= 1200, reply.text
        assert tokens(compact(reply)) <= 1200, compact(reply)


async def test_a_program_whose_launches_fail_is_never_profiled_clean(calls: Calls) -> None:
    reply = await ask(calls, RecordedCall("profile", "badapi"))
    assert [one["rule"] for one in reply.structured["findings"]] == ["profile/nothing-ran"]


async def test_a_hung_kernel_under_the_profiler_is_a_typed_error_that_names_it(calls: Calls) -> None:
    reply = await ask(calls, RecordedCall("profile", "hang", {"timeout_s": 12}))
    assert reply.error is not None
    assert (reply.error.code, "k(volatile int *)" in reply.error.what) == ("timed_out", True)


@pytest.mark.parametrize("tool", ["debug", "profile"])
async def test_evidence_and_raw_are_reached_by_paging(calls: Calls, tool: str) -> None:
    kernel = "race" if tool == "debug" else "gemm"
    reply = await ask(calls, RecordedCall(tool, kernel, {"detail": "raw"}))
    assert reply.error is None, reply.text
    artifact = reply.structured["artifacts"][0]
    page = await ask_artifact(calls, artifact["uri"], 0)
    assert page["content"]
    assert page["size_bytes"] == artifact["size_bytes"]
    if "next_offset" in page:
        following = await ask_artifact(calls, artifact["uri"], page["next_offset"])
        assert following["content"] != page["content"]


async def ask_artifact(calls: Calls, uri: str, offset: int) -> dict[str, Any]:
    caller = Caller(Client("test", (KERNELS,)))
    reply = await calls.call(caller, "artifact", {"uri": uri, "offset": offset})
    assert reply.error is None, reply.text
    return reply.structured
