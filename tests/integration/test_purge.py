"""Deleting old runs from the command line, and by coordinators."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import sqlalchemy as sa
from prometheus_client import CollectorRegistry
from tests.e2e.processes import environment
from tests.e2e.waiting import until
from tests.support.cli import Terminal, terminal
from tests.support.store_parts import new_run

from turnwise.processes.metrics import Metrics
from turnwise.processes.observers.metrics import RunMetrics
from turnwise.processes.settings import load_settings
from turnwise.record.database import budget_tables, schema
from turnwise.record.database.access_schema import audit
from turnwise.record.database.columns import now
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise_coordinator.retention import RetentionSweep

__all__ = ["terminal"]


def ended(store: Store, status: str, age: float = 0.0) -> str:
    """A run that ended so many seconds ago."""
    run, _ = store.tenant(DEFAULT_TENANT).submit(new_run())
    with store.coordinator.locked(run.id) as transaction:
        transaction.finish(RunStatus(status), "DONE")
    with store.database.begin() as connection:
        runs = schema.runs
        earlier = sa.update(runs).where(runs.c.id == run.id).values(finished_at=runs.c.finished_at - age)
        connection.execute(earlier)
    return run.id


def left(store: Store) -> set[str]:
    return {run.id for run in store.inspector.runs(limit=200)[0]}


def test_old_runs_are_counted_then_deleted(store: Store, terminal: Terminal) -> None:
    # given
    day = 86_400.0
    old = {status: ended(store, status, 31 * day) for status in ("completed", "failed", "cancelled")}
    young = ended(store, "completed", 29 * day)
    running = store.tenant(DEFAULT_TENANT).submit(new_run())[0].id
    command = ("purge", "--older-than", "30d", "--status", "completed,failed")

    # when nothing is to be done yet
    assert "would be deleted: 1 completed, 1 failed." in terminal.run(*command, "--dry-run")
    told = json.loads(terminal.run(*command, "--dry-run", "--json"))
    assert told == {"dry_run": True, "runs": {"completed": 1, "failed": 1}, "kept": 0, "budgets": 0, "batches": 0}
    assert len(left(store)) == 5

    # when it is
    told = json.loads(terminal.run(*command, "--json", "--batch", "1"))
    assert told == {"dry_run": False, "runs": {"completed": 1, "failed": 1}, "kept": 0, "budgets": 0, "batches": 0}

    assert left(store) == {old["cancelled"], young, running}
    assert "were deleted: none." in terminal.run(*command)
    assert "were deleted: 1 cancelled." in terminal.run("purge", "--older-than", "720h")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--older-than", "soon"), "'soon' is not a duration; expected for instance 30d"),
        (("--older-than", "-1d"), "is not a duration"),
        (("--older-than", "1d", "--status", "running"), "only runs that have ended are deleted"),
    ],
)
def test_what_makes_no_sense_deletes_nothing(
    store: Store, terminal: Terminal, options: tuple[str, ...], told: str
) -> None:
    ended(store, "completed", 1e6)
    assert told in " ".join(terminal.run("purge", *options, code=2).replace("│", " ").split())
    assert len(left(store)) == 1


def test_a_purge_that_is_killed_leaves_whole_runs_and_can_be_begun_again(store: Store, tmp_path: Path) -> None:
    # given
    file = tmp_path / "turnwise.db"
    with sqlite3.connect(file) as connection:
        ended(store, "completed")
        columns = ", ".join(c.name for c in schema.runs.c if c.name != "id")
        numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
        connection.execute(f"{numbers} INSERT INTO runs (id, {columns}) SELECT 'r' || i, {columns} FROM runs, n")
        connection.execute("INSERT INTO events (run_id, seq, type, at) SELECT id, 7, 'x', 1 FROM runs")
    connection.close()
    command = [sys.executable, "-m", "turnwise.cli.main", "purge", "--older-than", "0s", "--json"]
    env = environment(database_url=f"sqlite:///{file}")

    def counts() -> tuple[int, int, int]:
        with store.database.read() as connection:
            every = "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM events WHERE type = 'x'), "
            both = "(SELECT count(*) FROM runs JOIN events ON run_id = id WHERE type = 'x')"
            row = connection.exec_driver_sql(every + both).one()
        return row[0], row[1], row[2]

    # when
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    until(lambda: counts()[0] < 490, "some runs to be gone")
    process.kill()
    assert process.wait() == -9

    # then
    runs, events, whole = counts()
    assert runs == events == whole > 0
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True, timeout=100)
    assert counts() == (0, 0, 0)


def sweeping(store: Store, **settings: object) -> tuple[RetentionSweep, CollectorRegistry]:
    registry = CollectorRegistry()
    return RetentionSweep(store.coordinator, load_settings(**settings), RunMetrics(Metrics(registry))), registry


def test_one_coordinator_deletes_what_the_settings_say(store: Store) -> None:
    # given two coordinators
    kept = {ended(store, "failed", 100), ended(store, "completed", 10)}
    ended(store, "completed", 100)
    said: dict[str, object] = {"retention": 60, "retention_statuses": ["completed", "cancelled"]}
    (first, registry), (second, _) = sweeping(store, **said), sweeping(store, **said)

    # when both sweep
    first.sweep()

    # then
    assert left(store) == kept
    assert registry.get_sample_value("turnwise_runs_purged_total", {"status": "completed"}) == 1
    late = ended(store, "completed", 100)
    second.sweep()
    assert late in left(store)  # the first one has the lease


def test_a_sweep_deletes_for_a_part_of_its_time_and_the_next_goes_on(store: Store) -> None:
    for _ in range(4):
        ended(store, "completed", 100)
    # A share of nearly nothing is enough for one run.
    sweep, _ = sweeping(store, retention=60, sweep_seconds=1e-6)

    numbers = []
    for _ in range(4):
        sweep.sweep()
        numbers.append(len(left(store)))

    assert numbers == [3, 2, 1, 0]


def test_without_a_retention_nothing_is_deleted_but_old_budgets(store: Store) -> None:
    ended(store, "completed", 1e9)
    with store.database.begin() as connection:
        row = {"scope": "tenant_day", "scope_id": "default/2020-01-01"}
        connection.execute(sa.insert(budget_tables.budgets).values(row))
    audited(store, ["aud_old"], sa.literal(1.0))
    sweep, _ = sweeping(store)

    sweep.sweep()

    assert len(left(store)) == 1
    assert store.inspector.table("budgets") == []
    assert len(store.inspector.table("audit")) == 1


def audited(store: Store, ids: Iterable[str], at: sa.ColumnElement[float]) -> None:
    row = {"tenant": "acme", "actor": "key:1", "action": "submit", "outcome": "done"}
    with store.database.begin() as connection:
        connection.execute(sa.insert(audit).values(at=at), [{**row, "id": each} for each in ids])


def test_old_rows_of_the_audit_log_go_a_part_in_each_sweep(store: Store) -> None:
    audited(store, (f"aud_{number}" for number in range(501)), sa.literal(1.0))
    audited(store, ["aud_young"], now())
    sweep, _ = sweeping(store, audit_retention=60)

    numbers = []
    for _ in range(2):
        sweep.sweep()
        numbers.append(len(store.inspector.table("audit")))

    assert numbers == [2, 1]
    assert [row["id"] for row in store.inspector.table("audit")] == ["aud_young"]


def test_a_wrong_retention_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from turnwise.errors import ConfigurationError

    for name, value in (("RETENTION", "-1"), ("RETENTION_STATUSES", '["running"]'), ("RETENTION_STATUSES", "failed")):
        with monkeypatch.context() as patch, pytest.raises(ConfigurationError, match=f"(?i){name}"):
            patch.setenv(f"TURNWISE_{name}", value)
            load_settings()
