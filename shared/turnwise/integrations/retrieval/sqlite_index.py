"""Vectors in a SQLite file; the only place that imports APSW and sqlite-vec.

APSW, because the `sqlite3` of many Pythons is built without the loading of extensions. It brings a SQLite of its own,
and two of them must never have the same file open in one process (see "How To Corrupt An SQLite Database File",
section 2.2.1): so the vectors have a file of their own, never that of the runs.
"""

from __future__ import annotations

import json
import threading
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw
import sqlite_vec

from turnwise.errors import ConfigurationError, VectorStoreUnavailableError
from turnwise.integrations.retrieval.document import Scalar
from turnwise.integrations.retrieval.index import Filter, Hit, Row, Space, check_space

_APPLICATION_ID = 0x54775665  # "TwVe": a file of ours, whatever its name
_VERSION = 1
_BUSY_MILLISECONDS = 30_000
_AGAIN_SECONDS = 0.01
_MMAP_BYTES = 2**30  # a search reads the whole collection, which is cheaper without copying pages

# The vector stands before the text: a search reads every vector, and the texts only of what it found.
_SCHEMA = f"""
CREATE TABLE collections (
    name TEXT PRIMARY KEY,
    embedder TEXT NOT NULL,
    dimension INTEGER NOT NULL
) STRICT;
CREATE TABLE documents (
    collection TEXT NOT NULL REFERENCES collections (name),
    id TEXT NOT NULL,
    vector BLOB NOT NULL,
    metadata TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (collection, id)
) STRICT;
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {_VERSION};
"""
_SPACE = "SELECT embedder, dimension FROM collections WHERE name = ?"
_PUT = """
INSERT INTO documents (collection, id, vector, metadata, text) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (collection, id) DO UPDATE SET vector = excluded.vector, metadata = excluded.metadata, text = excluded.text
"""
_NEAREST = """
SELECT id, text, metadata, distance
FROM (
    SELECT rowid AS place, vec_distance_cosine(vector, ?) AS distance
    FROM documents WHERE {condition} ORDER BY distance, id LIMIT ?
) JOIN documents ON rowid = place
ORDER BY distance, id
"""
_KEPT_IDLE = 8


class SqliteIndex:
    """A collection in a file. Connections are opened as needed and kept for the next call."""

    def __init__(self, path: Path, collection: str) -> None:
        self._path = path
        self._collection = collection
        self._lock = threading.Lock()
        self._idle: list[apsw.Connection] = []

    def put(self, rows: Sequence[Row], space: Space | None, replacing: Filter | None) -> None:
        name = self._collection
        with self._transaction(write=True) as connection:
            if replacing:
                self._delete(connection, None, replacing)
            if space is None:
                return
            kept = self._space(connection)
            if kept is None:
                connection.execute("INSERT INTO collections VALUES (?, ?, ?)", (name, space.embedder, space.dimension))
            else:
                check_space(self._place, kept, space)
            connection.executemany(
                _PUT,
                (
                    (name, row.document.id, _blob(row.vector), _json(row.document.metadata), row.document.text)
                    for row in rows
                ),
            )

    def nearest(self, vector: Sequence[float], space: Space, k: int, where: Filter) -> list[Hit]:
        condition, values = _condition(self._collection, None, where)
        with self._transaction() as connection:
            kept = self._space(connection)
            if kept is None:
                return []
            check_space(self._place, kept, space)
            found = connection.execute(_NEAREST.format(condition=condition), (_blob(vector), *values, k))
            return [
                Hit(id=str(id), text=str(text), metadata=json.loads(str(metadata)), distance=float(str(distance)))
                for id, text, metadata, distance in found
            ]

    def delete(self, ids: Sequence[str] | None, where: Filter) -> int:
        with self._transaction(write=True) as connection:
            return self._delete(connection, ids, where)

    def count(self, where: Filter) -> int:
        condition, values = _condition(self._collection, None, where)
        with self._transaction() as connection:
            found = connection.execute(f"SELECT count(*) FROM documents WHERE {condition}", values).get
            return int(str(found))

    def clear(self) -> None:
        with self._transaction(write=True) as connection:
            self._delete(connection, None, {})
            connection.execute("DELETE FROM collections WHERE name = ?", (self._collection,))

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @property
    def _place(self) -> str:
        return f"collection {self._collection!r} of {self._path}"

    def _space(self, connection: apsw.Connection) -> Space | None:
        for embedder, dimension in connection.execute(_SPACE, (self._collection,)):
            return Space(embedder=str(embedder), dimension=int(str(dimension)))
        return None

    def _delete(self, connection: apsw.Connection, ids: Sequence[str] | None, where: Filter) -> int:
        condition, values = _condition(self._collection, ids, where)
        connection.execute(f"DELETE FROM documents WHERE {condition}", values)
        return connection.changes()

    @contextmanager
    def _transaction(self, *, write: bool = False) -> Iterator[apsw.Connection]:
        """A transaction on a connection of this call's own, committed at the end, rolled back by an exception."""
        try:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            connection = connection or _connect(self._path)
            try:
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                yield connection
                connection.execute("COMMIT")
            finally:
                self._release(connection)
        except apsw.Error as error:
            raise VectorStoreUnavailableError(
                f"the vectors in {self._path} cannot be used ({type(error).__name__}: {error}); see that the "
                "directory exists and is writable, and that the file is on a local disk"
            ) from error

    def _release(self, connection: apsw.Connection) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        with self._lock:
            if len(self._idle) < _KEPT_IDLE:
                self._idle.append(connection)
                return
        connection.close()


def _connect(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        connection.pragma("mmap_size", _MMAP_BYTES)
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        connection.enable_load_extension(False)
        _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: apsw.Connection, path: Path) -> None:
    """Make the tables of an empty file; refuse a file that is not ours."""
    connection.execute("BEGIN")  # one look: what another process makes meanwhile is seen whole or not at all
    try:
        ours = _ours(connection, path)
    finally:
        connection.execute("ROLLBACK")
    if ours:
        return
    _write_ahead(connection)
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _ours(connection, path):  # another process may have been faster
            connection.execute(_SCHEMA)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _write_ahead(connection: apsw.Connection) -> None:
    """Keep a write-ahead log; waits for others who begin it too, for whom SQLite calls no busy handler."""
    deadline = time.monotonic() + _BUSY_MILLISECONDS / 1000
    while True:
        try:
            connection.pragma("journal_mode", "wal")
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_AGAIN_SECONDS)


def _ours(connection: apsw.Connection, path: Path) -> bool:
    """Return whether the file has our tables; False if it is empty. Raises `ConfigurationError` for anything else."""
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    if (application, version) == (_APPLICATION_ID, _VERSION):
        return True
    if application == _APPLICATION_ID:
        raise ConfigurationError(
            f"{path} has version {version} of the tables for vectors; this program needs version {_VERSION}: use the "
            "program that wrote it, or take another file and add the documents again"
        )
    if connection.execute("SELECT count(*) FROM sqlite_schema").get:
        raise ConfigurationError(f"{path} is a database for something else; give the vectors a file of their own")
    return False


def _condition(collection: str, ids: Sequence[str] | None, where: Filter) -> tuple[str, list[str]]:
    """A condition on `documents` in SQL, and the values for its question marks."""
    parts, found = ["collection = ?"], [collection]
    if ids is not None:
        parts.append("id IN (SELECT value FROM json_each(?))")
        found.append(json.dumps(list(ids)))
    for key, wanted in where.items():
        # JSON's true and 1 are both 1 to SQL, so it matters as well whether a value is a boolean.
        parts.append(
            "EXISTS (SELECT 1 FROM json_each(metadata) WHERE key = ? AND (type IN ('true', 'false'), atom) IN "
            "(SELECT type IN ('true', 'false'), atom FROM json_each(?)))"
        )
        found += [key, json.dumps(list(wanted))]
    return " AND ".join(parts), found


def _blob(vector: Sequence[float]) -> bytes:
    return array("f", vector).tobytes()


def _json(metadata: dict[str, Scalar]) -> str:
    return json.dumps(metadata, ensure_ascii=False)
