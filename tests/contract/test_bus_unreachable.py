"""The error when there is no broker, or none that could be meant."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from tests.contract.brokers import an_ask

from turnwise.bus.broker import publisher, url
from turnwise.bus.broker.url import BrokerURL
from turnwise.bus.celery_bus import CeleryBus
from turnwise.bus.envelope import MAX_DOCUMENT_BYTES, parse_envelope, schema
from turnwise.bus.routing import queue_for, routing_key
from turnwise.bus.worker.celery_app import make_celery
from turnwise.errors import BrokerUnavailableError, ConfigurationError, InvalidRequestError


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that nobody listens on: bound, so that nobody else takes it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize(("scheme", "program"), [("amqp", "RabbitMQ"), ("redis", "Redis")])
def test_an_unreachable_broker_is_named_without_its_password(closed_port: int, scheme: str, program: str) -> None:
    bus = CeleryBus(f"{scheme}://someone:s3cret@127.0.0.1:{closed_port}/0")
    for attempt in (bus.check, lambda: bus.publish_ask(an_ask("llm")), lambda: bus.waiting("llm")):
        with pytest.raises(BrokerUnavailableError) as caught:
            attempt()
        text = str(caught.value)
        assert f"{scheme}://someone:***@127.0.0.1:{closed_port}/0" in text
        assert f"Start {program}" in text and "TURNWISE_BROKER_URL" in text
        assert "s3cret" not in text
    bus.close()


@pytest.mark.parametrize("scheme", ["amqp", "redis"])
def test_a_broker_that_hangs_is_waited_for_once_and_not_by_each_message(
    monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setattr(publisher, "_HANGS", 0.1)
    for module in (publisher, url):
        monkeypatch.setattr(module, "CONNECT_TIMEOUT", 0.5)
        monkeypatch.setattr(module, "ANSWER_TIMEOUT", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)
        bus = CeleryBus(f"{scheme}://127.0.0.1:{silent.getsockname()[1]}/0")
        with pytest.raises(BrokerUnavailableError):
            bus.wake("run_1")
        asked = len(_accepted(silent))
        for number in range(50):
            with pytest.raises(BrokerUnavailableError):
                bus.wake(f"run_{number}")

        assert asked > 0
        assert _accepted(silent) == []
        bus.close()


def _accepted(listening: socket.socket) -> list[socket.socket]:
    """The connections that have come since the last look."""
    found = []
    listening.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            found.append(listening.accept()[0])
    for one in found:
        one.close()
    return found


def test_a_broker_of_another_kind_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="begins with 'sqs'; expected amqp://"):
        CeleryBus("sqs://key:secret@")


def test_the_password_is_in_no_repr() -> None:
    assert "s3cret" not in repr(BrokerURL.parse("redis://:s3cret@host/1?ssl_cert_reqs=s3cret"))


def test_a_worker_on_rabbitmq_does_not_start_without_confirms() -> None:
    with pytest.raises(ConfigurationError, match="confirm_publish is off"):
        make_celery("x", "amqp://host//", ["llm"], transport_options={"confirm_publish": False})


def test_a_document_above_64_kb_is_left_out_of_the_envelope() -> None:
    assert an_ask("llm", document={"content": "x" * (MAX_DOCUMENT_BYTES - 20)}).document is not None
    assert an_ask("llm", document={"content": "x" * MAX_DOCUMENT_BYTES}).document is None


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "a list arrived"),
        ({"v": 2, "kind": "move", "run": "r"}, "version 2"),
        ({"v": 1, "kind": "mvoe", "run": "r"}, "mvoe"),
        ({"v": 1, "kind": "move"}, "run: Field required"),
        ({"v": 1, "kind": "move", "run": "r", "extra": 1}, "extra"),
        ({"v": 1, "kind": "run", "run": "r", "seq": "3"}, "seq: Input should be a valid integer"),
    ],
)
def test_what_is_no_envelope_is_refused_with_its_fault(data: object, said: str) -> None:
    with pytest.raises(InvalidRequestError, match=said):
        parse_envelope(data)


def test_the_schema_tells_the_envelopes_apart_by_kind() -> None:
    kinds = {"ask", "move", "run", "cancel", "watch", "watch.run", "watch.text", "llm.delta", "llm.deltas"}
    assert set(schema()["discriminator"]["mapping"]) == kinds


def test_an_agents_name_is_one_word_of_the_routing_key() -> None:
    assert routing_key("llm", "Doc.Agent v2~") == "llm.Doc%2EAgent%20v2%7E"


def test_an_agent_may_have_a_queue_of_its_own() -> None:
    assert queue_for("llm", "Writer", {"Writer": "big"}, {}) == "llm-big"
    assert queue_for("agent", "Writer", {"Writer": "big"}, {}) == "agent"
