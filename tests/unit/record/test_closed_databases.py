"""A database that was used and closed leaves nothing behind in the process."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

from tests.support.databases import fresh_sqlite

from turnwise.base.ids import new_id
from turnwise.record.store import Store
from turnwise.record.values.records import NewRun


def test_a_closed_database_is_not_kept_alive_by_the_statements_that_are_kept(tmp_path: Path) -> None:
    database = fresh_sqlite(tmp_path / "record.db")
    store = Store(database)
    run, _ = store.tenant("default").submit(NewRun(id=new_id("run"), task="talk", version="1", message={}))
    with store.coordinator.locked(run.id) as transaction:
        transaction.put_document(new_id("msg"), {})
    database.close()

    engine = weakref.ref(database.engine)
    del database, store, transaction
    gc.collect()

    assert engine() is None
