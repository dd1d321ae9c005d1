"""What one machine was told is told again on another, by the question alone, bytes and provenance included."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from warpwise.server.blobs import Blobs
from warpwise.server.command import Command, Environment, Input
from warpwise.server.errors import NotFound, NotRecorded, StorageFailure
from warpwise.server.recording import Pack, ReplayRunner, write_pack
from warpwise.server.workbench import Services


def program(services: Services, text: str) -> Input:
    digest = services.store.blobs.put(f"#!/bin/sh\n{text}\n".encode())
    return Input(digest, f"sha256:{digest}", executable=True)


async def test_a_pack_replays_streams_outputs_and_environment(services: Services, tmp_path: Path) -> None:
    command = Command(
        "./p",
        inputs={"p": program(services, "echo hi; echo no >&2; echo kept > out; exit 4")},
        outputs=("out",),
    )
    live = replace(await services.runner.run(command), environment=Environment({"GPU": "NVIDIA H200"}))
    assert write_pack(tmp_path / "pack", [live], services.store.blobs) == 1
    elsewhere = Blobs(tmp_path / "elsewhere")
    replayed = await ReplayRunner(Pack(tmp_path / "pack", elsewhere)).run(command)
    assert replayed == replace(live, recorded=True, sandbox="replayed", wall_s=round(live.wall_s, 4))
    assert elsewhere.read(replayed.files["out"].digest) == b"kept\n"


async def test_a_built_input_is_found_by_the_question_that_built_it(
    services: Services, tmp_path: Path
) -> None:
    build = await services.runner.run(
        Command("./b", inputs={"b": program(services, "date +%N > out")}, outputs=("out",))
    )
    use = Command("./c", inputs={"c": program(services, "cat in"), "in": build.built("out")})
    write_pack(tmp_path / "pack", [await services.runner.run(use)], services.store.blobs)
    other_bytes = replace(build.built("out"), digest=services.store.blobs.put(b"built by another compiler"))
    asked = replace(use, inputs={**use.inputs, "in": other_bytes})
    replayed = await ReplayRunner(Pack(tmp_path / "pack", services.store.blobs)).run(asked)
    assert replayed.inputs["in"] == build.files["out"].digest


async def test_an_unrecorded_question_is_refused_as_such(services: Services, tmp_path: Path) -> None:
    write_pack(tmp_path / "pack", [], services.store.blobs)
    with pytest.raises(NotRecorded, match="holds no run of ncu"):
        await ReplayRunner(Pack(tmp_path / "pack", services.store.blobs)).run(Command("ncu"))


def test_a_damaged_line_of_a_pack_is_named(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text('{"question": "q"}\n{"quest')
    with pytest.raises(StorageFailure, match="line 2 is damaged"):
        Pack(tmp_path, Blobs(tmp_path / "blobs"))


async def test_a_kept_run_that_lacks_a_field_is_a_typed_error(services: Services, tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text(json.dumps({"question": Command("ncu").question}) + "\n")
    with pytest.raises(StorageFailure, match="damaged"):
        Pack(tmp_path, services.store.blobs).find(Command("ncu"))


def test_a_tampered_blob_is_never_served(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    digest, other = blobs.put(b"true"), blobs.put(b"false")
    blobs.path(digest).write_bytes(blobs.path(other).read_bytes())
    with pytest.raises(StorageFailure, match="does not match its digest"):
        blobs.read(digest)
    blobs.path(digest).write_bytes(b"not zstd")
    with pytest.raises(StorageFailure, match="is damaged"):
        blobs.read(digest)
    blobs.path(digest).unlink()
    with pytest.raises(NotFound, match="no stored bytes"):
        blobs.read(digest)
