"""Statements compiled once for all databases of a process: a program has one database, and tests have thousands.

SQLAlchemy keeps them by dialect, and each engine makes a dialect of its own. Here those of the same kind are equal.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

# More than the tests of a process have different ones.
_compiled: LRUCache[Any, Any] = LRUCache(5_000)


class _OfOneKind:
    """A dialect that is equal to those of its class and its encoder of JSON, which is all that `Database` sets."""

    _json_serializer: Any

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._json_serializer is self._json_serializer

    def __hash__(self) -> int:
        return hash((type(self), self._json_serializer))

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        engine.update_execution_options(compiled_cache=_compiled)


class _PostgreSQL(_OfOneKind, PGDialect_psycopg):
    supports_statement_cache = True


class _SQLite(_OfOneKind, SQLiteDialect_pysqlite):
    supports_statement_cache = True


def share_compiled_statements() -> None:
    """Have all engines that this process makes from now on share what they compile."""
    for driver, dialect in (("postgresql.psycopg", _PostgreSQL), ("sqlite.pysqlite", _SQLite)):
        registry.register(driver, __name__, dialect.__name__)
