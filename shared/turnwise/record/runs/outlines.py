"""The outlines of runs: what became of them and what they cost, and nothing that anyone wrote."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import sqlalchemy as sa

from turnwise.errors import NotFoundError
from turnwise.record.database.columns import parts_of
from turnwise.record.database.schema import runs
from turnwise.record.states import RunStatus
from turnwise.record.transaction.part import RecordPart

# Not among them: messages, results, metadata, tags, sessions, and the messages of errors.
_COLUMNS = (
    *(runs.c.id, runs.c.task, runs.c.version, runs.c.status, runs.c.status_code, runs.c.priority),
    *(runs.c.max_cost, runs.c.max_tokens, runs.c.turns, runs.c.deadline_at, runs.c.on_limit, runs.c.can_wait),
    *(runs.c.prompt_tokens, runs.c.cached_tokens, runs.c.completion_tokens, runs.c.calls, runs.c.unpriced_calls),
    *(runs.c.cost, runs.c.reserved_cost, runs.c.reserved_tokens),
    *(runs.c.created_at, runs.c.started_at, runs.c.finished_at, runs.c.cancel_requested_at),
    parts_of(runs.c.waiting_for)["kind"].as_string().label("waits_for"),
    parts_of(runs.c.error)["kind"].as_string().label("error_kind"),
    parts_of(runs.c.error)["code"].as_string().label("error_code"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class OutlineFilter:
    """The conditions of a list of outlines; None means any."""

    status: str | None = None
    task: str | None = None
    created_after: float | None = None
    created_before: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOutline:
    """A run without its contents; the field names are those of its record."""

    id: str
    task: str
    version: str
    status: RunStatus
    status_code: str | None
    priority: int
    max_cost: Decimal | None
    max_tokens: int | None
    turns: int | None
    deadline_at: float | None
    on_limit: str | None
    can_wait: float | None
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    calls: int
    unpriced_calls: int
    cost: Decimal
    reserved_cost: Decimal
    reserved_tokens: int
    created_at: float
    started_at: float | None
    finished_at: float | None
    cancel_requested_at: float | None
    waits_for: str | None
    error_kind: str | None
    error_code: str | None


class RunOutlines(RecordPart):
    """Reads the outlines of the runs of tenants within reach."""

    def outlines(
        self, tenant: str, filters: OutlineFilter, before: str | None = None, limit: int = 50
    ) -> list[RunOutline]:
        """Return runs of the tenant, newest first, that are older than the run `before`.

        Raises `NotFoundError` for a tenant that is out of reach.
        """
        if not self._reach.includes(tenant):
            raise NotFoundError(f"there is no tenant {tenant!r} that you administer")
        statement = sa.select(*_COLUMNS).where(runs.c.tenant == tenant).order_by(runs.c.id.desc()).limit(limit)
        for column, value in ((runs.c.status, filters.status), (runs.c.task, filters.task)):
            if value is not None:
                statement = statement.where(column == value)
        if filters.created_after is not None:
            statement = statement.where(runs.c.created_at > filters.created_after)
        if filters.created_before is not None:
            statement = statement.where(runs.c.created_at <= filters.created_before)
        if before is not None:
            statement = statement.where(runs.c.id < before)
        with self._database.read() as connection:
            return [_outline(row) for row in connection.execute(statement).mappings()]


def _outline(row: sa.RowMapping) -> RunOutline:
    return RunOutline(**{**row, "status": RunStatus(row["status"])})
