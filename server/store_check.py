"""Looks over a whole store: what is damaged, what nothing refers to, how much there is. It mends nothing."""

import json
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass

from .checkpoints import Checkpoints
from .command import Finished
from .conversations import call_from
from .errors import WarpwiseError
from .store import Store, finished_from_json

YOUNG_S = 3600.0
_TABLES = ("run", "candidate", "artifact", "checkpoint", "recording", "call")


@dataclass(frozen=True, slots=True)
class Collected:
    """What a collection removed."""

    blobs: int
    unfinished: int
    bytes: int


def problems(store: Store, *, read_all: bool = True) -> Iterator[str]:
    """Every damage, one line each: the index, every reference, and (`read_all`) the digest of every blob."""
    try:
        for (told,) in store.rows("PRAGMA integrity_check"):
            if told != "ok":
                yield f"index: {told}"
        yield from _references(store)
    except (WarpwiseError, sqlite3.Error) as error:
        yield f"index: {error}"
    for digest in store.blobs.digests() if read_all else ():
        try:
            store.blobs.read(digest)
        except WarpwiseError as error:
            yield error.what


def _references(store: Store) -> Iterator[str]:
    for (held,) in store.rows("SELECT finished FROM run"):
        try:
            yield from _missing(store, f"run {json.loads(held)['question'][:12]}", set(_of_run(held)))
            _ = _whole(store, held)
        except (WarpwiseError, ValueError, KeyError, TypeError) as error:
            yield f"a run: {error}"
    yield from _kept_by_people(store)
    for identity, digest in store.rows("SELECT id, digest FROM artifact"):
        yield from _missing(store, f"artifact {identity}", {digest})
    for identity, manifest in store.rows("SELECT id, manifest FROM candidate"):
        yield from _missing(store, f"candidate {identity}", set(json.loads(manifest)["files"].values()))


def _kept_by_people(store: Store) -> Iterator[str]:
    for (digest,) in store.rows("SELECT digest FROM checkpoint"):
        try:
            checkpoint = Checkpoints(store, None).read(digest)
        except WarpwiseError as error:
            yield error.what
        else:
            yield from _missing(store, f"checkpoint k-{digest[:16]}", set(checkpoint.digests()))
    for recording, number, held in store.rows("SELECT recording, number, held FROM call"):
        try:
            call = call_from(held, f"call {number} of {recording}")
        except WarpwiseError as error:
            yield error.what
        else:
            yield from _missing(
                store, f"call {number} of {recording}", {call.reply, *filter(None, [call.answer])}
            )


def _whole(store: Store, held: str) -> Finished:
    return finished_from_json(json.loads(held), store.blobs)


def _missing(store: Store, what: str, digests: set[str]) -> Iterator[str]:
    yield from (f"{what} lacks blob {one[:12]}" for one in sorted(digests) if not store.blobs.holds(one))


def _of_run(held: str) -> Iterator[str]:
    run = json.loads(held)
    yield from (run["stdout"], run["stderr"])
    yield from (digest for digest, _ in run["files"].values())


def referred(store: Store) -> set[str]:
    """Every digest that something of the index refers to."""
    found: set[str] = set()
    for (held,) in store.rows("SELECT finished FROM run"):
        found |= {*_of_run(held), *json.loads(held)["inputs"].values()}
    for (digest,) in store.rows("SELECT digest FROM checkpoint"):
        found |= {digest, *Checkpoints(store, None).read(digest).digests()}
    for (held,) in store.rows("SELECT held FROM call"):
        call = call_from(held, "a call")
        found |= {call.reply, *filter(None, [call.answer])}
    for (manifest,) in store.rows("SELECT manifest FROM candidate"):
        found |= set(json.loads(manifest)["files"].values())
    return found | {digest for (digest,) in store.rows("SELECT digest FROM artifact")}


def collect(store: Store, young_s: float = YOUNG_S) -> Collected:
    """Remove blobs that nothing refers to, but for those touched lately, which a running daemon may be about to use."""
    before = time.time() - young_s
    needed = referred(store)
    blobs = [
        store.blobs.discard(store.blobs.path(digest), before)
        for digest in list(store.blobs.digests())
        if digest not in needed
    ]
    unfinished = [store.blobs.discard(path, before) for path in list(store.blobs.unfinished())]
    return Collected(
        sum(size > 0 for size in blobs), sum(size > 0 for size in unfinished), sum(blobs) + sum(unfinished)
    )


def stats(store: Store) -> dict[str, int]:
    """How many rows of each kind, how many blobs and their bytes on disk."""
    found = {f"{table}s": int(store.rows(f"SELECT count(*) FROM {table}")[0][0]) for table in _TABLES}  # noqa: S608
    sizes = [store.blobs.path(digest).stat().st_size for digest in store.blobs.digests()]
    return found | {"blobs": len(sizes), "blob_bytes": sum(sizes)}
