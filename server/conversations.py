"""Recordings of what clients were told: every call with its answer, in order, and the JSON-RPC of both directions.

A call is acknowledged after its row is written, so a kill loses nothing that a client was told. Calls are rows of the
index; the JSON-RPC is `recordings/r-…/rpc.jsonl` below the state folder. Both can be read while they grow.
"""

import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .client import Client
from .components import ordered, withheld
from .errors import NotFound, StorageFailure
from .store import Store

FOLDER, RPC_FILE = "recordings", "rpc.jsonl"


@dataclass(frozen=True, slots=True)
class Told:
    """The bytes that a client got, as data, text and error (None: an answer)."""

    structured: dict[str, Any]
    text: str
    error: dict[str, Any] | None = None

    def content(self) -> bytes:
        """The canonical bytes."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Call:
    """One recorded call: `reply` is the digest of the bytes told, `answer` of the whole answer before any mask.

    `candidate` is what the arguments named at that moment; `latency_s` is wall time.
    """

    tool: str
    arguments: Mapping[str, Any]
    question: str
    candidate: str | None
    reply: str
    answer: str | None
    given: tuple[str, ...] | None
    withheld: tuple[str, ...]
    started_at: float
    latency_s: float
    error: str | None


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording's head: `given` is None where its client was told everything."""

    id: str
    name: str
    client: str
    given: frozenset[str] | None
    started_at: float


class Recorder:
    """Writes one client's recording."""

    def __init__(self, store: Store, recording: Recording) -> None:
        self.recording = recording
        self._store = store
        folder = store.folder / FOLDER / recording.id
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._rpc = os.open(
                folder / RPC_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise StorageFailure(f"cannot record below {folder}: {error.strerror}") from error

    def keep(self, call: Call) -> int:
        """Append a call; returns its number, from 1."""
        held = asdict(call)
        with self._store.transaction() as database:
            (number,) = database.execute(
                "SELECT coalesce(max(number), 0) + 1 FROM call WHERE recording=?", (self.recording.id,)
            ).fetchone()
            database.execute(
                "INSERT INTO call VALUES (?, ?, ?, ?, ?)",
                (self.recording.id, number, call.question, call.reply, json.dumps(held)),
            )
        return int(number)

    def rpc(self, sender: str, message: bytes) -> None:
        """Append one JSON-RPC message of `client` or `server`."""
        text = message.decode("utf-8", "replace").strip()
        try:
            line: dict[str, Any] = {"at": round(time.time(), 4), "from": sender, "message": json.loads(text)}
        except ValueError:
            line = {"at": round(time.time(), 4), "from": sender, "unreadable": text[:2_000]}
        try:
            os.write(self._rpc, json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        except OSError as error:
            raise StorageFailure(f"cannot record: {error.strerror}") from error

    def close(self) -> None:
        """Close the log."""
        os.close(self._rpc)


class Conversations:
    """The recordings of a store: those being written by this process, and all of them to read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open: dict[tuple[str, str, frozenset[str] | None], Recorder] = {}

    def recorder(self, client: Client) -> Recorder | None:
        """Where a client's calls are recorded, begun anew when its mask changes; None where they are not."""
        if client.record is None:
            return None
        key = (client.name, client.record, client.given)
        if key not in self._open:
            self._open[key] = Recorder(self._store, self.begin(client.record, client.name, client.given))
        return self._open[key]

    def begin(self, name: str, client: str, given: frozenset[str] | None) -> Recording:
        """A new recording."""
        recording = Recording(f"r-{secrets.token_hex(8)}", name, client, given, time.time())
        self.keep(recording)
        return recording

    def keep(self, recording: Recording) -> None:
        """Keep a recording's head."""
        header = {"given": None if recording.given is None else ordered(recording.given)}
        header["withheld"] = withheld(recording.given)
        row = (recording.id, recording.name, recording.client, json.dumps(header), recording.started_at)
        with self._store.transaction(durable=True) as database:
            database.execute("INSERT OR IGNORE INTO recording VALUES (?, ?, ?, ?, ?)", row)

    def find(self, named: str) -> Recording:
        """A recording by id, or the newest of a name. Raises NotFound."""
        query = "SELECT id, name, client, header, started_at FROM recording WHERE {}=? ORDER BY started_at DESC LIMIT 1"
        for column in ("id", "name"):
            for row in self._store.rows(query.format(column), named):
                return _recording(row)
        raise NotFound(f"no recording {named[:80]}", "`warpwise recordings` lists them.")

    def all(self) -> list[tuple[Recording, int]]:
        """Every recording, newest first, with its number of calls."""
        rows = self._store.rows(
            "SELECT id, name, client, header, started_at, (SELECT count(*) FROM call WHERE recording=id)"
            " FROM recording ORDER BY started_at DESC"
        )
        return [(_recording(row[:5]), int(row[5])) for row in rows]

    def calls(self, recording: str, question: str | None = None) -> Iterator[Call]:
        """A recording's calls in order, of one question or all. Raises StorageFailure for a damaged one."""
        where, values = ("", ()) if question is None else ("AND question=?", (question,))
        rows = self._store.rows(
            f"SELECT number, held FROM call WHERE recording=? {where} ORDER BY number",  # noqa: S608
            recording,
            *values,
        )
        for number, held in rows:
            yield call_from(str(held), f"call {number} of {recording}")

    def told(self, call: Call) -> Told:
        """What a client was told, its digest verified."""
        return Told(**json.loads(self._store.blobs.read(call.reply)))

    def close(self) -> None:
        """Close the logs that this process writes."""
        for recorder in self._open.values():
            recorder.close()
        self._open.clear()


def call_from(text: str, where: str) -> Call:
    """A call of its JSON. Raises StorageFailure, naming where it stands."""
    try:
        held = json.loads(text)
        given = held.pop("given")
        return Call(
            **held | {"withheld": tuple(held["withheld"])}, given=None if given is None else tuple(given)
        )
    except (ValueError, TypeError, KeyError) as error:
        raise StorageFailure(f"{where} is damaged: {error}") from error


def _recording(row: tuple[Any, ...]) -> Recording:
    given = json.loads(row[3])["given"]
    return Recording(row[0], row[1], row[2], None if given is None else frozenset(given), row[4])


def rpc_file(store: Store, recording: str) -> Path:
    """Where a recording's JSON-RPC lies."""
    return store.folder / FOLDER / recording / RPC_FILE
