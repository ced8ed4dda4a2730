"""The names of the metrics, the gauges read from the record, and the port of services without another one."""

from __future__ import annotations

import http.client
import socket
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from decimal import Decimal

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from tests.e2e.waiting import until

from turnwise.errors import AddressInUseError, DatabaseUnavailableError
from turnwise.processes.metrics import Metrics, RecordCollector, serve_metrics
from turnwise.record.asks.pauses import PauseRecord
from turnwise.record.asks.worker_records import QueueStat, WorkerRecord
from turnwise.record.budgets.budget_gauges import BudgetLevels
from turnwise.record.upkeep.ages import OldestLease
from turnwise.record.upkeep.gauges import Backlog


def worker(name: str, state: str, *queues: str) -> WorkerRecord:
    return WorkerRecord(
        id=name,
        kind="llm",
        queues=list(queues),
        host="here",
        pid=1,
        version="1",
        state=state,
        lease_until=0,
        started_at=0,
        beat_at=0,
    )


@dataclass
class Record:
    """A record of fixed contents that counts how often it is read."""

    reads: int = 0
    broken: bool = False
    counts: dict[str, int] = field(default_factory=lambda: {"running": 2})

    def active_runs(self) -> dict[str, int]:
        self.reads += 1
        if self.broken:
            raise DatabaseUnavailableError("gone")
        return self.counts

    def queue_stats(self) -> list[QueueStat]:
        return [QueueStat(queue="llm", runnable=3, leased=2, delayed=1, oldest_age=1.5, paused=4)]

    def oldest_leases(self) -> list[OldestLease]:
        return [OldestLease("llm", "desk", "Desk", 900)]

    def workers(self) -> list[WorkerRecord]:
        return [worker("a", "alive", "llm"), worker("b", "alive", "llm", "agent"), worker("c", "dead", "llm")]

    def waiting_runs(self) -> dict[str, int]:
        return {"human": 3, "provider": 1}

    def due_move_line(self) -> Backlog:
        return Backlog(length=2, oldest_age=0.5)

    def question_line(self) -> Backlog:
        return Backlog(length=3, oldest_age=60)

    def webhook_lines(self) -> dict[str, Backlog]:
        return {"pending": Backlog(length=3, oldest_age=7.0), "parked": Backlog(length=1)}

    def parked_line(self) -> Backlog:
        return Backlog(length=1, oldest_age=90)

    def pauses(self) -> list[PauseRecord]:
        return [PauseRecord(kind="queue", name="llm", since=1.0, paused_by="key:1", reason=None)]

    def budget_levels(self) -> BudgetLevels:
        return BudgetLevels(reserved=Decimal("0.25"), remaining={"run": 0.5, "tenant_day": 0.0})


def test_the_gauges_show_what_the_record_holds_and_unfinished_runs_only() -> None:
    registry = CollectorRegistry()
    registry.register(RecordCollector(Record()))

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"turnwise_{name}", labels)

    assert value("runs_active", status="running") == 2
    assert value("runs_active", status="queued") == 0
    assert value("runs_active", status="completed") is None
    assert [value("queue_depth", queue="llm", state=state) for state in ("runnable", "leased", "delayed")] == [3, 2, 1]
    assert (value("backlog", queue="llm"), value("queue_oldest_age_seconds", queue="llm")) == (5, 1.5)
    assert value("queue_depth", queue="llm", state="paused") == 4
    assert [value("paused", kind=kind) for kind in ("queue", "task", "tenant")] == [1, 0, 0]
    assert [value("runs_waiting", kind=kind) for kind in ("human", "provider", "budget")] == [3, 1, 0]
    assert (value("moves_due"), value("moves_oldest_age_seconds")) == (2, 0.5)
    assert value("lease_oldest_age_seconds", queue="llm", task="desk", agent="Desk") == 900
    assert value("workers", queue="llm", state="alive") == 2
    assert value("workers", queue="llm", state="dead") == 1
    assert (value("human_inbox_open"), value("human_inbox_parked")) == (4, 1)
    assert value("human_inbox_oldest_age_seconds") == 90
    assert value("budget_reserved_usd") == 0.25
    assert value("budget_remaining_ratio", scope="run") == 0.5
    assert value("budget_remaining_ratio", scope="tenant_day") == 0.0
    assert value("budget_remaining_ratio", scope="session") is None


def test_an_empty_queue_that_nobody_serves_has_its_gauges_at_zero() -> None:
    registry = CollectorRegistry()
    registry.register(RecordCollector(Record(), queues=("coordinator", "llm", "llm-vision")))

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"turnwise_{name}", labels)

    assert (value("backlog", queue="llm-vision"), value("queue_oldest_age_seconds", queue="llm-vision")) == (0, 0)
    assert [value("workers", queue=queue, state="alive") for queue in ("llm-vision", "coordinator")] == [0, 0]
    # Not in the settings of this process, but somebody serves it.
    assert value("backlog", queue="agent") == 0
    assert value("backlog", queue="coordinator") is None


def test_what_may_go_wrong_is_counted_from_zero() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    metrics.expect_tasks(["desk"])
    metrics.expect_model("big")
    metrics.expect_tool("search")

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"turnwise_{name}", labels)

    assert value("runs_total", task="desk", status="failed") == 0
    assert value("budget_limit_reached_total", limit="cost") == 0
    assert value("asks_total", responder="agent", outcome="parked") == 0
    assert value("llm_calls_total", model="big", outcome="timeout") == 0
    assert value("llm_unpriced_calls_total", model="big") == 0
    assert value("tool_calls_total", tool="search", outcome="error") == 0


def test_the_record_is_read_once_for_scrapes_that_follow_each_other() -> None:
    now = [0.0]
    record = Record()
    collector = RecordCollector(record, max_age=2, clock=lambda: now[0])

    for at in (0, 1, 1.9, 2, 3):
        now[0] = at
        list(collector.collect())

    assert record.reads == 2


def test_a_scrape_without_a_database_still_has_what_the_process_counted() -> None:
    registry = CollectorRegistry()
    Metrics(registry).turns_total.labels("desk", "taken").inc()
    registry.register(RecordCollector(Record(broken=True)))

    scraped = generate_latest(registry).decode()

    assert 'turnwise_turns_total{outcome="taken",task="desk"} 1.0' in scraped
    assert "turnwise_runs_active" not in scraped


def test_a_service_without_another_port_serves_metrics_and_probes() -> None:
    registry = CollectorRegistry()
    Metrics(registry)
    health = [(True, "fine"), (False, "the database is away")]
    server = serve_metrics(registry, "127.0.0.1", 0, lambda: health.pop(0))
    try:

        def get(path: str) -> tuple[int, str]:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=10) as response:
                    return response.status, response.read().decode()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read().decode()

        scraped = get("/metrics")
        assert (scraped[0], "turnwise_build_info" in scraped[1]) == (200, True)
        assert get("/health/live")[0] == 200
        assert get("/health/ready") == (200, "fine\n")
        assert get("/health/ready") == (503, "the database is away\n")
        assert get("/elsewhere")[0] == 404
        with pytest.raises(AddressInUseError, match="TURNWISE_METRICS_BIND"):
            serve_metrics(registry, "127.0.0.1", server.port, lambda: (True, ""))
    finally:
        server.close()


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as made:
            made.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not _has_ipv6(), reason="this machine has no address of IPv6")
def test_metrics_are_served_at_an_address_of_ipv6() -> None:
    server = serve_metrics(CollectorRegistry(), "::1", 0, lambda: (True, "fine"))
    try:
        with urllib.request.urlopen(f"http://[::1]:{server.port}/health/ready", timeout=10) as response:
            assert response.read() == b"fine\n"
        with pytest.raises(AddressInUseError, match="TURNWISE_METRICS_BIND"):
            serve_metrics(CollectorRegistry(), "::1", server.port, lambda: (True, ""))
    finally:
        server.close()


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "text/plain; version=0.0.4"),
        ("text/plain;version=x", "text/plain; version=0.0.4"),
        ("application/openmetrics-text;version=1.x", "text/plain; version=0.0.4"),
        ("application/openmetrics-text;version=1.0.0", "application/openmetrics-text; version=1.0.0"),
    ],
)
def test_metrics_come_in_the_format_that_is_asked_for_or_in_the_plain_one(accept: str, kind: str) -> None:
    registry = CollectorRegistry()
    Metrics(registry)
    server = serve_metrics(registry, "127.0.0.1", 0, lambda: (True, ""))
    try:
        asked = urllib.request.Request(f"http://127.0.0.1:{server.port}/metrics", headers={"Accept": accept})
        with urllib.request.urlopen(asked, timeout=10) as response:
            found = response.headers["Content-Type"], response.read().decode()
    finally:
        server.close()

    assert found[0].startswith(kind)
    assert "turnwise_build_info" in found[1]


def test_what_a_request_for_metrics_meets_is_logged_unless_who_asked_has_gone(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    errors: list[Exception] = [ConnectionResetError("gone"), LookupError("broken")]

    def health() -> tuple[bool, str]:
        raise errors.pop(0)

    server = serve_metrics(CollectorRegistry(), "127.0.0.1", 0, health)
    try:
        for _ in range(2):
            with pytest.raises(http.client.RemoteDisconnected):
                urllib.request.urlopen(f"http://127.0.0.1:{server.port}/health/ready", timeout=10)
    finally:
        server.close()
    until(lambda: bool(caplog.records), "the line is logged")

    (told,) = caplog.records
    assert (told.action, "LookupError: broken" in (caplog.text)) == ("metrics_failed", True)  # type: ignore[attr-defined]
    assert capsys.readouterr().err == ""
