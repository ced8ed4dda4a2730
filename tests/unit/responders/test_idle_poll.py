"""A worker looks for itself: in silence for whatever waits, else for what a message should have told of by now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.databases import fresh_sqlite
from tests.support.store_parts import asked_run, new_worker

from turnwise.base.clock import SystemClock, Thread
from turnwise.bus.in_process import InProcessBus
from turnwise.errors import DatabaseUnavailableError
from turnwise.record.store import Store
from turnwise.serving.bus_watch import BusWatch
from turnwise_responders.idle_poll import IdlePoll

SECONDS = 5.0


class Done:
    """A thread that has ended."""

    def join(self, timeout: float | None = None) -> None:
        pass

    def is_alive(self) -> bool:
        return False


class Hands(SystemClock):
    """A clock that a test moves, for processes and for the database; what is started is done at once."""

    now = 1_000.0

    def monotonic(self) -> float:
        return self.now

    def start(self, name: str, work: Callable[[], None]) -> Thread:
        work()
        return Done()


class Worker:
    """It has two slots, `busy` of which are taken. It claims what its poll tells it to, and answers nothing."""

    def __init__(self, store: Store, clock: Hands) -> None:
        self.busy = 0
        self.served: list[str] = []
        self.fault: Exception | None = None
        self.clock, self.hearing = clock, BusWatch(clock, SECONDS)
        self._store, self._id = store, new_worker(store, "llm")
        parts = (store.worker, InProcessBus(), self.hearing)
        self.paused: set[str] = set()
        told = (self._serve, lambda: self.busy, lambda deaf: None)
        self.poll = IdlePoll(*parts, *told, queues=["llm"], slots=2, paused=self.paused.__contains__)

    def look(self, *, after: float = 0.0, busy: int = 0, heard: bool = True) -> list[str]:
        """Return what has been claimed after one more look."""
        self.clock.now += after
        if heard:
            self.hearing.heard()
        self.busy = busy
        self.poll.look()
        return self.served

    def _serve(self, queue: str) -> bool:
        if self.fault is not None:
            raise self.fault
        claim = self._store.worker.claim(queue, self._id)
        if claim is not None:
            self.served.append(claim.ask.run_id)
        return claim is not None


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def store(tmp_path: Path, clock: Hands) -> Iterator[Store]:
    database = fresh_sqlite(tmp_path / "turnwise.db", clock.monotonic)
    yield Store(database, lease_seconds=1_000, clock=clock)
    database.close()


@pytest.fixture
def worker(store: Store, clock: Hands) -> Worker:
    return Worker(store, clock)


def test_an_ask_whose_message_was_lost_is_found_while_others_come(store: Store, worker: Worker) -> None:
    run = asked_run(store, "llm")

    assert worker.look(after=SECONDS - 1) == []
    assert worker.look(after=1) == [run.id]


def test_a_paused_queue_is_left_alone_and_is_no_sign_of_deafness(store: Store, worker: Worker) -> None:
    run = asked_run(store, "llm")
    worker.paused.add("llm")
    for _ in range(20):
        assert worker.look(after=SECONDS, heard=False) == []
    assert worker.hearing.deaf_for() is None

    worker.paused.clear()
    assert worker.look(after=1, heard=False) == [run.id]
    assert worker.hearing.deaf_for() is None


def test_room_between_two_messages_is_none(store: Store, worker: Worker) -> None:
    asked_run(store, "llm")

    assert worker.look(after=SECONDS, busy=2) == []
    assert worker.look(busy=1) == []  # perhaps only for a moment
    assert worker.look(busy=2) == []
    assert worker.look(busy=1) == []
    assert len(worker.look(busy=1)) == 1


def test_while_messages_come_one_ask_is_taken_for_each_slot_that_is_free(store: Store, worker: Worker) -> None:
    for _ in range(5):
        asked_run(store, "llm")

    worker.look()
    assert len(worker.look(after=SECONDS)) == 2
    assert len(worker.look(busy=1)) == 3


def test_in_silence_all_are_taken(store: Store, worker: Worker) -> None:
    runs = [asked_run(store, "llm").id for _ in range(5)]

    assert sorted(worker.look(after=SECONDS, heard=False)) == sorted(runs)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (DatabaseUnavailableError("the database does not answer"), ("poll_failed", "WARNING", False)),
        (RuntimeError("a bug"), ("poll_crashed", "ERROR", True)),
    ],
)
def test_an_outage_while_work_is_taken_up_is_no_crash(
    store: Store, worker: Worker, fault: Exception, told: tuple[str, str, bool], caplog: pytest.LogCaptureFixture
) -> None:
    asked_run(store, "llm")
    worker.fault = fault

    worker.look(after=SECONDS, heard=False)

    assert [(record.action, record.levelname, bool(record.exc_info)) for record in caplog.records] == [told]  # type: ignore[attr-defined]
