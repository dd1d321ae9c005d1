"""What a client was told is recorded before it is told, apart from other clients, and told again byte for byte."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpwise.server.answering import script_of
from warpwise.server.calls import Caller, Calls
from warpwise.server.catalog import Catalog
from warpwise.server.client import Client
from warpwise.server.conversations import Conversations, call_from, rpc_file
from warpwise.server.errors import NotFound, NotRecorded, StorageFailure
from warpwise.server.masking import WITHHELD
from warpwise.server.tool import load_tools
from warpwise.server.workbench import Services

KERNEL = "__global__ void scale(float *x) { x[threadIdx.x] *= 2.0f; }\n"
BROKEN = KERNEL.replace("x[", "y[")
Call = Callable[..., Any]


def caller(
    root: Path, name: str = "a", given: frozenset[str] | None = None, record: str | None = "talk"
) -> Caller:
    return Caller(Client(name, (root,), given, record))


async def test_each_call_is_kept_with_its_bytes_and_clients_apart(calls: Calls, root: Path) -> None:
    (root / "k.cu").write_text(KERNEL)
    first = await calls.call(caller(root), "compile", {"path": "k.cu"})
    wrong = await calls.call(caller(root), "compile", {"paht": "k.cu"})
    masked = frozenset({"debugger"})
    hidden = await calls.call(caller(root, "b", masked, "other"), "compile", {"path": "k.cu"})
    assert hidden.structured == {"state": "done", "summary": WITHHELD}
    held = calls.services.conversations
    talk = list(held.calls(held.find("talk").id))
    assert [(one.tool, one.error) for one in talk] == [("compile", None), ("compile", "invalid_arguments")]
    assert held.told(talk[0]).structured == first.structured
    assert held.told(talk[0]).text == first.text
    assert held.told(talk[1]).error == (wrong.error.as_json() if wrong.error else None)
    assert talk[0].candidate == first.structured["candidate"]
    (other,) = held.calls(held.find("other").id)
    assert other.given == ("debugger",)
    assert "compiler" in other.withheld
    assert other.answer is None
    with pytest.raises(NotFound):
        held.find("r-0000")


async def test_an_unrecorded_client_leaves_nothing(calls: Calls, root: Path) -> None:
    await calls.call(caller(root, record=None), "workloads", {})
    assert calls.services.conversations.all() == []


async def test_a_recording_answers_by_content_and_refuses_what_it_lacks(
    calls: Calls, services: Services, root: Path
) -> None:
    (root / "k.cu").write_text(KERNEL)
    first = await calls.call(caller(root), "compile", {"path": "k.cu"})
    (root / "k.cu").write_text(BROKEN)
    second = await calls.call(caller(root), "compile", {"path": "k.cu"})
    again = Calls(services, Catalog.of(load_tools()), script_of(services.store, "talk", fill=False))
    quiet = caller(root, record=None)
    assert await again.call(quiet, "compile", {"path": "k.cu"}) == second
    assert await again.call(quiet, "compile", {"source": KERNEL}) != first  # another file name: another text
    (root / "k.cu").write_text(KERNEL)
    assert await again.call(quiet, "compile", {"path": "k.cu", "wait_s": 3}) == first
    (root / "k.cu").write_text(KERNEL + "// changed\n")
    lacking = await again.call(quiet, "compile", {"path": "k.cu"})
    assert isinstance(lacking.error, NotRecorded)
    filled = Calls(services, Catalog.of(load_tools()), script_of(services.store, "talk", fill=True))
    assert (await filled.call(quiet, "compile", {"path": "k.cu"})).error is None


async def test_a_recording_can_be_told_through_another_mask(
    calls: Calls, services: Services, root: Path
) -> None:
    await calls.call(caller(root), "analyze", {"source": BROKEN})
    again = Calls(services, Catalog.of(load_tools()), script_of(services.store, "talk", fill=False))
    masked = Caller(Client("x", (root,), frozenset({"analyzer"})))
    reply = await again.call(masked, "analyze", {"source": BROKEN})
    assert reply.error is None
    assert "undefined" not in reply.text
    assert "builds" not in reply.structured


async def test_a_checkpoint_answers_for_its_candidate_as_the_mask_says(
    call: Call, services: Services, root: Path
) -> None:
    (root / "k.cu").write_text(KERNEL)
    kept = (await call("freeze", path="k.cu"))["checkpoint"]
    frozen = Calls(services, Catalog.of(load_tools()), script_of(services.store, kept, fill=False))
    told = await frozen.call(Caller(Client("x", (root,))), "compile", {"path": "k.cu"})
    assert told.structured["builds"]
    refused = await frozen.call(Caller(Client("x", (root,))), "debug", {"path": "k.cu"})
    assert isinstance(refused.error, NotRecorded)
    assert "not applicable" in refused.error.what
    other = await frozen.call(Caller(Client("x", (root,))), "compile", {"source": BROKEN})
    assert isinstance(other.error, NotRecorded)
    hidden = await frozen.call(
        Caller(Client("x", (root,), frozenset({"analyzer"}))), "compile", {"path": "k.cu"}
    )
    assert hidden.text == WITHHELD


def test_a_damaged_call_is_named() -> None:
    with pytest.raises(StorageFailure, match="call 3 of r-1 is damaged"):
        call_from('{"tool": "comp', "call 3 of r-1")


async def test_the_json_rpc_of_both_directions_is_readable_while_it_grows(services: Services) -> None:
    recorder = services.conversations.recorder(Client("a", (), None, "talk"))
    assert recorder is not None
    recorder.rpc("client", b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
    recorder.rpc("server", b"\xff not JSON")
    lines = [
        json.loads(line) for line in rpc_file(services.store, recorder.recording.id).read_text().splitlines()
    ]
    assert [line["from"] for line in lines] == ["client", "server"]
    assert lines[0]["message"]["method"] == "ping"
    assert "not JSON" in lines[1]["unreadable"]
    assert Conversations(services.store).find("talk") == recorder.recording
