"""The values of batches, frozen: what is handed to the record, and what is read from it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any

from turnwise.base.money import decimal_string
from turnwise.record.database.rows import as_row
from turnwise.record.states import RunStatus
from turnwise.record.values.records import Json, NewRun, RunRecord

# The code of a run that a limit ended; what it has said so far need not be the whole.
AT_LIMIT = ("MAX_COST", "MAX_TOKENS")


class BatchStatus(StrEnum):
    """The status of a batch. It is read off its times; no column has it."""

    OPEN = "open"
    RUNNING = "running"
    COMPLETED = "completed"
    STOPPED = "stopped"
    CANCELLED = "cancelled"
    EXPIRED = "expired"  # its client has not sealed it; what it had is done


class ItemStatus(StrEnum):
    """The status of an item: that of its run, or what became of it without one."""

    NOT_STARTED = "not_started"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    LIMITED = "limited"  # completed, by a limit of cost or tokens
    FAILED = "failed"
    CANCELLED = "cancelled"
    DELETED = "deleted"  # its run is kept no longer


@dataclass(frozen=True, kw_only=True, slots=True)
class NewBatch:
    """A batch to be opened; `concurrency` of its runs may be unfinished at a time, None of `key` is a new batch."""

    id: str
    task: str
    concurrency: int
    name: str | None = None
    key: str | None = None
    max_cost: Decimal | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewItem:
    """An item to be kept: the run that will be made of it, without an id, and the client's own id for it."""

    run: NewRun
    key: str | None = None

    def body(self) -> Json:
        """The run as it is kept until it begins."""
        row = as_row(self.run, max_cost=decimal_string(self.run.max_cost))
        return {name: value for name, value in row.items() if name in _KEPT and value not in (None, (), {})}


_KEPT = frozenset(field.name for field in fields(NewRun)) - {"id", "batch_id", "batch_budget", "webhook"}


def run_of_body(body: Json, run_id: str, batch_id: str, *, budgeted: bool) -> NewRun:
    """The run that is made of a kept item."""
    given: dict[str, Any] = {**body, "tags": tuple(body.get("tags") or ())}
    made = NewRun(id=run_id, batch_id=batch_id, batch_budget=budgeted or None, **given)
    return made if made.max_cost is None else replace(made, max_cost=Decimal(made.max_cost))


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchRecord:
    """A batch's row, and the limits of its budget; the other field names are the columns."""

    id: str
    tenant: str
    task: str | None
    name: str | None
    key: str | None
    concurrency: int
    total: int
    budgeted: bool
    created_at: float
    sealed_at: float | None
    cancelled_at: float | None
    stopped_at: float | None
    stopped_by: str | None
    finished_at: float | None
    filled_at: float | None = None
    expired_at: float | None = None
    max_cost: Decimal | None = None
    max_tokens: int | None = None

    @property
    def status(self) -> BatchStatus:
        """Return the status that its times tell."""
        if self.finished_at is None:
            return BatchStatus.OPEN if self.sealed_at is None and self.cancelled_at is None else BatchStatus.RUNNING
        if self.cancelled_at is not None:
            return BatchStatus.CANCELLED
        if self.stopped_at is not None:
            return BatchStatus.STOPPED
        return BatchStatus.COMPLETED if self.expired_at is None else BatchStatus.EXPIRED

    @property
    def begins_runs(self) -> bool:
        """Return whether runs are still made of its items."""
        return self.cancelled_at is None and self.stopped_at is None


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchProgress:
    """A batch as it is now: its items by status, and what all of its runs have used, also those begun anew."""

    batch: BatchRecord
    counts: dict[ItemStatus, int]
    calls: int
    unpriced_calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: Decimal


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchItem:
    """An item with its run, None if it has not begun, or its run is deleted (`begun`)."""

    no: int
    key: str | None
    begun: str | None
    run: RunRecord | None

    @property
    def status(self) -> ItemStatus:
        """Return the item's status."""
        if self.run is None:
            return ItemStatus.NOT_STARTED if self.begun is None else ItemStatus.DELETED
        return item_status(self.run.status, self.run.status_code)


def item_status(status: str, code: str | None) -> ItemStatus:
    """Return the status of an item whose run has that status."""
    if status == RunStatus.COMPLETED and code in AT_LIMIT:
        return ItemStatus.LIMITED
    return ItemStatus(status)
