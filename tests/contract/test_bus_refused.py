"""Messages that RabbitMQ refuses to write down: a queue without a leader does so, and one at its limit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from tests.contract.brokers import an_ask, broker, until
from tests.support.brokers import BrokerMissing, full_queues

from turnwise.bus.broker import checkup, publisher
from turnwise.bus.broker.url import TLSFiles
from turnwise.bus.celery_bus import CeleryBus
from turnwise.bus.envelope import MoveEnvelope
from turnwise.bus.signing import NO_KEYS
from turnwise.errors import BrokerUnavailableError

pytestmark = pytest.mark.rabbitmq


@pytest.fixture
def url() -> Iterator[str]:
    with broker("rabbitmq") as found:
        yield found


@pytest.fixture
def take_all_again(url: str, bus: CeleryBus, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """The queue `llm` is full; the function ends that."""
    try:
        limited = full_queues(url)
        again = limited.__enter__()
    except BrokerMissing as error:
        pytest.skip(str(error))
    with monkeypatch.context() as meanwhile, pytest.raises(BrokerUnavailableError):
        meanwhile.setattr(publisher, "_REST", 0.0)
        _publish_on(bus)
    yield again
    limited.__exit__(None, None, None)


def _publish_on(bus: CeleryBus) -> None:
    """Publish until it fails: the broker sets a policy for a queue in its own time."""
    for _ in range(1000):
        bus.publish_ask(an_ask("llm"))


@pytest.fixture
def bus(url: str) -> Iterator[CeleryBus]:
    bus = CeleryBus(url)
    yield bus
    bus.close()


def test_a_message_that_the_broker_refuses_is_an_error_that_says_so(
    bus: CeleryBus, take_all_again: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "_REST", 0.0)
    with pytest.raises(BrokerUnavailableError, match=r"refuses the message .*Its log says why"):
        bus.publish_ask(an_ask("llm"))
    waiting = bus.waiting("llm")
    take_all_again()
    assert until(lambda: _publishes(bus))
    assert bus.waiting("llm") == waiting + 1


def _publishes(bus: CeleryBus) -> bool:
    try:
        bus.publish_ask(an_ask("llm"))
    except BrokerUnavailableError:
        return False
    return True


def test_a_message_that_the_broker_refuses_for_a_moment_is_published(
    bus: CeleryBus, take_all_again: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "_REFUSED_WAITS", (0.05,) * 400)
    waiting = bus.waiting("llm")
    failed: list[BaseException] = []

    def publish() -> None:
        try:
            bus.publish_ask(an_ask("llm"))
        except BrokerUnavailableError as error:
            failed.append(error)

    thread = threading.Thread(target=publish)
    thread.start()
    take_all_again()
    thread.join()
    assert not failed
    assert bus.waiting("llm") == waiting + 1


def test_a_queue_that_refuses_is_left_alone_for_a_while_and_others_are_not(
    bus: CeleryBus, take_all_again: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "_REST", 3600.0)
    with pytest.raises(BrokerUnavailableError):
        _publish_on(bus)
    take_all_again()
    with pytest.raises(BrokerUnavailableError, match="refuses the message"):
        bus.publish_ask(an_ask("llm"))
    bus.publish_ask(an_ask("agent"))
    assert bus.waiting("agent") == 1


@pytest.mark.usefixtures("take_all_again")
def test_the_check_of_queues_says_that_one_refuses_messages(url: str) -> None:
    with pytest.raises(BrokerUnavailableError, match="refuses the message"):
        checkup.look(url, TLSFiles(), NO_KEYS, {"llm": MoveEnvelope(run="run_1")})
