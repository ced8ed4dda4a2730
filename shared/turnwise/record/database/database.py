"""The edge to the database: connections, transactions, and what a failure of it means."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from decimal import Decimal
from typing import Any, Literal

import psycopg
import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, Connection, make_url

from turnwise.errors import ConfigurationError, SchemaVersionError
from turnwise.observability.redaction import redact
from turnwise.record.database.columns import dump_json, now
from turnwise.record.database.connection_pool import ConnectionPool
from turnwise.record.database.faults import DATABASE_ERRORS, lacks_table, translated
from turnwise.record.database.schema import SCHEMA_VERSION, schema_support

_NOW = sa.select(now())
_VERSION = sa.text("SELECT version_num FROM alembic_version")
_OLDEST_PROGRAM = sa.select(schema_support.c.oldest_program)
# A connection that rested longer is tried before use, so that a restarted database costs no one an error.
_TRUSTED_SECONDS = 5.0
# What libpq is told, unless the URL says otherwise. A server that is gone without a word (a network that is cut, a
# machine that is off) is noticed within 25 s; TCP alone takes a quarter of an hour, or hours where nothing is sent.
_LIVELY = {
    "connect_timeout": 5,  # seconds, as the keepalives
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,  # milliseconds
}


class Database:
    """A SQLite file or a PostgreSQL database; safe to share between threads, not across a fork.

    `clock` replaces the clock of SQLite only; PostgreSQL tells its own time. `pool_size` is the most connections to
    PostgreSQL at a time; whoever needs one more waits, up to half a minute. Raises `ConfigurationError` for a URL
    that names neither.
    """

    def __init__(
        self,
        url: str,
        *,
        synchronous: Literal["NORMAL", "FULL"] = "NORMAL",
        clock: Callable[[], float] | None = None,
        pool_size: int = 20,
    ) -> None:
        self.url = _parse(url)
        self.is_postgres = self.url.drivername.startswith("postgresql")
        # An INSERT of this dialect, with `on_conflict_...`; SQLite's has the same methods. Statements that are kept by
        # it are then those of all databases of a dialect, and keep none of them alive.
        self.insert: Callable[[sa.Table], postgresql.Insert] = (
            postgresql.insert if self.is_postgres else sqlite.insert  # type: ignore[assignment]
        )
        self._clock = clock or time.time
        self._synchronous = synchronous
        # SQLite lets one writer in at a time and makes the others poll; queueing here is fair and much faster.
        self._writer = nullcontext() if self.is_postgres else threading.Lock()
        options: dict[str, Any] = {"timeout": 30}
        if self.is_postgres:
            options = {name: value for name, value in _LIVELY.items() if name not in self.url.query}
        self.engine = sa.create_engine(
            self.url,
            json_serializer=dump_json,
            connect_args=options,
            pool_size=pool_size,
            # PostgreSQL counts connections of all processes together, so a process keeps to what it was given.
            max_overflow=0 if self.is_postgres else pool_size,
            pool_timeout=30,
            # The connection that was used last knows the plans of its statements, and its server process is warm.
            pool_use_lifo=True,
        )
        self.pool = ConnectionPool(self.engine, pool_size if self.is_postgres else 2 * pool_size)
        # A reading transaction would end with a rollback, and that makes psycopg forget all that it has prepared.
        self._readers = self.engine.execution_options(isolation_level="AUTOCOMMIT") if self.is_postgres else self.engine
        if self.is_postgres:
            event.listen(self.engine, "checkin", _note_use)
            event.listen(self.engine, "checkout", _try_if_rested)
        else:
            event.listen(self.engine, "connect", self._prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)

    @property
    def name(self) -> str:
        """The URL as an operator writes it, without its password, for messages."""
        plain = self.url.set(drivername=self.url.drivername.partition("+")[0])
        return plain.render_as_string(hide_password=True)

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A writing transaction, committed at the end and rolled back by an exception."""
        with self._faults(), self._writer, self.pool.connect(self.engine) as connection:
            if not self.is_postgres:
                connection = connection.execution_options(turnwise_write=True)
            with connection.begin():
                yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """For statements that only read; on PostgreSQL each is a transaction of its own, and sees the newest state."""
        with self._faults(), self.pool.connect(self._readers) as connection:
            try:
                yield connection
            except DATABASE_ERRORS:
                if self.is_postgres:  # what failed may be what the connection has prepared, which it would keep
                    connection.invalidate()
                raise

    def now(self, connection: Connection) -> float:
        """Seconds since the epoch by the database's clock."""
        return float(connection.execute(_NOW).scalar_one())

    @contextmanager
    def pipeline(self, connection: Connection) -> Iterator[None]:
        """Send the statements inside without waiting for each answer; none of them may give rows."""
        driver = connection.connection.driver_connection
        if not isinstance(driver, psycopg.Connection):
            yield
            return
        try:
            with driver.pipeline():
                yield
        except psycopg.OperationalError as error:
            raise exc.OperationalError(None, None, error) from error

    def migrate(self) -> None:
        """Bring the schema to this program's version; safe to run twice and from several processes at once.

        A newer schema that this program can work on is left as it is.
        """
        from turnwise.record.database.migration import upgrade, validate  # Alembic takes long to import

        with self.read() as connection:
            if self._is_newer_and_supported(connection, self._schema_version(connection)):
                return
        with self.begin() as connection:
            upgrade(connection, self.name)
        # By itself, because the locks of the upgrade last until its commit, and this reads whole tables.
        with self.begin() as connection:
            validate(connection)

    def create(self) -> bool:
        """Create the PostgreSQL database that the URL names; return False if it exists.

        A SQLite file needs no creation: its first connection makes it.
        """
        if not self.is_postgres:
            return False
        from turnwise.record.database.creation import create_database  # only one command needs it

        with self._faults():
            return create_database(self.url, _LIVELY)

    def check_schema(self) -> None:
        """Raise `SchemaVersionError` unless the schema is this program's, or a newer one that allows this program."""
        with self.read() as connection:
            found = self._schema_version(connection)
            if found == SCHEMA_VERSION or self._is_newer_and_supported(connection, found):
                return
        if found is not None and found > SCHEMA_VERSION:
            raise SchemaVersionError(
                f"{self.name} has schema version {found}, on which this program, of version {SCHEMA_VERSION}, cannot "
                "work: update it"
            )
        told = f"has schema version {found}" if found else "has no Turnwise tables yet"
        raise SchemaVersionError(
            f"{self.name} {told}; this program needs version {SCHEMA_VERSION}: run `turnwise migrate`"
        )

    def schema_version(self) -> str | None:
        """The schema's version, whoever made it; None if there are no tables of Turnwise."""
        with self.read() as connection:
            return self._schema_version(connection)

    def close(self) -> None:
        """Close all pooled connections."""
        self.engine.dispose()

    def _schema_version(self, connection: Connection) -> str | None:
        return self._only_value(connection, _VERSION)

    def _is_newer_and_supported(self, connection: Connection, found: str | None) -> bool:
        """Return whether a newer program has made the schema and says that programs such as this one may continue."""
        if found is None or found <= SCHEMA_VERSION:
            return False
        oldest = self._only_value(connection, _OLDEST_PROGRAM)
        return oldest is not None and oldest <= SCHEMA_VERSION

    def _only_value(self, connection: Connection, statement: sa.Executable) -> str | None:
        """The one text of a table, None if there is no such table."""
        try:
            found = connection.execute(statement).scalar_one_or_none()
        except (exc.ProgrammingError, exc.OperationalError) as error:
            if not lacks_table(error):
                raise
            connection.rollback()
            return None
        return None if found is None else str(found)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            meant = translated(error, self.name, is_postgres=self.is_postgres)
            if meant is None:
                raise
            raise meant from error

    def _prepare_sqlite(self, connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin where `_begin_sqlite` says, not where the driver guesses
        connection.create_function("turnwise_now", 0, self._clock)
        connection.create_function("turnwise_sum", 2, _sum_of_money, deterministic=True)
        connection.execute("PRAGMA journal_mode=WAL").close()
        connection.execute(f"PRAGMA synchronous={self._synchronous}").close()


def _parse(text: str) -> URL:
    try:
        url = make_url(text)
    except exc.ArgumentError as error:
        raise ConfigurationError(
            f"TURNWISE_DATABASE_URL is {redact(text)!r}; expected sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"
        ) from error
    kind = url.drivername.partition("+")[0]
    if kind in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if kind == "sqlite" and url.database and url.database != ":memory:":
        return url.set(drivername="sqlite+pysqlite")
    raise ConfigurationError(
        f"TURNWISE_DATABASE_URL is {url.render_as_string(hide_password=True)!r}; expected a file, sqlite:///FILE, "
        "or postgresql://USER:PASSWORD@HOST/NAME"
    )


def _sum_of_money(one: str, other: str) -> str:
    return str(Decimal(one) + Decimal(other))


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get("turnwise_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _note_use(_connection: Any, record: Any) -> None:
    record.info["used"] = time.monotonic()


def _try_if_rested(connection: Any, record: Any, _proxy: Any) -> None:
    if time.monotonic() - record.info.get("used", time.monotonic()) < _TRUSTED_SECONDS:
        return
    try:
        connection.execute("SELECT 1")
        connection.commit()
    except psycopg.OperationalError as error:
        raise exc.DisconnectionError from error  # the pool makes a fresh connection instead
