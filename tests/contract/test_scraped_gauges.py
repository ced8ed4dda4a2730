"""Scrapes while the database does not answer."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from turnwise.processes.metrics import Metrics, scraped, watch_record
from turnwise.record.database.database import Database
from turnwise.record.store import Store


@pytest.mark.postgres
def test_a_database_that_hangs_takes_its_own_gauges_alone_from_a_scrape(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database(postgres_url)
    registry = CollectorRegistry()
    Metrics(registry)
    watch_record(registry, Store(database).monitor, ())

    with ThreadPoolExecutor() as scrapes:

        def scrape() -> str:
            return scrapes.submit(generate_latest, registry).result(timeout=30).decode()

        with psycopg.connect(postgres_url) as other:
            other.execute("LOCK TABLE runs IN ACCESS EXCLUSIVE MODE")
            monkeypatch.setattr(scraped, "PATIENCE", 0.01)
            first = scrape()
            readers = _readers()
            monkeypatch.setattr(scraped, "PATIENCE", 3_600.0)
            second = scrape()  # which waits for nothing that is late already
            again = _readers()
        _wait_for(readers)
        third = scrape()
        _wait_for(_readers())

    assert ["turnwise_build_info{" in page for page in (first, second, third)] == [True] * 3
    assert ["turnwise_runs_active{" in page for page in (first, second, third)] == [False, False, True]
    assert len(readers) == 2  # one for each collector
    assert again == readers
    assert all(reader.daemon for reader in readers)
    assert [getattr(record, "action", None) for record in caplog.records].count("gauges_left_out") == 2
    database.close()


def _wait_for(readers: list[threading.Thread]) -> None:
    for reader in readers:
        reader.join(timeout=30)
        assert not reader.is_alive()


def _readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "turnwise-gauges"]
