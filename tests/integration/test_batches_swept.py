"""The sweep of batches gets round to those of every tenant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.support.databases import fresh_sqlite
from tests.support.store_parts import new_run

from turnwise.base.ids import new_id
from turnwise.bus.in_process import InProcessBus
from turnwise.processes.settings import load_settings
from turnwise.record.batches.batch_record import ItemStatus, NewBatch, NewItem
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.serving.dispatcher import Dispatcher
from turnwise.serving.observer import Observer
from turnwise_coordinator.batches import Batches


def sealed_batch(record: TenantRole) -> str:
    """A batch with one item, that no one has fed."""
    batch, _ = record.batches.open_batch(NewBatch(id=new_id("bat"), task="support", concurrency=10))
    record.batches.add_items(batch.id, 1, [NewItem(run=replace(new_run(), id=""))])
    record.batches.seal_batch(batch.id)
    return batch.id


def test_batches_of_a_tenant_at_its_limit_of_runs_do_not_keep_the_sweep_from_others(tmp_path: Path) -> None:
    database = fresh_sqlite(tmp_path / "runs.db")
    store = Store(database)
    settings = load_settings(tenant_max_unfinished_runs=1)
    sweeps = Batches(store.coordinator, Dispatcher(InProcessBus()), settings, Observer())
    full, other = store.tenant("full"), store.tenant("other")
    running, _ = full.submit(new_run())
    waiting = [sealed_batch(full) for _ in range(60)]
    mine = sealed_batch(other)

    for _ in range(2):
        sweeps.sweep()

    assert other.batches.batch_progress(mine).counts[ItemStatus.QUEUED] == 1
    assert full.batches.batch_progress(waiting[0]).counts[ItemStatus.NOT_STARTED] == 1

    # The sweep comes round to the first ones again.
    with store.coordinator.locked(running.id) as transaction:
        transaction.finish(RunStatus.COMPLETED, "DONE")
    for _ in range(2):
        sweeps.sweep()

    begun = [batch for batch in waiting if full.batches.batch_progress(batch).counts[ItemStatus.QUEUED]]
    assert len(begun) == 1
    database.close()
