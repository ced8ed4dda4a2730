"""The setting by which open batches that get no items are closed."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from turnwise.base.ids import new_id
from turnwise.bus.in_process import InProcessBus
from turnwise.processes.settings import load_settings
from turnwise.record.batches.batch_record import NewBatch
from turnwise.record.database.batch_tables import batches
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.serving.dispatcher import Dispatcher
from turnwise.serving.observer import Observer
from turnwise_coordinator.batches import Batches

_TEN_YEARS = 315_360_000.0


@pytest.mark.parametrize(("setting", "expires"), [({}, True), ({"batch_expiry": 0}, False)], ids=["default", "0"])
def test_an_open_batch_expires_unless_the_setting_is_0(
    tmp_path: Path, setting: dict[str, float], expires: bool
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'runs.db'}")
    database.migrate()
    store = Store(database)
    record = store.tenant("acme")
    batch, _ = record.batches.open_batch(NewBatch(id=new_id("bat"), task="support", concurrency=1))
    with database.begin() as connection:
        long_ago = {name: batches.c[name] - _TEN_YEARS for name in ("created_at", "filled_at")}
        connection.execute(sa.update(batches).values(long_ago))

    Batches(store.coordinator, Dispatcher(InProcessBus()), load_settings(**setting), Observer()).sweep()

    assert (record.batches.batch(batch.id).expired_at is not None) is expires
    database.close()
