"""The database: does it answer, is its schema ours, what time is it there, is there room?"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnwise.cli.doctor.finding import Finding, fault, guarded, ok, warning
from turnwise.errors import DatabaseUnavailableError, SchemaVersionError
from turnwise.processes.settings import ServiceSettings
from turnwise.record.database.database import Database
from turnwise.record.database.encoding import REMEDY, shortcoming_of
from turnwise.record.database.schema import SCHEMA_VERSION
from turnwise.record.roles.monitor import MonitorRole
from turnwise.record.store import Store

# Seconds that two clocks may differ by before anyone should look.
_OFFSET = 2.0
# Bytes. A disk with less is nearly full; a write-ahead log of more is one that no one could write back.
_ROOM = 500_000_000
_LONG_LOG = 256_000_000


@contextmanager
def opened(settings: ServiceSettings) -> Iterator[tuple[MonitorRole | None, list[Finding]]]:
    """The record, None if it cannot be worked on, and what was found."""
    held: list[Database] = []
    refused = list(guarded("database", _made(settings, held)))
    if not held:
        yield None, refused
        return
    database = held[0]
    try:
        found = list(guarded("database", _look(database)))
        usable = all(each.level != "fault" for each in found)
        yield (Store(database, lease_seconds=settings.lease_seconds).monitor if usable else None), found
    finally:
        database.close()


def check_shared(settings: ServiceSettings) -> Iterator[Finding]:
    """The database of services is one that they can share; `turnwise up`, without a broker, has a file."""
    if settings.broker_url is not None and settings.database_is_file:
        yield fault(
            "shared database",
            "TURNWISE_BROKER_URL is set, but TURNWISE_DATABASE_URL is not, or names a file: services share none",
            "set it to a PostgreSQL database; for one process, leave out the broker and use `turnwise up`",
        )


def _made(settings: ServiceSettings, held: list[Database]) -> Iterator[Finding]:
    held.append(Database(settings.database_url, synchronous=settings.sqlite_synchronous))
    yield from ()


def _look(database: Database) -> Iterator[Finding]:
    if (missing := database.missing_file) is not None:
        yield fault(
            "database", f"there is no file {missing}", "run `turnwise migrate`, or correct TURNWISE_DATABASE_URL"
        )
        return
    try:
        before = time.time()
        with database.read() as connection:
            offset = database.now(connection) - (before + time.time()) / 2
            shortcoming = shortcoming_of(connection)
    except DatabaseUnavailableError as error:
        yield fault("database", str(error))
        return
    yield ok("database", f"{database.name} answers")
    yield _schema(database)
    yield _clock(offset)
    if shortcoming is not None:
        yield warning("encoding", f"the database {shortcoming}", REMEDY)
    if not database.is_postgres:
        yield from _file(Path(database.url.database or ""))


def _schema(database: Database) -> Finding:
    try:
        database.check_schema()
    except SchemaVersionError as error:
        return fault("schema", str(error))
    found = database.schema_version()
    if found == SCHEMA_VERSION:
        return ok("schema", f"version {found}, as this program has it")
    return warning(
        "schema",
        f"version {found} is newer than this program's, {SCHEMA_VERSION}, which may go on working on it",
        "end the upgrade: replace the processes that are left of this version",
    )


def _clock(offset: float) -> Finding:
    told = f"this machine's clock and the database's differ by {abs(offset):.1f} s"
    if abs(offset) <= _OFFSET:
        return ok("clock", told)
    return warning(
        "clock", told, "set both by NTP: leases and deadlines use the database's clock, ids and logs this one"
    )


def _file(file: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(file.parent).free
    if free < _ROOM:
        yield warning("disk", f"{file.parent} has {free / 1e6:.0f} MB left", "make room, or delete old runs")
    else:
        yield ok("disk", f"{file.parent} has {free / 1e9:.1f} GB left")
    log = file.with_name(file.name + "-wal")
    size = log.stat().st_size if log.exists() else 0
    if size > _LONG_LOG:
        yield warning(
            "write-ahead log",
            f"{log} has {size / 1e6:.0f} MB: a program that reads the file for long keeps it from being written back",
            "end that program, perhaps a forgotten sqlite3 shell, then: sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'",
        )
    else:
        yield ok("write-ahead log", f"{size / 1e6:.0f} MB")
