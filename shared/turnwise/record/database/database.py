"""The edge to the database: connections, transactions, and what a failure of it means."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import psycopg
import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from turnwise.base.postgres import LIMIT_SILENCE
from turnwise.errors import DatabaseUnavailableError, SchemaVersionError
from turnwise.record.database.columns import dump_json, now
from turnwise.record.database.connection_pool import ConnectionPool
from turnwise.record.database.cursor import OneByOne
from turnwise.record.database.database_url import connect_options, file_url, parse_url
from turnwise.record.database.encoding import check_encoding
from turnwise.record.database.faults import DATABASE_ERRORS, lacks_table, translated
from turnwise.record.database.schema import SCHEMA_VERSION, runs, schema_support
from turnwise.record.database.sqlite_writer import SQLiteWriter

_NOW = sa.select(now())
_VERSION = sa.text("SELECT version_num FROM alembic_version")
# The versions of before `schema_support`, which all later ones have.
_UNSUPPORTING = ("0001", "0002")
_OLDEST_PROGRAM = sa.select(schema_support.c.oldest_program)
# For those versions; it gives a value for a table of no rows, too. Other programs' tables of runs lack the column.
_HAS_RUNS = sa.select(sa.exists(sa.select(runs.c.move_due_at)))


class Database:
    """A SQLite file or a PostgreSQL database; safe to share between threads, not across a fork.

    `synchronous` is SQLite's: a commit survives a kill with NORMAL, and with FULL a power cut as well. `clock` replaces
    the clock of SQLite only; PostgreSQL tells its own time. `pool_size` is the most connections to PostgreSQL at a
    time; whoever needs one more waits, up to half a minute. Raises `ConfigurationError` for a URL that names neither,
    a server without a database, a parameter that libpq does not know, or any parameter of a file.
    """

    def __init__(
        self,
        url: str,
        *,
        synchronous: Literal["NORMAL", "FULL"] = "NORMAL",
        clock: Callable[[], float] | None = None,
        pool_size: int = 20,
    ) -> None:
        self.url = parse_url(url)
        self.is_postgres = self.url.drivername.startswith("postgresql")
        # An INSERT of this dialect, with `on_conflict_...`; SQLite's has the same methods. Statements that are kept by
        # it are then those of all databases of a dialect, and keep none of them alive.
        self.insert: Callable[[sa.Table], postgresql.Insert] = (
            postgresql.insert if self.is_postgres else sqlite.insert  # type: ignore[assignment]
        )
        self._clock = clock or time.time
        self._synchronous = synchronous
        options: dict[str, Any] = {"timeout": 30}
        if self.is_postgres:
            options = connect_options(self.url)
        self.engine = sa.create_engine(
            self.url,
            json_serializer=dump_json,
            connect_args=options,
            poolclass=sa.NullPool,
        )
        # PostgreSQL counts connections of all processes together, so a process keeps to what it was given.
        self.pool = ConnectionPool(self.engine, pool_size if self.is_postgres else 2 * pool_size)
        self.writer = SQLiteWriter(self.pool, groups=synchronous == "FULL")  # of SQLite alone
        self._transaction = self.pool.transaction if self.is_postgres else self.writer.transaction
        event.listen(self.engine, "connect", _prepare_postgres if self.is_postgres else self._prepare_sqlite)

    @property
    def name(self) -> str:
        """The URL as an operator writes it, without its password, for messages."""
        if not self.is_postgres:
            return file_url(self.url.database or "")
        return self.url.set(drivername="postgresql").render_as_string(hide_password=True)

    @property
    def missing_file(self) -> Path | None:
        """The file of SQLite if it is not there; a connection would make an empty one.

        None, too, where no one can say, as in a directory that may not be searched: the connection tells why then.
        """
        if self.is_postgres:
            return None
        file = Path(self.url.database or "")
        try:
            return None if file.exists() else file
        except OSError:
            return None

    def begin(self) -> AbstractContextManager[Connection]:
        """A writing transaction, committed at the end and rolled back by an exception."""
        return _Translated(self._transaction(), self._meant)

    @contextmanager
    def savepoint(self, connection: Connection) -> Iterator[None]:
        """A part of a writing transaction that an exception undoes by itself; its errors are raised as what they mean.

        So whoever continues after one knows it by its meaning, as after a transaction.
        """
        with self._faults(), connection.begin_nested():
            yield

    def statement(self) -> AbstractContextManager[Connection]:
        """For writes that PostgreSQL executes as one statement (see `burst.py`), which then commits by itself."""
        return self.read() if self.is_postgres else self.begin()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """For statements that only read; each is a transaction of its own, and sees the newest state."""
        with self._faults():
            lease = self.pool.take(reads=True)
            try:
                yield lease.connection
            except BaseException as error:
                # A prepared statement of this connection may be the cause, and would stay with it.
                if isinstance(error, (*DATABASE_ERRORS, KeyboardInterrupt)):
                    self.pool.drop(lease, error)
                else:
                    self.pool.undo(lease)
                raise
            self.pool.give_back(lease)

    def now(self, connection: Connection) -> float:
        """Seconds since the epoch by the database's clock."""
        return float(connection.execute(_NOW).scalar_one())

    def migrate(self) -> None:
        """Bring the schema to this program's version; safe to run twice and from several processes at once.

        A newer schema that this program can work on is left as it is. Where a transaction of someone else keeps a
        table for long, such as a backup, it is tried again for five minutes; raises `SchemaVersionError` then, and
        `ConfigurationError` for an empty database that is not in UTF-8.
        """
        from turnwise.record.database.migration import upgrade, validate  # Alembic takes long to import

        with self.read() as connection:
            found = self._schema_version(connection)
            if self._is_newer_and_supported(connection, found):
                return
            self._refuse_foreign(connection, found)
            check_encoding(connection, self.name, is_new=found is None)
        upgrade(self.begin, self.name, found)
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
            return create_database(self.url)

    def check_schema(self) -> None:
        """Raise `SchemaVersionError` unless the schema is this program's, or a newer one that allows this program.

        Raises `DatabaseUnavailableError` for a file of SQLite that is not there.
        """
        # In a directory that is not there SQLite makes none, and says so.
        if (file := self.missing_file) is not None and file.parent.is_dir():
            raise DatabaseUnavailableError(
                f"there is no file {file}: run `turnwise migrate`, which makes it, or correct TURNWISE_DATABASE_URL"
            )
        with self.read() as connection:
            found = self._schema_version(connection)
            if found == SCHEMA_VERSION or self._is_newer_and_supported(connection, found):
                return
            self._refuse_foreign(connection, found)
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
        """Close all connections, those in use when they are given back."""
        self.pool.close()

    def _schema_version(self, connection: Connection) -> str | None:
        return self._only_value(connection, _VERSION)

    def _is_newer_and_supported(self, connection: Connection, found: str | None) -> bool:
        """Return whether a newer program has made the schema and says that programs such as this one may continue."""
        if found is None or found <= SCHEMA_VERSION:
            return False
        oldest = self._only_value(connection, _OLDEST_PROGRAM)
        return oldest is not None and oldest <= SCHEMA_VERSION

    def _refuse_foreign(self, connection: Connection, found: str | None) -> None:
        """Raise `SchemaVersionError` if another program notes its version where Turnwise does."""
        sign, table = (_HAS_RUNS, "runs") if found in _UNSUPPORTING else (_OLDEST_PROGRAM, "versions")
        if found is None or self._only_value(connection, sign) is not None:
            return
        raise SchemaVersionError(
            f"{self.name} is another program's: its alembic_version is {found!r}, and it has no table of Turnwise's "
            f"{table}; give Turnwise a database of its own, and correct TURNWISE_DATABASE_URL"
        )

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
            meant = self._meant(error)
            if meant is None:
                raise
            raise meant from error

    def _meant(self, error: Exception) -> Exception | None:
        """Return the error of ours that one of the driver means; None if it is passed on as it is."""
        return translated(error, self.name, is_postgres=self.is_postgres)

    def _prepare_sqlite(self, connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin where `SQLiteWriter` says, not where the driver guesses
        connection.create_function("turnwise_now", 0, self._clock)
        connection.create_function("turnwise_sum", 2, _sum_of_money, deterministic=True)
        connection.create_aggregate("turnwise_total", 1, _TotalOfMoney)
        connection.create_function("turnwise_contains", 2, _contains, deterministic=True)
        connection.execute("PRAGMA journal_mode=WAL").close()
        connection.execute(f"PRAGMA synchronous={self._synchronous}").close()


class _Translated:
    """A transaction whose errors are raised as what they mean.

    A class, because one is in every turn, and a generator's block costs four times as much.
    """

    __slots__ = ("_meant", "_transaction")

    def __init__(
        self, transaction: AbstractContextManager[Connection], meant: Callable[[Exception], Exception | None]
    ) -> None:
        self._transaction, self._meant = transaction, meant

    def __enter__(self) -> Connection:
        try:
            return self._transaction.__enter__()
        except Exception as error:
            self._raise(error)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._transaction.__exit__(kind, error, trace)
        except Exception as raised:
            self._raise(raised)
            raise
        if isinstance(error, Exception):
            self._raise(error)

    def _raise(self, error: Exception) -> None:
        meant = self._meant(error)
        if meant is not None:
            raise meant from error


def _prepare_postgres(connection: psycopg.Connection, _record: Any) -> None:
    connection.cursor_factory = OneByOne
    connection.execute(LIMIT_SILENCE, prepare=False)
    connection.commit()


def _sum_of_money(one: str, other: str) -> str:
    return str(Decimal(one) + Decimal(other))


class _TotalOfMoney:
    """An aggregate function of SQLite, which would add up decimal text as floats."""

    def __init__(self) -> None:
        self._total = Decimal(0)

    def step(self, amount: str | None) -> None:
        self._total += Decimal(amount or 0)

    def finalize(self) -> str:
        return str(self._total)


def _contains(text: str | None, folded: str) -> bool:
    """Return whether a text has another, which is case-folded, whatever its own case: LIKE knows that of ASCII only."""
    return text is not None and folded in text.casefold()
