"""A frozen state is kept whole, found again, shown, compared and written back; what is damaged is never served."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpwise.server.calls import Caller, Calls
from warpwise.server.checkpoints import Checkpoint, Checkpoints, answer_bytes, answer_from
from warpwise.server.client import Client
from warpwise.server.errors import InvalidRequest, NotFound, StorageFailure
from warpwise.server.reports.compilation import CompileAnswer
from warpwise.server.restoring import targets
from warpwise.server.store import Store

KERNEL = """\
__global__ void scale(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2.0f;
}
"""
Call = Callable[..., Any]


async def test_what_is_frozen_is_measured_once_and_the_rest_says_why(call: Call) -> None:
    first = await call("freeze", source=KERNEL, notes="a start")
    assert first["checkpoint"].startswith("k-")
    assert first["parts"]["compiler"] == "measured"
    assert first["parts"]["analyzer"] == "measured"
    assert first["parts"]["debugger"] == "not applicable: it has no main, so nothing launches its kernels"
    assert first["parts"]["evaluation"] == "not applicable: no workload was named"
    again = await call("freeze", source=KERNEL, notes="a start")
    assert again["checkpoint"] == first["checkpoint"]
    assert again["reused"]
    other = await call("freeze", source=KERNEL, notes="a child", parent=first["checkpoint"], generation=1)
    assert other["reused"]
    assert other["checkpoint"] != first["checkpoint"]
    listed = await call("checkpoints")
    assert [line["id"] for line in listed["checkpoints"]] == [other["checkpoint"], first["checkpoint"]]
    assert listed["checkpoints"][0]["parent"] == first["checkpoint"]


async def test_a_frozen_cached_candidate_costs_less_than_50_ms(call: Call) -> None:
    await call("freeze", source=KERNEL)
    best = 1.0
    for number in range(5):
        started = time.monotonic()
        await call("freeze", source=KERNEL, generation=number)
        best = min(best, time.monotonic() - started)
    assert best < 0.05


async def test_a_checkpoint_shows_its_report_and_differs_from_another(call: Call) -> None:
    first = (await call("freeze", source=KERNEL))["checkpoint"]
    broken = KERNEL.replace("x[i] *=", "y[i] *=")
    second = (await call("freeze", source=broken))["checkpoint"]
    shown = await call("checkpoints", action="show", id=first, detail="evidence")
    assert shown["report"]["compiler"]["builds"]
    assert shown["report"]["compiler"]["kernels"][0]["name"].startswith("scale")
    changed = await call("checkpoints", action="diff", id=first, other=second)
    assert changed["numbers"]["compiler.builds"] == "True -> False"
    assert "y" in changed["changes"]["compiler"]["new"][0]
    assert any(line.startswith("-    if (i < n) x[i]") for line in changed["source"])


async def test_a_restore_keeps_what_it_overwrites_and_can_be_undone(call: Call, root: Path) -> None:
    (root / "k.cu").write_text(KERNEL)
    kept = (await call("freeze", path="k.cu"))["checkpoint"]
    (root / "k.cu").write_text("// my better idea\n")
    told = (await call("checkpoints", action="restore", id=kept))["summary"]
    assert (root / "k.cu").read_text() == KERNEL
    saved = told.partition("kept as ")[2].rstrip(".")
    await call("checkpoints", action="restore", id=saved)
    assert (root / "k.cu").read_text() == "// my better idea\n"


@pytest.mark.parametrize("name", ["/etc/x.cu", "../x.cu", "a/../../x.cu", "", "a\0b", "a\\b"])
def test_a_restore_never_leaves_the_root(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidRequest):
        targets(tmp_path, {name: "0" * 64})


def test_a_restore_never_writes_through_a_link(tmp_path: Path) -> None:
    inside, outside = tmp_path / "root", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    (inside / "k.cu").symlink_to(outside / "k.cu")
    for name in ("link/k.cu", "k.cu"):
        with pytest.raises(InvalidRequest, match="through a link"):
            targets(inside, {name: "0" * 64})


async def test_another_clients_checkpoint_does_not_exist(call: Call, calls: Calls, root: Path) -> None:
    kept = (await call("freeze", source=KERNEL))["checkpoint"]
    reply = await calls.call(Caller(Client("other", (root,))), "checkpoints", {"action": "show", "id": kept})
    assert isinstance(reply.error, NotFound)


async def test_a_tampered_or_missing_part_is_a_typed_error(call: Call, calls: Calls, root: Path) -> None:
    kept = (await call("freeze", source=KERNEL))["checkpoint"]
    store = calls.services.store
    held = Checkpoints(store, None).load(kept)
    path = store.blobs.path(str(held.parts[0].answer))
    whole = path.read_bytes()
    other = store.blobs.path(store.blobs.put(b"something else"))
    path.write_bytes(other.read_bytes())
    caller = Caller(Client("local", (root,)))
    reply = await calls.call(caller, "checkpoints", {"action": "show", "id": kept})
    assert isinstance(reply.error, StorageFailure)
    path.unlink()
    reply = await calls.call(caller, "checkpoints", {"action": "show", "id": kept})
    assert reply.error is not None
    assert reply.error.code in ("storage_failure", "not_found")
    path.write_bytes(whole)
    assert (await call("checkpoints", action="show", id=kept))["checkpoint"] == kept


def test_an_answer_comes_back_as_it_was_and_an_unknown_kind_is_refused() -> None:
    answer = CompileAnswer(summary="s", builds=True, arch="sm_90", compiler="nvcc", kind="kernel")
    assert answer_from(answer_bytes(answer)) == answer
    with pytest.raises(StorageFailure, match="unknown kind"):
        answer_from(b'{"kind": "Nonsense", "answer": {}}')


def test_ten_thousand_checkpoints_are_listed_in_100_ms(tmp_path: Path) -> None:
    store = Store(tmp_path)
    rows = [
        (f"k-{n:016x}", "local", "d", "s", None, "gemm", n, None, "PASS", "x", float(n))
        for n in range(10_000)
    ]
    with store.transaction() as database:
        database.executemany("INSERT INTO checkpoint VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    started = time.monotonic()
    listed, total = Checkpoints(store, "local").listed(200)
    assert time.monotonic() - started < 0.1
    assert (total, listed[0].id) == (10_000, "k-000000000000270f")


def test_a_checkpoint_is_durable_before_its_id_is_told(tmp_path: Path) -> None:
    store = Store(tmp_path)
    digest = store.blobs.put(b"text")
    identity = Checkpoints(store, None).keep(
        Checkpoint(candidate=None, files={"a": digest}, made_at=1.0), "subject"
    )
    store.close()
    again = Store(tmp_path)
    assert Checkpoints(again, None).load(identity).files == {"a": digest}
    with pytest.raises(StorageFailure):
        Checkpoints(again, None).keep(Checkpoint(candidate=None, files={"a": "0" * 64}, made_at=1.0), "s")
