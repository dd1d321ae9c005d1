"""The index's schema, version by version: each step is applied once, inside one transaction. It holds no queries."""

import sqlite3
from pathlib import Path

from .errors import StorageFailure

_STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE run (
            question TEXT NOT NULL, environment TEXT NOT NULL, finished TEXT NOT NULL, measured_at REAL NOT NULL,
            PRIMARY KEY (question, environment)
        ) WITHOUT ROWID""",
        "CREATE TABLE candidate (id TEXT PRIMARY KEY, manifest TEXT NOT NULL, kept_at REAL NOT NULL) WITHOUT ROWID",
        """CREATE TABLE artifact (
            id TEXT NOT NULL, client TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
            size_bytes INTEGER NOT NULL, component TEXT NOT NULL, kept_at REAL NOT NULL, PRIMARY KEY (id, client)
        ) WITHOUT ROWID""",
    ),
    (
        """CREATE TABLE checkpoint (
            id TEXT NOT NULL, client TEXT NOT NULL, digest TEXT NOT NULL, subject TEXT NOT NULL, candidate TEXT,
            workload TEXT, generation INTEGER, parent TEXT, verdict TEXT, summary TEXT NOT NULL, kept_at REAL NOT NULL,
            PRIMARY KEY (id, client)
        ) WITHOUT ROWID""",
        "CREATE INDEX checkpoint_of_subject ON checkpoint (client, subject, kept_at)",
        "CREATE INDEX checkpoint_by_age ON checkpoint (client, kept_at)",
        """CREATE TABLE recording (
            id TEXT PRIMARY KEY, name TEXT NOT NULL, client TEXT NOT NULL, header TEXT NOT NULL, started_at REAL NOT NULL
        ) WITHOUT ROWID""",
        "CREATE INDEX recording_by_name ON recording (name, started_at)",
        """CREATE TABLE call (
            recording TEXT NOT NULL, number INTEGER NOT NULL, question TEXT NOT NULL, reply TEXT NOT NULL,
            held TEXT NOT NULL, PRIMARY KEY (recording, number)
        ) WITHOUT ROWID""",
        "CREATE INDEX call_by_question ON call (recording, question, number)",
    ),
)
VERSION = len(_STEPS)


def migrate(database: sqlite3.Connection, folder: Path) -> None:
    """Bring an index, inside a transaction, to this version. Raises StorageFailure for one that is newer."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if not 0 <= version <= VERSION:
        raise StorageFailure(
            f"the state folder {folder} has schema {version}, this warpwise knows {VERSION}",
            "Use the warpwise that made it, or point WARPWISE_STATE at another folder.",
        )
    if version == VERSION:
        return
    for step in _STEPS[version:]:
        for statement in step:
            database.execute(statement)
    database.execute(f"PRAGMA user_version={VERSION}")
