"""Vectors in PostgreSQL; the only place that imports pgvector.

A collection is a table of its own, because a column and its index have one length of vectors. Advisory locks order
what changes tables and what writes rows; readers wait only for `clear`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import sqlalchemy as sa
from pgvector.sqlalchemy import HALFVEC, VECTOR
from sqlalchemy import event, exc
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import URL, Connection, make_url

from turnwise.base.postgres import ENCODING, LIMIT_SILENCE, LIVELY
from turnwise.errors import ConfigurationError, VectorStoreUnavailableError
from turnwise.integrations.retrieval.index import Filter, Hit, Row, Space, check_space

_NEEDED = (0, 8)  # the first with iterative scans, without which a filter may leave too few
# What an HNSW index can hold (pgvector's README, "HNSW"): so many numbers in single and in half precision.
_MAX_SINGLE, _MAX_HALF = 2000, 4000
_EF_SEARCH = (40, 1000)  # pgvector's own default and its upper bound
_LOCK = 0x54775665  # "TwVe": the first key of our advisory locks; the next one is for writers
_PREPARING = 0  # the second key while the extension and the table of collections are made

_collections = sa.Table(
    "turnwise_vector_collections",
    sa.MetaData(),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("embedder", sa.Text, nullable=False),
    sa.Column("dimension", sa.Integer, nullable=False),
)


class PgIndex:
    """A collection in a database. Safe to share between threads, not across a fork."""

    def __init__(self, url: str, collection: str, *, pool_size: int = 5) -> None:
        self._url = _parse(url)
        self._collection = collection
        self._engine = sa.create_engine(
            self._url,
            pool_size=pool_size,
            max_overflow=pool_size,
            pool_pre_ping=True,
            connect_args={name: value for name, value in LIVELY.items() if name not in self._url.query} | ENCODING,
        )
        event.listen(self._engine, "connect", _limit_silence)
        self._lock = threading.Lock()
        self._prepared = False

    def put(self, rows: Sequence[Row], space: Space | None, replacing: Filter | None) -> None:
        if space is not None:
            self._make_table(space)
        with self._begin("write") as connection:
            kept = self._space(connection)
            if kept is None:
                if space is None:  # nothing there to replace
                    return
                raise VectorStoreUnavailableError(
                    f"{self._place} was cleared while documents were added; add them again"
                )
            table = self._table(kept.dimension)
            if replacing:
                connection.execute(table.delete().where(*_conditions(table, None, replacing)))
            if space is None:
                return
            check_space(self._place, kept, space)
            insert = postgresql.insert(table)
            changed = {name: insert.excluded[name] for name in ("text", "metadata", "vector")}
            connection.execute(
                insert.on_conflict_do_update(index_elements=["id"], set_=changed), [_values(row) for row in rows]
            )

    def nearest(self, vector: Sequence[float], space: Space, k: int, where: Filter) -> list[Hit]:
        with self._begin() as connection:
            kept = self._space(connection)
            if kept is None:
                return []
            check_space(self._place, kept, space)
            table = self._table(kept.dimension)
            distance = table.c.vector.cosine_distance(list(vector)).label("distance")
            query = (
                sa.select(table.c.id, table.c.text, table.c.metadata, distance)
                .where(*_conditions(table, None, where))
                .order_by(distance)
                .limit(k)
            )
            least, most = _EF_SEARCH
            _set(connection, "hnsw.iterative_scan", "strict_order")
            _set(connection, "hnsw.ef_search", str(min(max(k, least), most)))
            found = connection.execute(query).all()
            if len(found) < k:
                # Few match, or the index gave up looking (hnsw.max_scan_tuples): now compare with each that matches.
                _set(connection, "enable_indexscan", "off")
                found = connection.execute(query).all()
        return [Hit(id=id, text=text, metadata=metadata, distance=far) for id, text, metadata, far in found]

    def delete(self, ids: Sequence[str] | None, where: Filter) -> int:
        with self._begin("write") as connection:
            kept = self._space(connection)
            if kept is None:
                return 0
            table = self._table(kept.dimension)
            return connection.execute(table.delete().where(*_conditions(table, ids, where))).rowcount

    def count(self, where: Filter) -> int:
        with self._begin() as connection:
            kept = self._space(connection)
            if kept is None:
                return 0
            table = self._table(kept.dimension)
            query = sa.select(sa.func.count()).select_from(table).where(*_conditions(table, None, where))
            return int(connection.execute(query).scalar_one())

    def clear(self) -> None:
        with self._begin("change") as connection:
            kept = self._space(connection)
            if kept is not None:
                self._table(kept.dimension).drop(connection)
                connection.execute(_collections.delete().where(_collections.c.name == self._collection))

    def close(self) -> None:
        self._engine.dispose()

    @property
    def _place(self) -> str:
        return f"collection {self._collection!r} of {_told(self._url)}"

    def _space(self, connection: Connection) -> Space | None:
        query = sa.select(_collections.c.embedder, _collections.c.dimension)
        row = connection.execute(query.where(_collections.c.name == self._collection)).first()
        return Space(embedder=row.embedder, dimension=row.dimension) if row is not None else None

    def _table(self, dimension: int) -> sa.Table:
        return _table_of(f"turnwise_vectors_{self._collection}", dimension)

    def _make_table(self, space: Space) -> None:
        """Make the collection's table if there is none yet."""
        with self._begin() as connection:
            if self._space(connection) is not None:
                return
        with self._begin("change") as connection:
            if self._space(connection) is None:  # another writer may have been faster
                self._table(space.dimension).create(connection)
                values = {"name": self._collection, "embedder": space.embedder, "dimension": space.dimension}
                connection.execute(_collections.insert().values(values))

    @contextmanager
    def _begin(self, purpose: Literal["read", "write", "change"] = "read") -> Iterator[Connection]:
        """A transaction: many may read, one of them may write at a time, and who changes the table is alone."""
        with self._faults():
            self._prepare()
            with self._engine.begin() as connection:
                if purpose == "change":
                    _advisory_lock(connection, _LOCK, self._collection)
                else:
                    _advisory_lock(connection, _LOCK, self._collection, shared=True)
                if purpose == "write":
                    _advisory_lock(connection, _LOCK + 1, self._collection)
                yield connection

    def _prepare(self) -> None:
        """Make the extension and the table of collections, once per process."""
        with self._lock:
            if self._prepared:
                return
            with self._engine.begin() as connection:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK, _PREPARING)))
                connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS vector"))
                version = connection.execute(
                    sa.text("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
                ).scalar_one()
                if tuple(map(int, version.split(".")[:2])) < _NEEDED:
                    raise ConfigurationError(
                        f"{_told(self._url)} has pgvector {version}; expected 0.8 or later: update the extension"
                    )
                _collections.create(connection, checkfirst=True)
            self._prepared = True

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (exc.NotSupportedError, exc.ProgrammingError) as error:
            cause = " ".join(str(error.orig).split())
            raise ConfigurationError(
                f"{_told(self._url)} refuses what a vector store needs ({cause}); install pgvector on the server, let "
                "an administrator run CREATE EXTENSION vector, and let this user create tables"
            ) from error
        except (exc.OperationalError, exc.InterfaceError, exc.InternalError, exc.TimeoutError) as error:
            cause = " ".join(str(getattr(error, "orig", None) or error).split())
            raise VectorStoreUnavailableError(
                f"the vector store at {_told(self._url)} does not answer ({cause}); start PostgreSQL, or correct the "
                "url of PgVectorConfig"
            ) from error


def _limit_silence(connection: Any, _record: Any) -> None:
    connection.execute(LIMIT_SILENCE, prepare=False)
    connection.commit()


def _table_of(name: str, dimension: int) -> sa.Table:
    if dimension <= _MAX_SINGLE or dimension > _MAX_HALF:
        column: Any = VECTOR(dimension)
        operators = "vector_cosine_ops"
    else:
        column, operators = HALFVEC(dimension), "halfvec_cosine_ops"
    table = sa.Table(
        name,
        sa.MetaData(),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("metadata", postgresql.JSONB, nullable=False),
        sa.Column("vector", column, nullable=False),
    )
    sa.Index(
        f"{name}_metadata", table.c.metadata, postgresql_using="gin", postgresql_ops={"metadata": "jsonb_path_ops"}
    )
    if dimension <= _MAX_HALF:
        sa.Index(f"{name}_nearest", table.c.vector, postgresql_using="hnsw", postgresql_ops={"vector": operators})
    return table


def _conditions(table: sa.Table, ids: Sequence[str] | None, where: Filter) -> list[sa.ColumnElement[bool]]:
    # One parameter for each key: a statement takes no more than 65,535.
    found: list[sa.ColumnElement[bool]] = [
        table.c.metadata.contains(
            sa.any_(sa.literal([{key: value} for value in values], postgresql.ARRAY(postgresql.JSONB)))
        )
        for key, values in where.items()
    ]
    if ids is not None:
        found.append(table.c.id == sa.any_(sa.literal(list(ids), postgresql.ARRAY(sa.Text))))
    return found


def _values(row: Row) -> dict[str, Any]:
    document = row.document
    return {"id": document.id, "text": document.text, "metadata": document.metadata, "vector": list(row.vector)}


def _set(connection: Connection, name: str, value: str) -> None:
    """Set a parameter for the rest of the transaction."""
    connection.execute(sa.select(sa.func.set_config(name, value, True)))


def _advisory_lock(connection: Connection, key: int, name: str, *, shared: bool = False) -> None:
    lock = sa.func.pg_advisory_xact_lock_shared if shared else sa.func.pg_advisory_xact_lock
    connection.execute(sa.select(lock(key, sa.func.hashtext(name))))


def _parse(text: str) -> URL:
    try:
        url = make_url(text)
    except exc.ArgumentError as error:
        raise ConfigurationError(
            "PgVectorConfig.url is no URL; expected postgresql://USER:PASSWORD@HOST/NAME"
        ) from error
    if url.drivername.partition("+")[0] not in ("postgresql", "postgres"):
        raise ConfigurationError(f"PgVectorConfig.url is {_told(url)}; expected postgresql://USER:PASSWORD@HOST/NAME")
    return url.set(drivername="postgresql+psycopg")


def _told(url: URL) -> str:
    """The URL as an operator writes it, without its password."""
    return url.set(drivername=url.drivername.partition("+")[0]).render_as_string(hide_password=True)
