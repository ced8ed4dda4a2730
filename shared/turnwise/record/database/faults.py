"""The meaning of a database error: the database is away, the schema is another one, or a value cannot be kept.

Only an outage is worth waiting for. A value that the database refuses is refused again, however often it is sent. A
permission that is missing is an outage, because an administrator can grant it, and nothing is lost until then.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import exc
from sqlalchemy.engine import Connection

from turnwise.errors import DatabaseUnavailableError, SchemaVersionError, TurnwiseError, UnwritableError
from turnwise.record.database.connect_errors import connect_fault

# What a statement may raise inside a transaction, where `begin` and `read` have not translated it yet.
DATABASE_ERRORS: tuple[type[Exception], ...] = (exc.SQLAlchemyError, psycopg.Error, sqlite3.Error)
# By the driver's classes, because statements of the hot path go to the driver without SQLAlchemy, and raise what it
# raises. PostgreSQL's errors in trouble are of many classes: a standby's refusal of a write is an `InternalError`.
_OF_DRIVERS = (psycopg.DatabaseError, psycopg.InterfaceError, sqlite3.DatabaseError, sqlite3.InterfaceError)
_OF_STATEMENTS = (psycopg.ProgrammingError, psycopg.IntegrityError, sqlite3.ProgrammingError, sqlite3.IntegrityError)
# Numbers beyond what a column holds, half of a surrogate pair, JSON that is nested too deep to be written as text.
_OF_VALUES = (psycopg.DataError, sqlite3.DataError, OverflowError, UnicodeError, RecursionError)
# By SQLSTATE, of a PostgreSQL that answered: the end of the sentence "the database URL ...", and the cure.
_GIVEN_UP = ("gave up a transaction, of which nothing was kept", "try again")
_CUT_OFF = (
    "cut off a statement, of whose transaction nothing was kept",
    "try again, or raise statement_timeout where that is too short",
)
_ENDED = ("ended a connection", "try again, or start PostgreSQL if it was stopped")
_OWN_ERROR = ("met an error of its own", "look at the log of its server")
_READ_ONLY = "25006"
_NOT_ALLOWED = "42501"
_LOCK_TIMEOUT = "55P03"
_BY_STATE = {
    _READ_ONLY: (
        "takes no writes now: it is a standby, or was made read-only",
        "wait for the failover, make it writable, or correct TURNWISE_DATABASE_URL",
    ),
    "25P03": _GIVEN_UP,  # idle for too long in a transaction
    "25P04": _GIVEN_UP,  # transaction timeout
    "40001": _GIVEN_UP,  # serialization failure
    "40P01": _GIVEN_UP,  # deadlock
    _LOCK_TIMEOUT: _GIVEN_UP,
    _NOT_ALLOWED: (
        "refuses its user a permission",
        "have it granted, or run `turnwise migrate` as the services' user, who then owns the tables",
    ),
    "53100": ("has no room left on its disk", "free some at its server, or add some"),
    "57014": _CUT_OFF,  # statement timeout, or someone cancelled it
    "57P01": _ENDED,  # by an administrator, or the server is stopped
    "57P02": _ENDED,  # another process of the server has crashed
    "XX000": _OWN_ERROR,
    "XX001": _OWN_ERROR,  # damaged data
    "XX002": _OWN_ERROR,  # a damaged index
}
# SQLSTATE class 54: a row, a statement or a value exceeds what the program can process.
_TOO_LARGE = "54"


def translated(error: Exception, name: str, *, is_postgres: bool) -> TurnwiseError | None:
    """The error of ours that a database error means; None if it is no matter of data or of the surroundings."""
    if isinstance(error, TurnwiseError):
        return None
    cause = _cause(error)
    if _is_of_value(error, cause):
        return UnwritableError(f"the database {name} cannot keep this: {_words(cause)}")
    if isinstance(error, DATABASE_ERRORS) and lacks_table(error):
        return SchemaVersionError(f"{name} lacks a table ({cause}): run `turnwise migrate`")
    outage = isinstance(cause, _OF_DRIVERS) and not isinstance(cause, _OF_STATEMENTS)
    if not outage and not isinstance(error, exc.TimeoutError) and _state(cause) != _NOT_ALLOWED:
        return None
    return DatabaseUnavailableError(_unavailable(cause, name, is_postgres=is_postgres))


def lacks_table(error: Exception) -> bool:
    """Return whether the schema is not the one that the statement was written for."""
    cause = _cause(error)
    return type(cause).__name__ in ("UndefinedTable", "UndefinedColumn") or str(cause).startswith("no such ")


def takes_no_writes(error: BaseException) -> bool:
    """Return whether the connection only reads. It may do so for as long as it is open, while others write again."""
    return _state(_cause(error)) == _READ_ONLY


def is_lock_timeout(error: BaseException | None) -> bool:
    """Return whether a statement has waited for a lock for longer than it may."""
    return error is not None and _state(_cause(error)) == _LOCK_TIMEOUT


def is_intact(connection: Connection) -> bool:
    """Return whether the connection's transaction can continue: after an error of its own, PostgreSQL's cannot."""
    if connection.invalidated:  # SQLAlchemy saw the connection break, and gives no other for this transaction
        return False
    of_driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "postgresql":
        return of_driver.info.transaction_status in (TransactionStatus.IDLE, TransactionStatus.INTRANS)
    try:
        of_driver.execute("SELECT 1 FROM runs LIMIT 1")
    except sqlite3.Error:
        return False
    return True


def _is_of_value(error: Exception, cause: BaseException) -> bool:
    if isinstance(cause, _OF_VALUES):
        return True
    if isinstance(error, exc.StatementError) and not isinstance(error, exc.DBAPIError):
        return True  # the value could not be bound, so the statement was never sent
    return _state(cause).startswith(_TOO_LARGE)


def _unavailable(cause: BaseException, name: str, *, is_postgres: bool) -> str:
    detail = _words(cause)
    if (answered := _BY_STATE.get(_state(cause))) is not None:
        found, cure = answered
        return f"the database {name} {found} ({detail}); {cure}"
    if is_postgres:
        fault = connect_fault(detail)
        return f"the database {name} {fault.found} ({detail}); {fault.cure}"
    if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        file = name.removeprefix("sqlite:///").partition("?")[0]
        return f"the database {name} has no room left on its disk ({detail}); make room on the disk of {file}"
    return (
        f"the database {name} does not answer ({detail}); see that it is a database file in a writable directory, or "
        "correct TURNWISE_DATABASE_URL"
    )


def _cause(error: BaseException) -> BaseException:
    """Return the driver's error, which SQLAlchemy may have wrapped."""
    return getattr(error, "orig", None) or error


def _state(cause: BaseException) -> str:
    """Return PostgreSQL's SQLSTATE, empty where it has given none."""
    return getattr(cause, "sqlstate", None) or ""


def _words(cause: BaseException) -> str:
    return " ".join(str(cause).split())[:500]
