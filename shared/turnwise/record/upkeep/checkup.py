"""The record as a whole, for operators and tests that check whether an installation is well."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.database.columns import now, word
from turnwise.record.database.rows import names
from turnwise.record.database.schema import asks, metadata, runs, workers
from turnwise.record.database.status_statements import status_in
from turnwise.record.runs.base import StoreBase
from turnwise.record.runs.records import Json
from turnwise.record.states import UNFINISHED, AskStatus

_VERSIONS = (
    sa.select(runs.c.version, sa.func.count()).where(status_in(runs.c.status, UNFINISHED)).group_by(runs.c.version)
)
# A holder that is gone is noticed by a sweep within a second or two, one that is silent after its lease.
_HELD_BY_NOBODY = (
    sa.select(sa.func.count())
    .select_from(asks)
    .where(
        asks.c.status == word(AskStatus.LEASED),
        ~sa.exists().where(
            workers.c.id == asks.c.worker_id,
            workers.c.lease_until > now() - sa.bindparam("patience", type_=sa.Double),
        ),
    )
)
_SILENT = (
    sa.select(sa.func.count())
    .select_from(workers)
    .where(
        workers.c.state == word("alive"),
        workers.c.lease_until <= now() - sa.bindparam("patience", type_=sa.Double),
    )
)


class Checkup(StoreBase):
    """Looks without locks."""

    def time(self) -> float:
        """Seconds since the epoch by the database's clock."""
        with self.database.read() as connection:
            return self.database.now(connection)

    def unfinished_versions(self) -> dict[str, int]:
        """Return how many unfinished runs began with each version of the application."""
        with self.database.read() as connection:
            return {row[0]: row[1] for row in connection.execute(_VERSIONS)}

    def count_silent(self, leases: float = 3.0) -> int:
        """Return how many processes fell silent so many leases ago, and no sweep has noticed."""
        with self.database.read() as connection:
            given = {"patience": leases * self.lease_seconds}
            return int(connection.execute(_SILENT, given).scalar_one())

    def count_held_by_nobody(self, leases: float = 3.0) -> int:
        """Return how many asks are held by processes that ended, or fell silent, so many leases ago."""
        with self.database.read() as connection:
            given = {"patience": leases * self.lease_seconds}
            return int(connection.execute(_HELD_BY_NOBODY, given).scalar_one())


_TABLES = {table.name: sa.select(table).order_by(*table.primary_key.columns) for table in metadata.sorted_tables}


class Inspection(StoreBase):
    """Reads tables as they are; meant for records of a size that fits into memory."""

    def everything(self, *without: str) -> dict[str, list[Json]]:
        """The rows of every table in the order of their keys, but for the tables named in `without`."""
        found: dict[str, list[Json]] = {}
        with self.database.read() as connection:
            for name, statement in _TABLES.items():
                if name not in without:
                    found[name] = _rows(connection, statement)
        return found

    def table(self, name: str) -> list[Json]:
        """The rows of one table in the order of their keys."""
        with self.database.read() as connection:
            return _rows(connection, _TABLES[name])


def _rows(connection: Connection, statement: sa.Select[Any]) -> list[Json]:
    keys = names(tuple(statement.selected_columns))  # type: ignore[arg-type]
    return [dict(zip(keys, row, strict=True)) for row in connection.execute(statement)]
