"""One reading for the scrapes that come together, and what becomes of one that fails or comes late."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from prometheus_client import CollectorRegistry

from turnwise.errors import UnwritableError
from turnwise.processes.metrics import scraped
from turnwise.processes.metrics.scraped import MetricsPage, ScrapedGauges

Scrape = Callable[[], float | None]


class Source:
    """A source that counts its readings; each waits until `gate` is open, and raises `error` if there is one."""

    def __init__(self) -> None:
        self.reads = 0
        self.readers: queue.Queue[threading.Thread] = queue.Queue()
        self.gate = threading.Event()
        self.error: Exception | None = None

    def read(self, page: MetricsPage) -> None:
        self.reads += 1
        self.readers.put(threading.current_thread())
        self.gate.wait()
        if self.error:
            raise self.error
        page.add("readings", self.reads)


@pytest.fixture
def source() -> Iterator[Source]:
    """A source whose readings end with the test at the latest."""
    made = Source()
    yield made
    made.gate.set()


@pytest.fixture
def scrape(source: Source) -> Scrape:
    """Scrapes the number of readings, of which one is good for an hour."""
    registry = CollectorRegistry()
    registry.register(ScrapedGauges([("readings", "So many.", ())], source.read, 3_600.0))
    return lambda: registry.get_sample_value("turnwise_readings")


def test_scrapes_that_come_together_share_a_reading(source: Source, scrape: Scrape) -> None:
    with ThreadPoolExecutor() as scrapes:
        under_way = [scrapes.submit(scrape) for _ in range(4)]
        source.gate.set()
        found = [one.result() for one in under_way]

    assert found == [1.0] * 4


def test_a_database_that_refuses_takes_its_own_gauges_alone_from_a_scrape(
    source: Source, scrape: Scrape, caplog: pytest.LogCaptureFixture
) -> None:
    source.gate.set()
    source.error = UnwritableError("it cannot keep this")

    assert scrape() is None
    assert [getattr(record, "action", None) for record in caplog.records] == ["gauges_left_out"]


def test_an_error_that_no_database_is_to_blame_for_is_raised_and_the_next_scrape_reads_again(
    source: Source, scrape: Scrape
) -> None:
    source.gate.set()
    source.error = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        scrape()
    source.error = None

    assert scrape() == 2


def test_what_comes_late_is_not_shown(source: Source, scrape: Scrape, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scraped, "PATIENCE", 0.0)
    late = [scrape(), scrape()]
    monkeypatch.undo()
    source.gate.set()
    source.readers.get(timeout=30).join()

    assert late == [None, None]
    assert scrape() == 2
