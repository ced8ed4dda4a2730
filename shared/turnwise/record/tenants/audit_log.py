"""Reading the audit log, writing down what was refused, and deleting what is kept no longer."""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.database.access_schema import audit
from turnwise.record.database.columns import now
from turnwise.record.tenants.audit import AUDIT, AuditRecord, audit_of, write_deed
from turnwise.record.tenants.caller import Deed
from turnwise.record.transaction.idempotency import forget_old
from turnwise.record.transaction.part import ChangingPart, RecordPart


class AuditLog(RecordPart):
    """The rows within reach; each action writes its own (`ChangingPart`)."""

    def audit(self, after: str | None = None, limit: int = 100) -> list[AuditRecord]:
        """Rows, newest first; those before `after`, a row's id."""
        statement = sa.select(*AUDIT).where(*self._reach.where(audit.c.tenant)).order_by(audit.c.id.desc()).limit(limit)
        if after is not None:
            statement = statement.where(audit.c.id < after)
        with self._database.read() as connection:
            return [audit_of(row) for row in connection.execute(statement)]


class SignIns(ChangingPart):
    """The rows of browsers that were signed in and out."""

    def note_sign_in(self, caller: str) -> None:
        """Write down the action on whose behalf this record was made; it changes nothing else."""
        with self._database.begin() as connection:
            self._audited(connection, caller)


class Refusals(RecordPart):
    """The rows of what was not done."""

    def note_refused(self, deed: Deed, resource: str | None, status: int) -> None:
        """Write down that something was not done, and with which HTTP status it was refused."""
        with self._database.begin() as connection:
            write_deed(connection, deed, resource, refused=status)


class AuditRetention(RecordPart):
    """The deletion of what is kept no longer."""

    def forget_old_audit(self, older_than: float, limit: int) -> int:
        """Delete rows older than that many seconds, the oldest first and at most `limit`. Return how many they were."""
        old = sa.select(audit.c.id).where(audit.c.at <= now() - sa.literal(older_than, sa.Double))
        first = old.order_by(audit.c.at).limit(limit)
        with self._database.begin() as connection:
            return connection.execute(sa.delete(audit).where(audit.c.id.in_(first))).rowcount

    def forget_old_requests(self, limit: int) -> int:
        """Delete idempotency keys that are kept no longer, at most `limit`, and return how many they were."""
        with self._database.begin() as connection:
            return forget_old(connection, limit)
