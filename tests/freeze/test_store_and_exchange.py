"""The store says what is damaged and frees only what nothing needs; one file moves a recording or checkpoint, unlied."""

import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpwise.server.calls import Caller, Calls
from warpwise.server.checkpoints import Checkpoints
from warpwise.server.client import Client
from warpwise.server.conversations import Conversations
from warpwise.server.errors import InvalidRequest, StorageFailure
from warpwise.server.exchange import export, import_
from warpwise.server.migrations import VERSION
from warpwise.server.store import Store
from warpwise.server.store_check import collect, problems, stats

KERNEL = "__global__ void scale(float *x) { x[threadIdx.x] *= 2.0f; }\n"
Call = Callable[..., Any]


@pytest.fixture
async def kept(call: Call, calls: Calls, root: Path) -> tuple[Store, str, str]:
    """(store, checkpoint, recording)."""
    identity = (await call("freeze", source=KERNEL))["checkpoint"]
    await calls.call(Caller(Client("a", (root,), None, "talk")), "compile", {"source": KERNEL})
    return calls.services.store, identity, calls.services.conversations.find("talk").id


async def test_a_whole_store_is_clean_and_each_damage_is_named(kept: tuple[Store, str, str]) -> None:
    store, identity, _ = kept
    assert list(problems(store)) == []
    lost = str(Checkpoints(store, None).load(identity).parts[0].answer)
    store.blobs.path(lost).unlink()
    assert any(f"lacks blob {lost[:12]}" in told for told in problems(store))
    other = store.blobs.put(b"other")
    store.blobs.path(other).write_bytes(b"not zstd")
    assert any(other[:12] in told for told in problems(store))


async def test_a_collection_leaves_what_is_needed_and_what_is_young(kept: tuple[Store, str, str]) -> None:
    store, identity, recording = kept
    waste = store.blobs.put(b"nobody refers to this")
    assert collect(store).blobs == 0
    assert store.blobs.holds(waste)
    assert collect(store, young_s=-1).blobs >= 1
    assert not store.blobs.holds(waste)
    assert list(problems(store)) == []
    assert Checkpoints(store, None).load(identity).candidate
    assert len(list(Conversations(store).calls(recording))) == 1
    assert stats(store)["checkpoints"] == 1


def test_a_store_of_version_1_is_migrated_and_a_newer_one_refused(tmp_path: Path) -> None:
    Store(tmp_path).close()
    database = sqlite3.connect(tmp_path / "index.sqlite")
    for table in ("checkpoint", "recording", "call"):
        database.execute(f"DROP TABLE {table}")
    database.execute("PRAGMA user_version=1")
    database.execute("INSERT INTO candidate VALUES ('c-1', '{}', 0)")
    database.commit()
    store = Store(tmp_path)
    assert store.candidate("c-1") == b"{}"
    assert Checkpoints(store, None).listed(10) == ([], 0)
    database.execute(f"PRAGMA user_version={VERSION + 1}")
    database.commit()
    with pytest.raises(StorageFailure, match=f"has schema {VERSION + 1}"):
        Store(tmp_path)


def test_two_daemons_write_one_store(tmp_path: Path) -> None:
    one, other = Store(tmp_path), Store(tmp_path)
    digest = one.blobs.put(b"a")
    assert other.blobs.read(digest) == b"a"
    one.keep_candidate("c-1", b"{}")
    assert other.candidate("c-1") == b"{}"


async def test_one_file_carries_a_checkpoint_and_a_recording(
    kept: tuple[Store, str, str], tmp_path: Path
) -> None:
    store, identity, recording = kept
    elsewhere = Store(tmp_path / "elsewhere")
    for named in (identity, recording):
        export(store, named, tmp_path / f"{named}.zip")
        assert import_(elsewhere, tmp_path / f"{named}.zip") == named
        with pytest.raises(InvalidRequest, match="exists already"):
            export(store, named, tmp_path / f"{named}.zip")
    moved, here = (Checkpoints(one, None).load(identity) for one in (elsewhere, store))
    assert moved == here
    calls = [list(Conversations(one).calls(recording)) for one in (elsewhere, store)]
    assert calls[0] == calls[1]
    assert Conversations(elsewhere).told(calls[0][0]) == Conversations(store).told(calls[1][0])
    assert list(problems(elsewhere)) == []


def rewritten(
    source: Path, target: Path, change: Callable[[dict[str, bytes]], None], link: bool = False
) -> Path:
    with zipfile.ZipFile(source) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    change(members)
    with zipfile.ZipFile(target, "w") as packed:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o120777 if link and name == "calls.jsonl" else 0o100600) << 16
            packed.writestr(entry, content)
    return target


def _lie(members: dict[str, bytes]) -> None:
    members[next(name for name in members if name.startswith("blobs/"))] = b"a lie"


def _lose(members: dict[str, bytes]) -> None:
    del members[next(name for name in members if name.startswith("blobs/"))]


def _cut(members: dict[str, bytes]) -> None:
    members["calls.jsonl"] = members["calls.jsonl"][:-9]


def _rename(members: dict[str, bytes]) -> None:
    manifest = json.loads(members["manifest.json"])
    members["manifest.json"] = json.dumps(manifest | {"id": "r-../../../../etc"}).encode()


def _put(name: str, content: bytes) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        members[name] = content

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_lie, "does not match its digest"),
        (_lose, "is missing"),
        (_cut, "cut in the middle of line 1"),
        (_rename, "neither a checkpoint nor a recording"),
        (_put("/etc/passwd", b""), "does not belong"),
        (_put("blobs/../../x", b""), "does not belong"),
        (_put("manifest.json", b"{"), "is damaged"),
        (_put("manifest.json", b'{"format": 9}'), "format 9"),
        (_put("manifest.json", b"[]"), "is damaged"),
    ],
)
async def test_a_file_that_lies_is_refused_and_nothing_kept(
    kept: tuple[Store, str, str], tmp_path: Path, change: Callable[[dict[str, bytes]], None], told: str
) -> None:
    store, _, recording = kept
    export(store, recording, tmp_path / "good.zip")
    elsewhere = Store(tmp_path / "elsewhere")
    with pytest.raises(InvalidRequest, match=told):
        import_(elsewhere, rewritten(tmp_path / "good.zip", tmp_path / "bad.zip", change))
    assert stats(elsewhere) == dict.fromkeys(stats(elsewhere), 0)


async def test_a_link_and_what_is_no_zip_are_refused(kept: tuple[Store, str, str], tmp_path: Path) -> None:
    store, _, recording = kept
    export(store, recording, tmp_path / "good.zip")
    bad = rewritten(tmp_path / "good.zip", tmp_path / "bad.zip", lambda members: None, link=True)
    with pytest.raises(InvalidRequest, match="is a link"):
        import_(store, bad)
    (tmp_path / "x").write_bytes((tmp_path / "good.zip").read_bytes()[:-40])
    for name in ("x", "missing"):
        with pytest.raises(InvalidRequest, match="not a warpwise export"):
            import_(store, tmp_path / name)
