"""Old batches that are used at the moment at which they are deleted, on each database."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.interruption import interrupted, until_it_waits

from turnwise.base.ids import new_id
from turnwise.errors import NotFoundError
from turnwise.record.batches.batch_record import BatchRecord, NewBatch
from turnwise.record.database.batch_tables import batches
from turnwise.record.store import Store


def _new_batch(**more: Any) -> NewBatch:
    return NewBatch(id=new_id("bat"), task="support", concurrency=1, **more)


def _old_batch(store: Store, **more: Any) -> BatchRecord:
    """A batch that ended before all others, and whose runs are deleted."""
    batch, _ = store.tenant(new_id("tenant")).batches.open_batch(_new_batch(**more))
    with store.database.begin() as connection:
        ended = sa.update(batches).where(batches.c.id == batch.id)
        connection.execute(ended.values(sealed_at=1.0, finished_at=1.0))
    return batch


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_an_old_batch_is_deleted_or_resumed_with_new_limits_but_not_both(store: Store, at: int) -> None:
    batch = _old_batch(store, max_cost=Decimal(1))
    purged: list[Future[int]] = []

    with ThreadPoolExecutor(1) as pool:

        def meanwhile() -> None:
            purged.append(pool.submit(store.coordinator.purge_batches, 0))
            until_it_waits(store, purged[0].done)

        # when it is resumed while coordinators delete old batches
        resumed = True
        try:
            with interrupted(store, at, meanwhile) as other:
                other.tenant(batch.tenant).batches.resume_batch(batch.id, max_cost=Decimal(2))
        except NotFoundError:
            resumed = False
        deleted = purged[0].result(timeout=30)

    # then neither is an error
    mine = store.tenant(batch.tenant).batches
    if resumed:
        assert mine.batch(batch.id).max_cost == Decimal(2)
    else:
        assert deleted
        with pytest.raises(NotFoundError):
            mine.batch(batch.id)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_key_is_free_once_its_old_batch_is_deleted(store: Store, at: int) -> None:
    if not store.database.is_postgres:
        pytest.skip("SQLite lets one writer in at a time")
    old = _old_batch(store, key="monday")
    new = _new_batch(key="monday")

    with interrupted(store, at, lambda: store.coordinator.purge_batches(0)) as other:
        found, created = other.tenant(old.tenant).batches.open_batch(new)

    # then it is the old one, as long as that was there, or a new one
    assert found.id == (new.id if created else old.id)
    assert store.tenant(old.tenant).batches.open_batch(_new_batch(key="monday")) == (found, False)
