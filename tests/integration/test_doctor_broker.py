"""The findings of `turnwise doctor` about the broker."""

# mypy: disable-error-code="no-untyped-call"
# kombu says that it is typed, but most of its signatures are bare.
from __future__ import annotations

from collections.abc import Iterator

import pytest
from kombu.connection import Connection
from tests.e2e.processes import free_port
from tests.support.brokers import BrokerMissing, fresh_rabbitmq, fresh_redis, permit
from tests.support.cli import terminal
from tests.support.doctor_parts import found, levels, store
from tests.support.services import missing
from tests.support.store_parts import new_run

from turnwise.bus.broker.topology import WORK_EXCHANGE, work_queue
from turnwise.bus.celery_bus import CeleryBus
from turnwise.bus.envelope import AskEnvelope
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT

__all__ = ["store", "terminal"]


@pytest.fixture
def rabbitmq(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A RabbitMQ with the queues as services declare them, and nobody who reads them."""
    try:
        with fresh_rabbitmq() as url:
            monkeypatch.setenv("TURNWISE_BROKER_URL", url)
            bus = CeleryBus(url)
            bus.wake("run")
            for queue in ("llm", "agent"):
                responder = "llm" if queue == "llm" else "agent"
                ask = AskEnvelope(run="r", ask="a", queue=queue, agent="x", responder=responder, task="", turn=1)  # type: ignore[arg-type]
                bus.publish_ask(ask)
            bus.close()
            yield url
    except BrokerMissing as error:
        missing(str(error))


@pytest.mark.rabbitmq
def test_each_queue_is_looked_at(store: Store, rabbitmq: str) -> None:
    with Connection(rabbitmq) as connection:
        channel = connection.channel()

        # as it is, without anybody who reads
        assert found("broker").level == "ok"
        assert (found("queue llm").level, found("queue llm").said) == ("warning", "no one reads it")

        # with somebody who does, and whom the record does not know
        channel.basic_consume("llm", callback=lambda message: None)
        told = found("queue llm")
        assert (told.level, told.said[:60]) == (
            "warning",
            "1 consumers read it, and the database knows 0 processes that",
        )
        assert "another installation" in told.mend

        # known
        store.process.register_worker(WorkerInfo(kind="responders", queues=("llm",), host="here", pid=2, version="2"))
        assert found("queue llm").said.endswith(", bound")
        assert found("queue llm").level == "ok"

        # no longer bound
        channel.queue_unbind("llm", WORK_EXCHANGE.name, "llm.#")
        told = found("queue llm")
        assert (told.level, told.said[:38]) == ("fault", "a message for it came back: it is not ")
        channel.queue_bind("llm", WORK_EXCHANGE.name, "llm.#")
        assert found("queue llm").level == "ok"

        # of another kind, then not there at all
        channel.queue_delete("agent")
        assert found("queue agent").level == "warning"
        assert "no such queue" in found("queue agent").said
        work_queue("agent", quorum=False)(channel).queue_declare()
        told = found("queue agent")
        assert told.level == "fault"
        assert "delete the queue" in told.mend

        # A coordinator's queue is tried with a move, for which there has to be a run.
        channel.queue_unbind("coordinator", WORK_EXCHANGE.name, "coordinator.#")
        assert found("queue coordinator").level == "warning"
        store.tenant(DEFAULT_TENANT).submit(new_run())
        assert found("queue coordinator").level == "fault"


@pytest.mark.rabbitmq
@pytest.mark.parametrize("lost", ["configure", "write"])
def test_a_permission_that_is_missing_is_named(store: Store, rabbitmq: str, lost: str) -> None:
    try:
        permit(rabbitmq, **{lost: "^$"})
    except BrokerMissing as error:
        missing(str(error))
    told = found("broker")
    assert (told.level, "rabbitmqctl set_permissions" in told.said + told.mend) == ("fault", True), told
    assert "does not let this user use its queues" in told.said


@pytest.mark.rabbitmq
def test_a_broker_that_does_not_answer_is_named_without_its_password(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found("broker").level == "note"
    monkeypatch.setenv("TURNWISE_BROKER_URL", f"amqp://guest:hidden@127.0.0.1:{free_port()}//")
    told = found("broker")
    assert told.level == "fault"
    assert "Start RabbitMQ" in told.said
    assert "hidden" not in told.said
    assert levels()["coordinator"] == "ok"


@pytest.mark.redis
def test_redis_tells_how_much_waits(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        with fresh_redis() as url:
            monkeypatch.setenv("TURNWISE_BROKER_URL", url)
            bus = CeleryBus(url)
            bus.wake("run")
            bus.close()
            assert found("queue coordinator").said == "a list, 1 messages wait"
            assert levels()["broker"] == levels()["queue llm"] == "ok"
    except BrokerMissing as error:
        missing(str(error))
