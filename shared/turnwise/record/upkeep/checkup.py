"""The record as a whole, for operators who check whether an installation is well."""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.database.columns import now, word
from turnwise.record.database.schema import asks, runs, workers
from turnwise.record.database.status_statements import status_in
from turnwise.record.states import UNFINISHED, AskStatus
from turnwise.record.transaction.part import RecordPart

_VERSIONS = (
    sa.select(runs.c.version, sa.func.count()).where(status_in(runs.c.status, UNFINISHED)).group_by(runs.c.version)
)
_NEWEST = sa.select(runs.c.id).order_by(runs.c.id.desc()).limit(1)
# A sweep notices a holder that is gone within a second or two, and one that is silent after its lease. After so many
# leases it should have.
_LEASES = 3.0
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


class Checkup(RecordPart):
    """Looks without locks."""

    def newest_run_id(self) -> str | None:
        """The id of the run that was accepted last, None if there is none."""
        with self._database.read() as connection:
            return connection.execute(_NEWEST).scalar_one_or_none()

    def unfinished_versions(self) -> dict[str, int]:
        """Return how many unfinished runs began with each version of the application."""
        with self._database.read() as connection:
            return {row[0]: row[1] for row in connection.execute(_VERSIONS)}

    def count_silent(self) -> int:
        """Return how many processes fell silent three leases ago, and no sweep has noticed."""
        with self._database.read() as connection:
            given = {"patience": _LEASES * self._core.lease_seconds}
            return int(connection.execute(_SILENT, given).scalar_one())

    def count_held_by_nobody(self) -> int:
        """Return how many asks are held by processes that ended, or fell silent, three leases ago."""
        with self._database.read() as connection:
            given = {"patience": _LEASES * self._core.lease_seconds}
            return int(connection.execute(_HELD_BY_NOBODY, given).scalar_one())
