"""The contract of every bus, the in-process one included."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from tests.contract.brokers import BusUnderTest, an_ask, broker, in_process, over_broker, until

from turnwise.bus.envelope import (
    AskEnvelope,
    CancelNotice,
    MoveEnvelope,
    Notice,
    RunNotice,
    TextNotice,
    TokenNotice,
    WatchNotice,
    Work,
)
from turnwise.bus.in_process import InProcessBus

KINDS = [
    "in-process",
    pytest.param("rabbitmq", marks=pytest.mark.rabbitmq),
    pytest.param("redis", marks=pytest.mark.redis),
]


@pytest.fixture(scope="module", params=KINDS)
def make_bus(request: pytest.FixtureRequest) -> Iterator[Callable[[], object]]:
    """Makes buses of one kind, all on the same broker."""
    if request.param == "in-process":
        yield in_process
        return
    with broker(request.param) as url:
        yield lambda: over_broker(url)


@pytest.fixture
def under_test(make_bus: Callable[[], object]) -> Iterator[BusUnderTest]:
    with make_bus() as made:  # type: ignore[attr-defined]  # either context manager
        yield made


def test_an_ask_reaches_exactly_one_of_the_consumers_of_its_queue(under_test: BusUnderTest) -> None:
    # given two consumers of one queue
    queue = under_test.queue("llm")
    first: list[Work] = []
    second: list[Work] = []
    stops = [under_test.consume(queue, first), under_test.consume(queue, second)]
    asks = [an_ask(queue) for _ in range(20)]
    # when
    for ask in asks:
        under_test.bus.publish_ask(ask)
    # then
    assert until(lambda: len(first) + len(second) >= len(asks))
    for stop in stops:
        stop()
    taken = [work.ask for work in first + second if isinstance(work, AskEnvelope)]
    assert sorted(taken) == sorted(ask.ask for ask in asks)


def test_an_ask_arrives_as_it_was_published(under_test: BusUnderTest) -> None:
    queue = under_test.queue("agent")
    ask = an_ask(queue, agent="Größe.v2", responder="agent", traceparent="00-ab-cd-01")
    taken: list[Work] = []
    stop = under_test.consume(queue, taken)
    under_test.bus.publish_ask(ask)
    assert until(lambda: bool(taken))
    stop()
    assert taken == [ask]


def test_an_ask_that_was_published_before_anybody_listened_is_kept(under_test: BusUnderTest) -> None:
    queue = under_test.queue("llm")
    ask = an_ask(queue)
    under_test.bus.publish_ask(ask)
    taken: list[Work] = []
    stop = under_test.consume(queue, taken)
    assert until(lambda: taken == [ask])
    stop()


def test_a_dedicated_queue_keeps_its_asks_from_the_common_one(under_test: BusUnderTest) -> None:
    # given a common queue, and one whose name begins with it
    common, dedicated = under_test.queue("llm"), under_test.queue("llm") + "-big"
    in_common: list[Work] = []
    in_dedicated: list[Work] = []
    stops = [under_test.consume(common, in_common), under_test.consume(dedicated, in_dedicated)]
    # when
    ordinary, big = an_ask(common), an_ask(dedicated)
    under_test.bus.publish_ask(big)
    under_test.bus.publish_ask(ordinary)
    # then
    assert until(lambda: bool(in_common and in_dedicated))
    for stop in stops:
        stop()
    assert (in_common, in_dedicated) == ([ordinary], [big])


@pytest.mark.parametrize("agent", ["Doc Agent", "a.b.c", "#", "*", "a/b%", "客服", "x" * 60])
def test_an_agent_may_have_any_name(under_test: BusUnderTest, agent: str) -> None:
    queue = under_test.queue("llm")
    taken: list[Work] = []
    stop = under_test.consume(queue, taken)
    ask = an_ask(queue, agent=agent)
    under_test.bus.publish_ask(ask)
    assert until(lambda: taken == [ask])
    stop()


def test_waking_a_run_puts_one_move_before_the_coordinators(under_test: BusUnderTest) -> None:
    taken: list[Work] = []
    stop = under_test.consume("coordinator", taken)
    under_test.bus.wake("run_7")
    assert until(lambda: bool(taken))
    stop()
    assert taken == [MoveEnvelope(run="run_7")]


def test_the_waiting_messages_of_a_queue_are_counted(under_test: BusUnderTest) -> None:
    # given
    queue = under_test.queue("llm")
    assert under_test.bus.waiting(queue) == 0
    # when
    for _ in range(3):
        under_test.bus.publish_ask(an_ask(queue))
    # then
    assert until(lambda: under_test.bus.waiting(queue) == 3)
    taken: list[Work] = []
    stop = under_test.consume(queue, taken)
    assert until(lambda: under_test.bus.waiting(queue) == 0)
    assert until(lambda: len(taken) == 3)
    stop()


def test_counting_a_queue_that_does_not_exist_leaves_the_bus_usable(under_test: BusUnderTest) -> None:
    assert under_test.bus.waiting(under_test.queue("nobody")) == 0
    queue = under_test.queue("llm")
    under_test.bus.publish_ask(an_ask(queue))
    assert until(lambda: under_test.bus.waiting(queue) == 1)


def test_a_notice_reaches_every_listener(under_test: BusUnderTest) -> None:
    # given
    heard: list[list[Notice]] = [[], [], []]
    subscriptions = [under_test.bus.listen(each.append) for each in heard]
    assert all(subscription.wait_ready(10) for subscription in subscriptions)
    # when
    notices: list[Notice] = [
        RunNotice(run="run_1", seq=3),
        CancelNotice(run="run_1"),
        TokenNotice(run="run_1", ask="ask_1", attempt=1, offset=0, text="Grüße"),
    ]
    for notice in notices:
        under_test.bus.notify(notice)
    # then
    assert until(lambda: all(len(each) == len(notices) for each in heard))
    assert heard == [notices, notices, notices]


def test_a_worker_hears_of_cancellations_and_watched_runs_and_nothing_else(under_test: BusUnderTest) -> None:
    heard: list[Notice] = []
    all_heard: list[Notice] = []
    assert under_test.bus.listen(heard.append, as_worker=True).wait_ready(10)
    assert under_test.bus.listen(all_heard.append).wait_ready(10)
    notices: list[Notice] = [RunNotice(run="run_1", seq=3), CancelNotice(run="run_1"), RunNotice(run="run_1", seq=4)]
    for notice in [*notices, CancelNotice(run="run_2"), (watch := WatchNotice(listener="l", runs=["r"], seconds=5))]:
        under_test.bus.notify(notice)
    assert until(lambda: len(heard) == 3 and len(all_heard) == 4)
    # Announcements may overtake what is not of the same kind.
    assert watch in heard
    assert [notice for notice in heard if notice != watch] == [
        CancelNotice(run="run_1"),
        CancelNotice(run="run_2"),
    ]


def test_in_one_process_workers_know_what_is_watched_when_they_have_been_told() -> None:
    heard: list[Notice] = []
    begun, go_on = threading.Event(), threading.Event()

    def hear(notice: Notice) -> None:
        if isinstance(notice, CancelNotice):
            begun.set()
            assert go_on.wait(60)  # the listener's thread is late
        heard.append(notice)

    bus = InProcessBus()
    bus.listen(hear, as_worker=True)
    bus.notify(CancelNotice(run="run_1"))
    assert begun.wait(60)
    bus.notify(watch := WatchNotice(listener="l", runs=["r"], seconds=5))
    seen = list(heard)
    go_on.set()
    bus.close()

    assert seen == [watch]


def test_text_reaches_the_listener_that_it_is_for_and_no_other(under_test: BusUnderTest) -> None:
    heard: list[list[Notice]] = [[], []]
    first, second = (under_test.bus.listen(each.append) for each in heard)
    assert first.wait_ready(10) and second.wait_ready(10)
    text = TextNotice(pieces=[TokenNotice(run="r", ask="a", attempt=1, offset=0, text="Grüße")])
    under_test.bus.tell(second.address, text)
    under_test.bus.notify(RunNotice(run="run_1", seq=1))
    assert until(lambda: len(heard[0]) == 1 and len(heard[1]) == 2)
    assert heard[0] == [RunNotice(run="run_1", seq=1)]
    assert text in heard[1]


def test_text_for_a_listener_that_is_gone_is_gone_as_well(under_test: BusUnderTest) -> None:
    gone, heard = under_test.bus.listen(lambda _: None), []  # type: ignore[var-annotated]
    other = under_test.bus.listen(heard.append)
    assert gone.wait_ready(10) and other.wait_ready(10)
    gone.close()
    text = TextNotice(pieces=[TokenNotice(run="r", ask="a", attempt=1, offset=0, text="x")])
    under_test.bus.tell(gone.address, text)
    under_test.bus.tell(other.address, text)
    assert until(lambda: heard == [text])


def test_a_notice_that_nobody_hears_is_gone(under_test: BusUnderTest) -> None:
    under_test.bus.notify(RunNotice(run="run_1", seq=1))
    heard: list[Notice] = []
    assert under_test.bus.listen(heard.append).wait_ready(10)
    under_test.bus.notify(RunNotice(run="run_1", seq=2))
    assert until(lambda: bool(heard))
    assert heard == [RunNotice(run="run_1", seq=2)]


def test_a_closed_listener_hears_nothing_more(under_test: BusUnderTest) -> None:
    closed: list[Notice] = []
    other: list[Notice] = []
    subscription = under_test.bus.listen(closed.append)
    assert subscription.wait_ready(10) and under_test.bus.listen(other.append).wait_ready(10)
    subscription.close()
    under_test.bus.notify(RunNotice(run="run_1", seq=1))
    assert until(lambda: bool(other))
    assert closed == []


def test_a_listener_that_fails_on_one_notice_hears_the_next(
    under_test: BusUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Notice] = []

    def fail_on_the_first(notice: Notice) -> None:
        heard.append(notice)
        if len(heard) == 1:
            raise ValueError("no")

    assert under_test.bus.listen(fail_on_the_first).wait_ready(10)
    under_test.bus.notify(RunNotice(run="run_1", seq=1))
    under_test.bus.notify(RunNotice(run="run_1", seq=2))
    assert until(lambda: len(heard) == 2)
    assert "A listener failed" in caplog.text


def test_many_threads_publish_at_once(under_test: BusUnderTest) -> None:
    # given more threads than a bus has connections
    queue = under_test.queue("llm")

    def publish() -> None:
        for _ in range(10):
            under_test.bus.publish_ask(an_ask(queue))

    threads = [threading.Thread(target=publish) for _ in range(12)]
    # when
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # then
    assert until(lambda: under_test.bus.waiting(queue) == 120)


def test_a_bus_that_can_be_reached_says_nothing(under_test: BusUnderTest) -> None:
    under_test.bus.check()
