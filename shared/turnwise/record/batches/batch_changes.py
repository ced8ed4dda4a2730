"""The changes that a tenant makes to its batches: opened, filled in parts, sealed, cancelled, taken up again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import ConflictError, InvalidRequestError
from turnwise.record.batches.batch_record import BatchRecord, NewBatch, NewItem
from turnwise.record.batches.batch_statements import (
    BATCHES,
    batch_of,
    lock_batch,
    read_batch,
    reopen_batch,
    unknown_batch,
)
from turnwise.record.budgets.budgets import BATCH
from turnwise.record.database.batch_tables import batch_items, batches
from turnwise.record.database.budget_tables import budgets
from turnwise.record.database.burst import insert_all
from turnwise.record.database.columns import now
from turnwise.record.database.schema import runs
from turnwise.record.database.status_statements import status_in
from turnwise.record.states import FINISHED
from turnwise.record.transaction.part import TenantPart
from turnwise.record.values.records import Json

_ITEMS = sa.insert(batch_items)
_NOT_STOPPED = {"stopped_at": None, "stopped_by": None}
_OPENED = ("id", "task", "concurrency", "name", "key")
# Only items that have their input: those of runs that were submitted together have none.
_RESTART = (
    sa.update(batch_items)
    .where(
        batch_items.c.batch_id == sa.bindparam("of_batch"),
        batch_items.c.body.is_not(None),
        sa.exists().where(runs.c.id == batch_items.c.run, status_in(runs.c.status, FINISHED)),
    )
    .values(run=None)
    .returning(batch_items.c.no)
)


class BatchChanges(TenantPart):
    """Opens and changes the tenant's batches. No run is made here: see `BatchFeeding`."""

    def open_batch(self, new: NewBatch) -> tuple[BatchRecord, bool]:
        """Keep a batch without items; the batch, and whether it is new: the tenant has one of that key once.

        Raises `ConflictError` (`batch_key_used`) if the batch of that key is of another task.
        """
        budgeted = bool(new.max_cost or new.max_tokens)
        row = {name: getattr(new, name) for name in _OPENED} | {"tenant": self._tenant, "budgeted": budgeted}
        statement = self._database.insert(batches).values(**row, created_at=now())
        # A batch without a key conflicts with none.
        statement = statement.on_conflict_do_nothing(
            index_elements=[batches.c.tenant, batches.c.key], index_where=batches.c.key.is_not(None)
        )
        with self._database.begin() as connection:
            while connection.execute(statement.returning(batches.c.id)).first() is None:
                if (known := self._batch_of_key(connection, new)) is not None:
                    return known, False
                # It was old, and has been deleted since: the key is free.
            if budgeted:
                budget = {"limit_cost": new.max_cost, "limit_tokens": new.max_tokens}
                connection.execute(sa.insert(budgets).values(scope=BATCH, scope_id=new.id, **budget))
            self._audited(connection, new.id)
            return read_batch(connection, self._reach, new.id), True

    def add_items(self, batch_id: str, first: int, items: Sequence[NewItem]) -> BatchRecord:
        """Add the items that come next in the input; `first` is the number of the first one, from 1.

        A part that is there already is not added again. Raises `NotFoundError`, and `ConflictError`: `batch_sealed`,
        `batch_expired`, `batch_order` (another part comes next, or other items have these numbers), `duplicate_item`.
        """
        with self._changing(batch_id) as (connection, batch):
            if first + len(items) - 1 <= batch.total:
                self._require_same(connection, batch, first, items)
                return batch
            if batch.expired_at is not None:
                raise ConflictError(
                    f"the batch {batch_id} was not sealed in time and has expired with {batch.total} items; open "
                    "another for the rest, with another key if it has one",
                    "batch_expired",
                )
            if batch.sealed_at is not None or batch.cancelled_at is not None:
                raise ConflictError(f"the batch {batch_id} is closed to further items; open another", "batch_sealed")
            if first != batch.total + 1:
                raise ConflictError(
                    f"the batch {batch_id} has {batch.total} items, so item {batch.total + 1} comes next, not {first}",
                    "batch_order",
                )
            self._require_new_keys(connection, batch, items)
            rows = [
                {"batch_id": batch_id, "no": first + at, "key": item.key, "body": item.body(), "run": None}
                for at, item in enumerate(items)
            ]
            insert_all(connection, _ITEMS, rows)
            self._change(connection, batch_id, total=batch.total + len(items), filled_at=now())
            return replace(batch, total=batch.total + len(items))

    def seal_batch(self, batch_id: str) -> BatchRecord:
        """Take no further items; the batch ends once those that it has are done. Sealing twice is once.

        Raises `ConflictError` (`batch_empty`) for a batch without items.
        """
        with self._changing(batch_id) as (connection, batch):
            if not batch.total:
                raise ConflictError(f"the batch {batch_id} has no items; add some before it is sealed", "batch_empty")
            if batch.sealed_at is None:
                self._change(connection, batch_id, sealed_at=now())
            return read_batch(connection, self._reach, batch_id)

    def cancel_batch(self, batch_id: str) -> BatchRecord:
        """Begin no further item. The runs that have begun are for the caller to cancel. Cancelling twice is once.

        Raises `ConflictError` (`already_ended`).
        """
        with self._changing(batch_id) as (connection, batch):
            if batch.finished_at is not None and batch.cancelled_at is None:
                raise ConflictError(f"the batch {batch_id} has already ended: {batch.status}", "already_ended")
            if batch.cancelled_at is None:
                self._change(connection, batch_id, cancelled_at=now())
            return read_batch(connection, self._reach, batch_id)

    def resume_batch(
        self, batch_id: str, *, max_cost: Decimal | None = None, max_tokens: int | None = None
    ) -> BatchRecord:
        """Let a batch continue with what has not begun.

        The limits, if given, are those of its budget from now on (0: none). Raises `NotFoundError`,
        `ConflictError` (`batch_cancelled`), and `InvalidRequestError` for a limit where it has had none.
        """
        limits = {"limit_cost": max_cost, "limit_tokens": max_tokens}
        changed = {name: value for name, value in limits.items() if value is not None}
        with self._changing(batch_id, changed) as (connection, batch):
            _require_not_cancelled(batch)
            if any(changed.values()) and not batch.budgeted:
                raise InvalidRequestError(
                    f"the batch {batch_id} was opened without a budget, and what it has used was not held against one; "
                    "give the limits when a batch is opened"
                )
            reopen_batch(connection, batch_id, **_NOT_STOPPED)
            return read_batch(connection, self._reach, batch_id)

    def restart_items(self, batch_id: str, replaced: Mapping[int, str]) -> list[int]:
        """Let a batch continue, with items of it from their beginning; return the numbers of the items that begin anew.

        `replaced` has the run of each item that is to get another one, by the item's number. An item that has another
        run by now, or whose run has not ended, is left as it is: two requests do not begin it anew twice. Raises
        `NotFoundError` and `ConflictError` (`batch_cancelled`).
        """
        with self._changing(batch_id) as (connection, batch):
            _require_not_cancelled(batch)
            restarted: list[int] = []
            if replaced:
                # A run is of one item, so these are pairs.
                seen = (batch_items.c.no.in_(replaced.keys()), batch_items.c.run.in_(replaced.values()))
                restarted = sorted(connection.execute(_RESTART.where(*seen), {"of_batch": batch_id}).scalars())
            reopen_batch(connection, batch_id, **_NOT_STOPPED)
            return restarted

    @contextmanager
    def _changing(self, batch_id: str, budget: Json | None = None) -> Iterator[tuple[Connection, BatchRecord]]:
        """One transaction over a batch whose row is locked; its budget, if that changes, is locked before it."""
        with self._database.begin() as connection:
            if budget:
                of_it = (budgets.c.scope == BATCH, budgets.c.scope_id == batch_id)
                read_batch(connection, self._reach, batch_id)
                connection.execute(sa.update(budgets).where(*of_it).values(budget))
            batch = lock_batch(connection, self._reach, batch_id)
            if batch is None:
                raise unknown_batch(batch_id)
            self._audited(connection, batch_id)
            yield connection, batch

    def _change(self, connection: Connection, batch_id: str, **values: Any) -> None:
        connection.execute(sa.update(batches).where(batches.c.id == batch_id).values(values))

    def _batch_of_key(self, connection: Connection, new: NewBatch) -> BatchRecord | None:
        """The batch that has the key of `new`, None if none has it; raises `ConflictError` for one of another task."""
        of_key = (batches.c.tenant == self._tenant, batches.c.key == new.key)
        row = connection.execute(BATCHES.where(*of_key)).first()
        if row is None:
            return None
        found = batch_of(row)
        if found.task != new.task:
            raise ConflictError(
                f"the key {new.key!r} is that of the batch {found.id}, which is of the task {found.task!r}, not "
                f"{new.task!r}; choose another key",
                "batch_key_used",
            )
        return found

    def _require_same(self, connection: Connection, batch: BatchRecord, first: int, items: Sequence[NewItem]) -> None:
        """Raise `ConflictError` unless these very items have these numbers."""
        numbers = batch_items.c.no.between(first, first + len(items) - 1)
        of_part = sa.select(batch_items.c.key, batch_items.c.body).where(batch_items.c.batch_id == batch.id, numbers)
        known = connection.execute(of_part.order_by(batch_items.c.no)).all()
        for no, (row, item) in enumerate(zip(known, items, strict=True), first):
            if row[0] != item.key or not _is_same(row[1] or {}, item.body()):
                raise ConflictError(
                    f"item {no} of the batch {batch.id} is another one than was sent now; items are never replaced",
                    "batch_order",
                )

    def _require_new_keys(self, connection: Connection, batch: BatchRecord, items: Sequence[NewItem]) -> None:
        keys = [item.key for item in items if item.key is not None]
        if not keys:
            return
        of_key = sa.select(batch_items.c.no, batch_items.c.key).where(
            batch_items.c.batch_id == batch.id, batch_items.c.key.in_(keys)
        )
        if (row := connection.execute(of_key.limit(1)).first()) is not None:
            raise ConflictError(
                f"item {row[0]} of the batch {batch.id} has the id {row[1]!r} already; ids are unique within a batch",
                "duplicate_item",
            )


def _require_not_cancelled(batch: BatchRecord) -> None:
    if batch.cancelled_at is not None:
        raise ConflictError(f"the batch {batch.id} was cancelled; open another", "batch_cancelled")


def _is_same(kept: Json, sent: Json) -> bool:
    """Return whether the body of an item is that of one that is kept: by what the client sent, where that is known."""
    digests = kept.get("body_hash"), sent.get("body_hash")
    return digests[0] == digests[1] if all(digests) else _meaning(kept) == _meaning(sent)


def _meaning(body: Json) -> Json:
    """Return the parts of a body that stay the same when its item is sent again: not its message's id.

    Nor the digest, which items do not have that an earlier version has kept.
    """
    kept = {name: value for name, value in body.items() if name not in ("message", "traceparent", "body_hash")}
    return kept | {"tags": list(kept.get("tags", ())), "content": body.get("message", {}).get("content")}
