"""The text of answers travels only while somebody watches, in few messages, whole and in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from turnwise.bus.envelope import MAX_MESSAGE_BYTES, Notice, TextNotice, TokenNotice, WatchNotice
from turnwise.bus.in_process import InProcessBus
from turnwise.errors import BrokerUnavailableError
from turnwise.testing.simulator.actors import Host, Schedule
from turnwise.testing.simulator.process_clock import ProcessClock
from turnwise_responders.streaming import Streaming
from turnwise_responders.watched_runs import WatchedRuns

# Seconds between two tokens of an answer.
_TOKEN = 0.02


class CountingBus(InProcessBus):
    """Keeps what it is to tell to whom."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, TextNotice]] = []
        self.away = False

    def tell(self, listener: str, notice: Notice) -> None:
        if self.away:
            raise BrokerUnavailableError("away")
        assert isinstance(notice, TextNotice)
        self.told.append((listener, notice))

    def pieces(self, listener: str = "g1", run: str = "run_1") -> list[TokenNotice]:
        told = [piece for to, notice in self.told if to == listener for piece in notice.pieces]
        return [piece for piece in told if piece.run == run]


class Worker:
    """One process that streams, in simulated time."""

    def __init__(self, schedule: Schedule) -> None:
        self.clock = ProcessClock(schedule, Host("worker"))
        self.bus = CountingBus()
        self.watched = WatchedRuns(self.clock)
        self.streaming = Streaming(self.bus, self.watched, self.clock)
        self.streaming.start()

    def watch(self, *runs: str, listener: str = "g1", seconds: float = 60.0) -> None:
        self.watched.heard(WatchNotice(listener=listener, runs=list(runs), seconds=seconds))

    def write(self, run: str, tokens: list[str]) -> None:
        with self.streaming.answer(_claim(run)) as text:
            for token in tokens:
                text(token)
                self.clock.sleep(_TOKEN)


def _claim(run: str) -> Any:
    return SimpleNamespace(
        run=SimpleNamespace(id=run), ask=SimpleNamespace(id=f"ask of {run}", attempts=1, deferrals=0)
    )


@pytest.fixture
def worker() -> Iterator[Worker]:
    schedule = Schedule(Random(1))
    with schedule.directed():
        yield Worker(schedule)
    assert schedule.failures == []


def _whole(pieces: list[TokenNotice], begin: int = 0) -> str:
    """The text of the pieces, each of which begins where the one before it ended."""
    text = ""
    for piece in pieces:
        assert piece.offset == begin + len(text)
        text += piece.text
    return text


def test_an_unwatched_answer_costs_no_message(worker: Worker) -> None:
    worker.watch("run_other")
    worker.write("run_1", ["word "] * 200)
    assert worker.bus.told == []


def test_a_watched_answer_costs_at_most_twenty_messages_a_second(worker: Worker) -> None:
    tokens = [f"{n} " for n in range(200)]
    worker.watch("run_1")
    worker.write("run_1", tokens)
    assert _whole(worker.bus.pieces()) == "".join(tokens)
    # Four seconds, and the tail.
    assert 10 < len(worker.bus.told) <= 81


def test_the_tail_is_sent_when_the_answer_ends(worker: Worker) -> None:
    worker.watch("run_1")
    with worker.streaming.answer(_claim("run_1")) as text:
        text("Hel")
        text("lo")
        assert worker.bus.told == []
    assert _whole(worker.bus.pieces()) == "Hello"


def test_a_lot_of_text_does_not_wait(worker: Worker) -> None:
    worker.watch("run_1")
    with worker.streaming.answer(_claim("run_1")) as text:
        text("x" * 2_000)
        worker.clock.sleep(0.02)
        assert _whole(worker.bus.pieces()) == "x" * 2_000


def test_who_comes_in_the_middle_gets_the_rest_with_its_place(worker: Worker) -> None:
    with worker.streaming.answer(_claim("run_1")) as text:
        text("unseen")
        worker.watch("run_1")
        text(" seen")
    assert _whole(worker.bus.pieces(), begin=6) == " seen"


def test_a_watch_that_is_not_repeated_expires(worker: Worker) -> None:
    worker.watch("run_1", seconds=7)
    with worker.streaming.answer(_claim("run_1")) as text:
        text("watched")
        worker.clock.sleep(8)
        text(" by nobody")
        worker.watch("run_1", seconds=7)
        text(" again")
    first, last = worker.bus.pieces()
    assert (first.text, last.text, last.offset) == ("watched", " again", len("watched by nobody"))


def test_only_the_listeners_that_watch_a_run_get_its_text(worker: Worker) -> None:
    worker.watch("run_1", listener="g1")
    worker.watch("run_2", listener="g2")
    worker.write("run_1", ["one"])
    worker.write("run_2", ["two"])
    worker.write("run_3", ["three"])
    assert [(to, [piece.text for piece in notice.pieces]) for to, notice in worker.bus.told] == [
        ("g1", ["one"]),
        ("g2", ["two"]),
    ]


def test_a_thousand_streams_share_their_messages(worker: Worker) -> None:
    runs = [f"run_{n}" for n in range(1_000)]
    worker.watch(*runs)
    begun = worker.clock.monotonic()
    with ExitStack() as answers:
        texts = [answers.enter_context(worker.streaming.answer(_claim(run))) for run in runs]
        for n in range(50):
            for text in texts:
                text(f"{n} ")
            worker.clock.sleep(_TOKEN)
        worker.clock.sleep(0.1)
        seconds = worker.clock.monotonic() - begun
        assert len(worker.bus.told) <= 40 * seconds
    assert all(len(notice.model_dump_json()) < MAX_MESSAGE_BYTES for _, notice in worker.bus.told)
    expected = "".join(f"{n} " for n in range(50))
    for run in runs[::97]:
        assert _whole(worker.bus.pieces(run=run)) == expected


def test_a_very_long_piece_is_cut_to_what_a_message_may_have(worker: Worker) -> None:
    worker.watch("run_1")
    worker.write("run_1", ["\0" * 100_000])
    assert _whole(worker.bus.pieces()) == "\0" * 100_000
    assert all(len(notice.model_dump_json()) < MAX_MESSAGE_BYTES for _, notice in worker.bus.told)


def test_text_that_no_json_can_carry_does_not_cost_the_answer(worker: Worker) -> None:
    worker.watch("run_1")
    worker.write("run_1", ["half \ud83d", " of a pair"])
    assert _whole(worker.bus.pieces()) == "half ? of a pair"


def test_a_broker_that_is_away_loses_text_and_holds_nothing_up(worker: Worker) -> None:
    worker.watch("run_1")
    worker.bus.away = True
    worker.write("run_1", ["lost "] * 10)
    worker.bus.away = False
    worker.clock.sleep(3)
    worker.write("run_1", ["there again"])
    assert _whole(worker.bus.pieces()) == "there again"
