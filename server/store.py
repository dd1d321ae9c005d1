"""The index over the blobs: runs by question and environment, candidates and artifacts by id. SQLite in WAL mode.

What is written outlives a kill of this process at once; runs can be measured again, so a power failure may cost the
last of them. Two daemons may share one folder.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .blobs import Blobs
from .command import Environment, File, Finished
from .errors import NotFound, StorageFailure
from .migrations import migrate
from .reports.answer import Artifact


class Store:
    """One state folder: `blobs/` and `index.sqlite`. Safe from several threads and several processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.blobs = Blobs(folder / "blobs")
            self._connection = sqlite3.connect(
                folder / "index.sqlite", timeout=30, isolation_level=None, check_same_thread=False
            )
            self._lock = threading.RLock()
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            raise StorageFailure(f"cannot open the state folder {folder}: {error}") from error

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        with self.transaction() as database:
            migrate(database, self.folder)

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Generator[sqlite3.Connection, None, None]:
        """One write, all of it or nothing. What is `durable` outlives a power failure, too. Raises StorageFailure."""
        with self._lock:
            try:
                if durable:
                    self._connection.execute("PRAGMA synchronous=FULL")
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                self._rollback()
                raise StorageFailure(f"the index below {self.folder} refused a write: {error}") from error
            except BaseException:
                self._rollback()
                raise
            finally:
                if durable:
                    self._connection.execute("PRAGMA synchronous=NORMAL")

    def _rollback(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What a query finds. Raises StorageFailure where the index cannot be read."""
        with self._lock:
            try:
                return self._connection.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise StorageFailure(f"the index below {self.folder} cannot be read: {error}") from error

    def _one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        found = self.rows(query, *values)
        return found[0] if found else None

    def close(self) -> None:
        """Close the index; the store cannot be used afterwards."""
        with self._lock:
            self._connection.close()

    def keep_run(self, finished: Finished) -> None:
        """Keep how a run finished, in place of an older answer to the same question in the same environment."""
        held = finished_to_json(finished, self.blobs)
        with self.transaction() as database:
            database.execute(
                "INSERT OR REPLACE INTO run VALUES (?, ?, ?, ?)",
                (finished.question, finished.environment.digest, json.dumps(held), finished.measured_at),
            )

    def find_run(self, question: str, environment: Environment | None = None) -> Finished | None:
        """The kept answer to a question: in this environment, or (None) the newest in any."""
        if environment is None:
            row = self._one(
                "SELECT finished FROM run WHERE question=? ORDER BY measured_at DESC LIMIT 1", question
            )
        else:
            row = self._one(
                "SELECT finished FROM run WHERE question=? AND environment=?", question, environment.digest
            )
        return finished_from_json(json.loads(str(row[0])), self.blobs) if row else None

    def runs(self) -> Iterator[dict[str, object]]:
        """Every kept run as JSON data, oldest first."""
        for (held,) in self.rows("SELECT finished FROM run ORDER BY measured_at"):
            yield json.loads(held)

    def keep_candidate(self, id: str, manifest: bytes) -> None:  # noqa: A002
        """Keep a candidate's manifest under its id; a repeated one costs no write."""
        if self._one("SELECT 1 FROM candidate WHERE id=?", id):
            return
        with self.transaction() as database:
            database.execute(
                "INSERT OR IGNORE INTO candidate VALUES (?, ?, ?)", (id, manifest.decode(), time.time())
            )

    def candidate(self, id: str) -> bytes:  # noqa: A002
        """The manifest of a candidate. Raises NotFound for an unknown id."""
        row = self._one("SELECT manifest FROM candidate WHERE id=?", id)
        if row is None:
            raise NotFound(
                f"no candidate {id}", "Candidate ids (c-…) come from earlier answers; pass path or source."
            )
        return str(row[0]).encode()

    def keep_artifact(self, client: str, name: str, content: bytes, component: str) -> Artifact:
        """Keep bytes for a client to page through; the same bytes under the same name get the same id."""
        digest = self.blobs.put(content)
        identity = f"a-{digest[:16]}"
        if not self._one("SELECT 1 FROM artifact WHERE id=? AND client=?", identity, client):
            with self.transaction() as database:
                database.execute(
                    "INSERT OR IGNORE INTO artifact VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (identity, client, name, digest, len(content), component, time.time()),
                )
        return Artifact(uri=artifact_uri(identity), name=name, size_bytes=len(content))

    def artifact(self, client: str, id: str) -> tuple[Artifact, str, str]:  # noqa: A002
        """(artifact, digest, component) of one of a client's artifacts. Raises NotFound, also for another client's."""
        row = self._one(
            "SELECT name, digest, size_bytes, component FROM artifact WHERE id=? AND client=?", id, client
        )
        if row is None:
            raise NotFound(f"no artifact {id}", "Artifact uris come from earlier answers to this client.")
        name, digest, size, component = row
        return (
            Artifact(uri=artifact_uri(id), name=str(name), size_bytes=int(str(size))),
            str(digest),
            str(component),
        )


def artifact_uri(id: str) -> str:  # noqa: A002
    """The uri under which a client reads an artifact."""
    return f"warpwise://artifact/{id}"


def finished_to_json(finished: Finished, blobs: Blobs) -> dict[str, object]:
    """A finished run as JSON data; its streams go to the blobs."""
    return {
        "question": finished.question,
        "environment": dict(finished.environment.facts),
        "exit_code": finished.exit_code,
        "signal": finished.signal,
        "timed_out": finished.timed_out,
        "stdout": blobs.put(finished.stdout),
        "stderr": blobs.put(finished.stderr),
        "stdout_dropped": finished.stdout_dropped,
        "stderr_dropped": finished.stderr_dropped,
        "files": {name: [file.digest, file.size_bytes] for name, file in sorted(finished.files.items())},
        "inputs": dict(sorted(finished.inputs.items())),
        "wall_s": round(finished.wall_s, 4),
        "sandbox": finished.sandbox,
        "measured_at": finished.measured_at,
    }


def finished_from_json(held: dict[str, object], blobs: Blobs) -> Finished:
    """The inverse of `finished_to_json`, marked as recorded. Raises StorageFailure on a damaged entry."""
    try:
        values = dict(held)
        values["environment"] = Environment(dict(values["environment"]))  # type: ignore[call-overload]
        values["stdout"] = blobs.read(str(values["stdout"]))
        values["stderr"] = blobs.read(str(values["stderr"]))
        values["files"] = {name: File(*pair) for name, pair in dict(values["files"]).items()}  # type: ignore[call-overload]
        return Finished(**values, recorded=True)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError) as error:
        raise StorageFailure(f"a kept run is damaged: {error!r}", "Run `warpwise store check`.") from error
