"""The audit of actions: rows that are added in the action's transaction, and never changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.base.ids import new_id
from turnwise.record.database import driver
from turnwise.record.database.access_schema import audit
from turnwise.record.database.columns import now
from turnwise.record.database.rows import names
from turnwise.record.tenants.caller import Deed

AUDIT = tuple(audit.c)
_NAMES = names(AUDIT)
_INSERT = sa.insert(audit).values(at=now())


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditRecord:
    """A row of the log; the field names are the columns. `status` is the HTTP status of what was refused."""

    id: str
    at: float
    tenant: str
    actor: str
    action: str
    resource: str | None
    outcome: str
    status: int | None
    address: str | None
    request_id: str | None


def write_deed(connection: Connection, deed: Deed, resource: str | None, *, refused: int | None = None) -> None:
    """Add a row: done, or `refused` with that HTTP status."""
    driver.run(connection, _INSERT, [_row(deed, resource, refused)])


def write_deeds(connection: Connection, deed: Deed, resources: Sequence[str]) -> None:
    """Add a row for each of many things to which the same was done."""
    driver.run(connection, _INSERT, [_row(deed, resource, None) for resource in resources])


def _row(deed: Deed, resource: str | None, refused: int | None) -> dict[str, object]:
    return {
        "id": new_id("aud"),
        "tenant": deed.tenant,
        "actor": deed.actor,
        "action": deed.action,
        "resource": resource,
        "outcome": "done" if refused is None else "refused",
        "status": refused,
        "address": deed.address,
        "request_id": deed.request_id,
    }


def audit_of(row: sa.Row[tuple[object, ...]]) -> AuditRecord:
    """A record from the values of `AUDIT`."""
    return AuditRecord(**dict(zip(_NAMES, row, strict=True)))  # type: ignore[arg-type]  # columns are the fields
