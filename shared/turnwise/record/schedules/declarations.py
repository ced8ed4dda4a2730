"""Schedules that the code of an application declares, written into the record by coordinators.

While an installation is upgraded, coordinators of two versions of the application live. The schedules of one of them
are in force: of the versions that have a live coordinator, the one that was seen last for the first time. So an old
coordinator that starts again in the middle of an upgrade takes nothing back, and once an upgrade is undone, the old
version's schedules are in force as soon as the last coordinator of the new one is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.database.columns import word
from turnwise.record.database.schedule_tables import schedule_versions, schedules
from turnwise.record.database.schema import workers
from turnwise.record.runs.wait_facts import COORDINATOR
from turnwise.record.schedules.schedule import SCHEDULE, ScheduleRecord, ScheduleTerms, schedule_of
from turnwise.record.schedules.schedules import delete_schedule, write_schedule, write_terms
from turnwise.record.transaction.part import RecordPart
from turnwise.schedules.declared import DeclaredSchedule, digest_of

# One process at a time declares; SQLite has one writer at a time anyway.
_LOCK = sa.select(sa.func.pg_advisory_xact_lock(7_303_017))
_ALIVE = sa.exists().where(
    workers.c.version == schedule_versions.c.version,
    workers.c.kind == word(COORDINATOR),
    workers.c.state == word("alive"),
)
_OF_VERSION = schedule_versions.c.version == sa.bindparam("of_version")
_LEADING = (
    sa.select(schedule_versions.c.version)
    .where(sa.or_(_OF_VERSION, _ALIVE))
    .order_by(schedule_versions.c.first_seen_at.desc(), schedule_versions.c.version.desc())
    .limit(1)
)
_KNOWN = sa.select(schedule_versions.c.digest, schedule_versions.c.in_force).where(_OF_VERSION)
_IN_CODE = sa.select(*SCHEDULE).where(schedules.c.version.is_not(None)).with_for_update()
# The actor that is kept as the maker of schedules that code declares.
_CODE = "code"


@dataclass(kw_only=True)
class Declaration:
    """The changes that a version's schedules made; `taken` are those whose names requests gave to others."""

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    taken: list[DeclaredSchedule] = field(default_factory=list)


class DeclaredSchedules(RecordPart):
    """Puts the schedules of code into force."""

    def declare_schedules(
        self, version: str, declared: Sequence[DeclaredSchedule], *, starting: bool
    ) -> Declaration | None:
        """Put the schedules of a version into force, and end those of others; None if nothing has to be done.

        `starting`: the process has just begun, so its code may be newer than what the same version declared.
        """
        digest = digest_of(declared)
        if self._is_done(version, digest, starting=starting):
            return None
        with self._database.begin() as connection:
            if self._database.is_postgres:
                connection.execute(_LOCK)
            at = self._database.now(connection)
            new = {"version": version, "first_seen_at": at, "digest": "", "in_force": False}
            statement = self._database.insert(schedule_versions).values(new)
            connection.execute(statement.on_conflict_do_nothing(index_elements=["version"]))
            if connection.execute(_LEADING, {"of_version": version}).scalar_one() != version:
                return None
            known, in_force = connection.execute(_KNOWN, {"of_version": version}).one()
            if in_force and (known == digest or not starting):
                return None
            made = self._write(connection, version, declared, at)
            connection.execute(sa.update(schedule_versions).values(in_force=schedule_versions.c.version == version))
            mine = sa.update(schedule_versions).where(schedule_versions.c.version == version)
            # With a name that is taken this is not done: whoever starts next looks again, and tells it again.
            connection.execute(mine.values(digest="" if made.taken else digest))
        return made

    def _is_done(self, version: str, digest: str, *, starting: bool) -> bool:
        """Look without a lock, because nothing has changed nearly always."""
        with self._database.read() as connection:
            row = connection.execute(_KNOWN, {"of_version": version}).first()
            if row is None:
                return False
            if row[1]:
                return not starting or row[0] == digest
            return bool(connection.execute(_LEADING, {"of_version": version}).scalar_one() != version)

    def _write(
        self, connection: Connection, version: str, declared: Sequence[DeclaredSchedule], at: float
    ) -> Declaration:
        made = Declaration()
        before = {(one.tenant, one.name): one for one in map(schedule_of, connection.execute(_IN_CODE))}
        for one in declared:
            found = before.pop((one.tenant, one.name), None)
            terms = ScheduleTerms(
                task=one.task, run=one.run, timing=one.timing, catch_up=one.catch_up, overlap=one.overlap
            )
            if found is None:
                insert = self._database.insert
                written: ScheduleRecord | None = write_schedule(
                    connection, insert, one.tenant, one.name, terms, at, _CODE, version
                )
            else:
                written = write_terms(connection, found, terms, at, version)
            if written is None:
                made.taken.append(one)
            else:
                made.written.append(one.name)
        for left in before.values():
            delete_schedule(connection, left.id)
            made.removed.append(left.name)
        return made
