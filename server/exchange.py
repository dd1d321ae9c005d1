"""Recordings and checkpoints as one file: a zip of `manifest.json`, `calls.jsonl` and blobs named by their digests.

Nothing of a file is believed: names, sizes, links and digests are checked before the first byte is kept.
"""

import hashlib
import json
import re
import stat
import zipfile
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import ValidationError

from .checkpoints import Checkpoint, Checkpoints, Part, answer_from
from .components import ordered
from .conversations import Call, Conversations, Recorder, Recording, call_from
from .errors import InvalidRequest, StorageFailure
from .store import Store

FORMAT = 1
MAX_FILE_BYTES, MAX_MEMBERS = 256 << 20, 100_000
_BLOB = re.compile(r"blobs/([0-9a-f]{64})")
_PLAIN = ("manifest.json", "calls.jsonl")


def export(store: Store, named: str, target: Path) -> int:
    """Write a recording (r-… or name) or checkpoint (k-…) to a new file; returns how many blobs it holds."""
    calls: list[Call] = []
    if named.startswith("k-"):
        checkpoint = Checkpoints(store, None).load(named)
        document = hashlib.sha256(checkpoint.document()).hexdigest()
        manifest: dict[str, Any] = {"kind": "checkpoint", "id": named, "document": document}
        digests = {document, *checkpoint.digests()}
    else:
        recording = Conversations(store).find(named)
        calls = list(Conversations(store).calls(recording.id))
        head = {"given": None if recording.given is None else ordered(recording.given)}
        candidates = {one: store.candidate(one).decode() for call in calls if (one := call.candidate)}
        manifest = {"kind": "recording", **asdict(recording), **head, "candidates": candidates}
        digests = {digest for call in calls for digest in (call.reply, call.answer) if digest}
        digests |= {digest for one in candidates.values() for digest in json.loads(one)["files"].values()}
    manifest |= {"format": FORMAT, "blobs": sorted(digests)}
    lines = "".join(f"{json.dumps(asdict(call))}\n" for call in calls)
    try:
        with target.open("xb") as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("manifest.json", json.dumps(manifest, indent=1))
            packed.writestr("calls.jsonl", lines)
            for digest in sorted(digests):
                packed.writestr(f"blobs/{digest}", store.blobs.read(digest))
    except FileExistsError as error:
        raise InvalidRequest(f"{target} exists already", "Name a new file.") from error
    except OSError as error:
        raise StorageFailure(f"cannot write {target}: {error.strerror}") from error
    return len(digests)


def import_(store: Store, source: Path, client: str = "local") -> str:
    """Keep what a file holds and return its id. Raises InvalidRequest for one that lies; then nothing is kept."""
    try:
        with source.open("rb") as raw:
            return _imported(store, raw, client)
    except (OSError, zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise InvalidRequest(f"{source.name} is not a warpwise export: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, ValidationError) as error:
        raise InvalidRequest(f"{source.name} is damaged: {error!r}"[:400]) from error


def _imported(store: Store, raw: BinaryIO, client: str) -> str:
    with zipfile.ZipFile(raw) as packed:
        members = packed.infolist()
        _require_plain(members)
        manifest = json.loads(packed.read("manifest.json"))
        if manifest["format"] != FORMAT:
            raise InvalidRequest(f"it has format {manifest['format']!r}, this warpwise knows {FORMAT}")
        blobs = {found[1] for one in members if (found := _BLOB.fullmatch(one.filename))}
        if missing := set(manifest["blobs"]) - blobs:
            raise InvalidRequest(f"blob {min(missing)[:12]} is missing")
        for digest in blobs:
            if hashlib.sha256(packed.read(f"blobs/{digest}")).hexdigest() != digest:
                raise InvalidRequest(f"blob {digest[:12]} does not match its digest")
        checkpoint, calls = _contents(packed, manifest, blobs)
        for digest in blobs:
            store.blobs.put(packed.read(f"blobs/{digest}"))
    store.blobs.make_durable(blobs)
    if checkpoint is not None:
        return _keep_checkpoint(store, checkpoint, client)
    return _keep_recording(store, manifest, calls)


def _require_plain(members: Iterable[zipfile.ZipInfo]) -> None:
    """Raises InvalidRequest for a name that is not ours, a link, a double, or too much."""
    seen: set[str] = set()
    for one in members:
        mode = one.external_attr >> 16
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            raise InvalidRequest(f"{one.filename[:80]!r} is a link or special file")
        if one.filename not in _PLAIN and not _BLOB.fullmatch(one.filename):
            raise InvalidRequest(f"{one.filename[:80]!r} does not belong into an export")
        if one.filename in seen:
            raise InvalidRequest(f"{one.filename[:80]!r} is there twice")
        if one.file_size > MAX_FILE_BYTES or len(seen) >= MAX_MEMBERS:
            raise InvalidRequest("it is too large")
        seen.add(one.filename)


def _contents(
    packed: zipfile.ZipFile, manifest: dict[str, Any], blobs: set[str]
) -> tuple[Checkpoint | None, list[Call]]:
    """What the file is of, everything it refers to present. Raises InvalidRequest."""
    if manifest["kind"] == "checkpoint":
        document = packed.read(f"blobs/{manifest['document']}")
        checkpoint = Checkpoint.model_validate_json(document)
        if checkpoint.document() != document or manifest["id"] != f"k-{manifest['document'][:16]}":
            raise InvalidRequest("its id is not of its content")
        needed = set(checkpoint.digests())
        for part in checkpoint.parts:
            if part.answer in blobs:
                answer_from(packed.read(f"blobs/{part.answer}"))
        calls: list[Call] = []
    elif manifest["kind"] == "recording" and re.fullmatch(r"r-[0-9a-f]{16}", manifest["id"]):
        text = packed.read("calls.jsonl").decode()
        if text and not text.endswith("\n"):
            raise InvalidRequest(f"calls.jsonl is cut in the middle of line {len(text.splitlines())}")
        calls = [_call(line, number) for number, line in enumerate(text.splitlines(), 1)]
        needed = {digest for call in calls for digest in (call.reply, call.answer) if digest}
        needed |= {
            one for text in manifest["candidates"].values() for one in json.loads(text)["files"].values()
        }
        checkpoint = None
    else:
        raise InvalidRequest("it is neither a checkpoint nor a recording")
    if lost := needed - blobs:
        raise InvalidRequest(f"blob {min(lost)[:12]} is missing")
    return checkpoint, calls


def _call(line: str, number: int) -> Call:
    try:
        return call_from(line, f"calls.jsonl, line {number}")
    except StorageFailure as error:
        raise InvalidRequest(error.what) from error


def _keep_checkpoint(store: Store, checkpoint: Checkpoint, client: str) -> str:
    if checkpoint.candidate and checkpoint.manifest:
        _keep_candidate(store, checkpoint.candidate, checkpoint.manifest)
    for part in checkpoint.parts:
        _keep_artifacts(store, part, client)
    kept = Checkpoints(store, client)
    verdicts = [
        getattr(one, "verdict", None) for one in kept.answers(checkpoint) if one.component == "evaluation"
    ]
    return kept.keep(checkpoint, "imported", verdicts[0] if verdicts else None)


def _keep_artifacts(store: Store, part: Part, client: str) -> None:
    for name, digest in part.artifacts.values():
        store.keep_artifact(client, name, store.blobs.read(digest), part.component)


def _keep_candidate(store: Store, id: str, manifest: str) -> None:  # noqa: A002
    if f"c-{hashlib.sha256(manifest.encode()).hexdigest()[:16]}" != id:
        raise InvalidRequest(f"candidate {id[:40]} is not what its id says")
    store.keep_candidate(id, manifest.encode())


def _keep_recording(store: Store, manifest: dict[str, Any], calls: list[Call]) -> str:
    given = manifest["given"]
    recording = Recording(
        manifest["id"],
        str(manifest["name"]),
        str(manifest["client"]),
        None if given is None else frozenset(given),
        float(manifest["started_at"]),
    )
    for id, text in manifest["candidates"].items():  # noqa: A001
        _keep_candidate(store, id, text)
    if store.rows("SELECT 1 FROM recording WHERE id=?", recording.id):
        raise InvalidRequest(f"recording {recording.id} is here already")
    conversations = Conversations(store)
    conversations.keep(recording)
    recorder = Recorder(store, recording)
    for call in calls:
        recorder.keep(replace(call))
    recorder.close()
    return recording.id
