"""The plans that PostgreSQL keeps: made while the tables are empty, they serve runs of any length."""

from __future__ import annotations

import re
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.databases import migrated_copy

from turnwise.record.asks.best_ask import _BY_PLACE, lease_best
from turnwise.record.batches.batch_progress import _PROGRESS
from turnwise.record.database.database import Database
from turnwise.record.database.driver import prepared_for
from turnwise.record.states import AskStatus
from turnwise.record.transaction.statements import ASK_AND_REPLY
from turnwise.record.transaction.writes import _CLOSE

_BY_KEY = "Index Scan using asks_pkey on asks"


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (_CLOSE[AskStatus.ANSWERED], _BY_KEY),
        (ASK_AND_REPLY, _BY_KEY),
        (_BY_PLACE, "Tid Scan on asks"),
        (lease_best(False), "Tid Scan on asks"),
    ],
)
def test_an_ask_is_found_without_a_look_at_the_others(statement: Any, expected: str, postgres_url: str) -> None:
    with migrated_copy() as url:
        database = Database(url)
        with database.read() as connection:
            prepared = prepared_for(statement, connection.dialect, ())
            text = prepared.text % {name: f"${no}" for no, name in enumerate(prepared.names, 1)}
            connection.exec_driver_sql("SET plan_cache_mode = force_generic_plan")
            connection.exec_driver_sql(f"PREPARE tried AS {text}")
            nulls = ", ".join(["NULL"] * len(prepared.names))
            plan = connection.execute(sa.text(f"EXPLAIN EXECUTE tried({nulls})")).scalars().all()
        database.close()

    assert expected in "\n".join(plan)


@pytest.mark.postgres
def test_the_progress_of_batches_is_read_without_their_items(postgres_url: str) -> None:
    with migrated_copy() as url:
        database = Database(url)
        with database.read() as connection:
            text = _PROGRESS.params(of_batches=["bat_1", "bat_2"]).compile(
                connection.engine, compile_kwargs={"literal_binds": True}
            )
            connection.exec_driver_sql("SET enable_seqscan = off")  # the tables are empty
            plan = "\n".join(connection.execute(sa.text(f"EXPLAIN {text}")).scalars().all())
        database.close()

    assert {"ix_runs_batch_active", "batch_sums_pkey", "replaced_batch_runs_pkey"} <= set(re.findall(r"\w+", plan))
    assert "batch_items" not in plan
    assert "Seq Scan" not in plan
