"""A listener keeps its connection, whatever arrives, and however slow its callback is."""

from __future__ import annotations

import threading
import time

import pytest
from tests.contract.brokers import broker, until
from tests.support.tcp_proxy import TcpProxy, address_in

from turnwise.bus.celery_bus import CeleryBus
from turnwise.bus.envelope import Notice, RunNotice
from turnwise.bus.worker.celery_app import make_celery
from turnwise.bus.worker.process import WorkerProcess

HEARTBEAT = 1
# Seconds of traffic: the broker cuts a connection without heartbeats twice meanwhile.
TRAFFIC = 6


@pytest.mark.rabbitmq
@pytest.mark.timeout(60)
def test_steady_traffic_costs_no_connection_and_no_notice(caplog: pytest.LogCaptureFixture) -> None:
    # given a broker that cuts a connection which was silent for two heartbeats
    with broker("rabbitmq") as url:
        bus = CeleryBus(url, heartbeat=HEARTBEAT)
        heard: list[int] = []
        subscription = bus.listen(lambda notice: heard.append(notice.seq))  # type: ignore[union-attr]
        assert subscription.wait_ready(10)
        # when something arrives all the time, so that no wait for a message ever ends in vain
        end, sent = time.monotonic() + TRAFFIC, 0
        pause = threading.Event()
        while time.monotonic() < end:
            bus.notify(RunNotice(run="run_1", seq=sent))
            sent += 1
            pause.wait(0.02)
        # then
        assert until(lambda: len(heard) == sent), f"{sent} sent, {len(heard)} heard: {caplog.text}"
        assert heard == list(range(sent))
        assert "Notices are not heard" not in caplog.text
        bus.close()


@pytest.mark.rabbitmq
@pytest.mark.timeout(60)
def test_a_callback_that_takes_longer_than_the_heartbeats_costs_no_connection(caplog: pytest.LogCaptureFixture) -> None:
    with broker("rabbitmq") as url:
        bus = CeleryBus(url, heartbeat=1)
        heard: list[Notice] = []

        def slow(notice: Notice) -> None:
            threading.Event().wait(5 if not heard else 0)
            heard.append(notice)

        assert bus.listen(slow).wait_ready(10)
        notices = [RunNotice(run="run_1", seq=number) for number in range(3)]
        for notice in notices:
            bus.notify(notice)
        assert until(lambda: heard == notices, 20)
        assert "Notices are not heard" not in caplog.text
        bus.close()


@pytest.mark.timeout(90)
@pytest.mark.parametrize(
    "kind", [pytest.param("rabbitmq", marks=pytest.mark.rabbitmq), pytest.param("redis", marks=pytest.mark.redis)]
)
def test_a_listener_whose_connection_swallows_everything_connects_again(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwise.bus.broker.url.ANSWER_TIMEOUT", 2.0)  # what Redis is given, which has no heartbeats
    with broker(kind) as url, TcpProxy(address_in(url)) as proxy:
        listening, sending = CeleryBus(proxy.url(url), heartbeat=1), CeleryBus(url)
        heard: list[Notice] = []
        assert listening.listen(heard.append).wait_ready(10)
        proxy.carry_new()

        def heard_again() -> bool:
            sending.notify(RunNotice(run="run_1", seq=2))
            return bool(heard)

        assert until(heard_again, 60)
        listening.close()
        sending.close()


@pytest.mark.parametrize(("pool", "expected"), [("solo", 0), ("threads", 7), ("prefork", 7)])
def test_workers_send_heartbeats_unless_the_work_would_hold_them_up(pool: str, expected: int) -> None:
    app = make_celery("x", "amqp://host//", ["llm"], heartbeat=7)
    process: WorkerProcess[None] = WorkerProcess(app, lambda _queues: None, lambda _held: None)
    process._check({"pool_cls": pool}, app.conf)
    assert app.conf.broker_heartbeat == expected
