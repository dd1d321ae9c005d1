"""Checkpoints: frozen states of a candidate with all that was found out about it. Immutable; verified on every load.

A checkpoint is one canonical JSON document among the blobs; its id is of its digest. The index only finds it. What it
refers to (files, answers, artifacts) lies among the blobs under its own digest, durable before the row is.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from pydantic import ValidationError

from .components import BASE
from .errors import NotFound, StorageFailure
from .reports.answer import Answer
from .reports.number import Frozen
from .store import Store

FORMAT = 1
State = Literal["measured", "not applicable", "not measured"]
_COLUMNS = "id, candidate, workload, generation, parent, verdict, summary, kept_at"


class Part(Frozen):
    """One base component: the digest of its whole answer, or why there is none. `artifacts`: {id: (name, digest)}."""

    component: str
    state: State
    reason: str | None = None
    answer: str | None = None
    artifacts: Mapping[str, tuple[str, str]] = {}


class Checkpoint(Frozen):
    """A frozen state. `files` and `context` map names to digests; `candidate` is None for files kept as they were."""

    format: int = FORMAT
    candidate: str | None
    manifest: str | None = None
    files: Mapping[str, str]
    workload: str | None = None
    preset: str | None = None
    arch: str | None = None
    plan: str | None = None
    notes: str | None = None
    generation: int | None = None
    parent: str | None = None
    context: Mapping[str, str] = {}
    environment: Mapping[str, str] = {}
    parts: tuple[Part, ...] = ()
    made_at: float

    def document(self) -> bytes:
        """The canonical bytes that its id is of."""
        return json.dumps(self.model_dump(), sort_keys=True, separators=(",", ":")).encode()

    def digests(self) -> Iterator[str]:
        """Every blob that it needs."""
        yield from self.files.values()
        yield from self.context.values()
        for part in self.parts:
            yield from (digest for _, digest in part.artifacts.values())
            if part.answer:
                yield part.answer

    def same_but_time(self, other: "Checkpoint") -> bool:
        """Whether both say the same, whenever they were made."""
        return self == other.model_copy(update={"made_at": self.made_at})


@dataclass(frozen=True, slots=True)
class Row:
    """A checkpoint as the index knows it; `verdict` and `summary` are the evaluation's."""

    id: str
    candidate: str | None
    workload: str | None
    generation: int | None
    parent: str | None
    verdict: str | None
    summary: str
    kept_at: float


class Checkpoints:
    """The checkpoints of one client in a store; None stands for the operator, who sees every client's."""

    def __init__(self, store: Store, client: str | None) -> None:
        self._store = store
        self._client = client

    def keep(self, checkpoint: Checkpoint, subject: str, verdict: str | None = None) -> str:
        """Keep it and return its id, once all of it is durable."""
        document = checkpoint.document()
        blobs = self._store.blobs
        digest = blobs.put(document)
        blobs.make_durable({digest, *checkpoint.digests()})
        identity = f"k-{digest[:16]}"
        count = len(checkpoint.files)
        summary = checkpoint.notes or f"{count} file{'s' if count != 1 else ''}"
        row = (identity, self._client or "local", digest, subject, checkpoint.candidate, checkpoint.workload)
        with self._store.transaction(durable=True) as database:
            database.execute(
                "INSERT OR IGNORE INTO checkpoint VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, checkpoint.generation, checkpoint.parent, verdict, summary[:200], time.time()),
            )
        return identity

    def load(self, id: str) -> Checkpoint:  # noqa: A002
        """A checkpoint, its digest verified. Raises NotFound, StorageFailure where it was tampered with."""
        found = self._store.rows(
            f"SELECT digest FROM checkpoint WHERE id=? {self._mine}",  # noqa: S608  # no text of a client
            id,
            *self._who,
        )
        if not found:
            raise NotFound(f"no checkpoint {id[:80]}", "`checkpoints` lists them.")
        return self.read(str(found[0][0]))

    def read(self, digest: str) -> Checkpoint:
        """The checkpoint of a document's digest."""
        try:
            return Checkpoint.model_validate_json(self._store.blobs.read(digest))
        except ValidationError as error:
            raise StorageFailure(f"checkpoint k-{digest[:16]} has another format: {error}") from error
        except NotFound as error:
            raise StorageFailure(f"checkpoint k-{digest[:16]} is lost: {error.what}") from error

    def of_subject(self, subject: str, most: int = 20) -> Iterator[tuple[str, Checkpoint]]:
        """(id, checkpoint) of this client's of a subject, newest first."""
        rows = self._store.rows(
            f"SELECT id, digest FROM checkpoint WHERE subject=? {self._mine} ORDER BY kept_at DESC LIMIT ?",  # noqa: S608
            subject,
            *self._who,
            most,
        )
        for identity, digest in rows:
            yield str(identity), self.read(str(digest))

    def listed(self, limit: int, offset: int = 0, workload: str | None = None) -> tuple[list[Row], int]:
        """(rows newest first, how many there are)."""
        where, values = f"WHERE 1 {self._mine}", [*self._who]
        if workload is not None:
            where, values = f"{where} AND workload=?", [*values, workload]
        total = self._store.rows(f"SELECT count(*) FROM checkpoint {where}", *values)[0][0]  # noqa: S608
        rows = self._store.rows(
            f"SELECT {_COLUMNS} FROM checkpoint {where} ORDER BY kept_at DESC LIMIT ? OFFSET ?",  # noqa: S608
            *values,
            limit,
            offset,
        )
        return [Row(*row) for row in rows], int(total)

    def answers(self, checkpoint: Checkpoint) -> list[Answer]:
        """The measured answers in canonical order."""
        held = [part for part in checkpoint.parts if part.answer]
        held.sort(key=lambda part: BASE.index(part.component) if part.component in BASE else len(BASE))
        return [answer_from(self._store.blobs.read(str(part.answer))) for part in held]

    @property
    def _mine(self) -> str:
        return "" if self._client is None else "AND client=?"

    @property
    def _who(self) -> Iterable[str]:
        return () if self._client is None else (self._client,)


def answer_bytes(answer: Answer) -> bytes:
    """An answer whole, with its kind."""
    held = {"kind": type(answer).__name__, "answer": answer.model_dump(mode="json")}
    return json.dumps(held, sort_keys=True, separators=(",", ":")).encode()


def answer_from(content: bytes) -> Answer:
    """The inverse of `answer_bytes`. Raises StorageFailure for a kind that this warpwise does not know."""
    held = cast("dict[str, Any]", json.loads(content))
    kinds = {kind.__name__: kind for kind in _kinds(Answer)}
    if held.get("kind") not in kinds:
        raise StorageFailure(f"an answer of the unknown kind {held.get('kind')!r}")
    try:
        return kinds[held["kind"]].model_validate_json(json.dumps(held["answer"]))
    except ValidationError as error:
        raise StorageFailure(f"a kept {held['kind']} cannot be read: {error}") from error


def _kinds(kind: type[Answer]) -> Iterator[type[Answer]]:
    yield kind
    for inner in kind.__subclasses__():
        yield from _kinds(inner)


def subject_of(facts: Mapping[str, object]) -> str:
    """What a measurement is of, as a digest: candidate, workload, architecture, environment, components."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
