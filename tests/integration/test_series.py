"""The series of an embedded server: its coordinator takes the samples."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from tests.e2e.waiting import until
from tests.support.databases import fresh_sqlite

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task
from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.errors import InvalidRequestError
from turnwise.processes.settings import load_settings
from turnwise.record.store import Store
from turnwise_coordinator.samples import SampleSweep


def test_work_shows_in_the_series_of_the_tenant_and_of_the_fleet(tmp_path: Path) -> None:
    app = App("tests")
    app.task(name="answering")(
        lambda: Task(ChatAgent(ChatAgentConfig(name="desk", llm=MockLMConfig())), interactive=False, single_round=True)
    )
    settings = load_settings(
        database_url=f"sqlite:///{tmp_path / 'runs.db'}", bind="127.0.0.1:0", sample_seconds=1, sweep_seconds=0.2
    )
    with EmbeddedServer(settings, app) as server, Client(server.url) as client:
        # What happened before the first sample is counted in none.
        until(lambda: client.series().points, "the first sample")
        run = client.submit("answering", "hello", wait=30)
        assert run.status == "completed"
        until(lambda: any(point.turns for point in client.series(step=60).points), "a sample of the turn")

        series, fleet = client.series(step=3_600), client.series(step=3_600, fleet=True)

        assert (series.tenant, series.step, fleet.tenant) == ("default", 3_600, None)
        assert [sum(getattr(point, name) for point in series.points) for name in ("turns", "calls", "ended")] == [
            1,
            1,
            1,
        ]
        assert sum(Decimal(point.cost) for point in series.points) == Decimal(run.usage.cost)
        assert sum(point.turns for point in fleet.points) == 1
        now = datetime.now(UTC)
        assert client.series(until=now - timedelta(days=1)).points == []
        with pytest.raises(InvalidRequestError, match="there are 86401 steps of 1 s, and an answer has at most 2000"):
            client.series(since=now - timedelta(days=1), step=1)
        with pytest.raises(InvalidRequestError, match="since must be before until"):
            client.series(since=now, until=now - timedelta(days=1))
        with pytest.raises(
            InvalidRequestError, match="until is 9999-12-31T23:59:59Z; expected a time up to the year 2199"
        ):
            client.series(until=datetime.max.replace(tzinfo=UTC, microsecond=0))
        with pytest.raises(InvalidRequestError, match="both fleet and tenant"):
            client.series(tenant="default", fleet=True)


def test_one_coordinator_takes_the_samples_and_none_where_that_is_set(tmp_path: Path) -> None:
    database = fresh_sqlite(tmp_path / "runs.db")
    store, other = Store(database), Store(database)

    def sweeping(of: Store, **settings: int) -> SampleSweep:
        return SampleSweep(of.coordinator, load_settings(**settings))

    sweeping(store, sample_seconds=0).sweep()
    assert store.inspector.table("samples") == []
    first, second = sweeping(store, sample_seconds=1), sweeping(other, sample_seconds=1)
    first.sweep()
    second.sweep()
    [lease] = [row for row in store.inspector.table("sweep_leases") if row["queue"] == "samples"]

    assert len(store.inspector.table("samples")) == 1

    def again() -> bool:
        second.sweep()
        return len(store.inspector.table("samples")) > 1

    until(again, "the other one to take over, once the lease has ended")
    [taken] = [row for row in store.inspector.table("sweep_leases") if row["queue"] == "samples"]
    assert taken["holder"] != lease["holder"]
    database.close()
