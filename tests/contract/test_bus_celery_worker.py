"""A real Celery worker understands what the bus publishes, and answers Celery's own commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tests.contract.brokers import an_ask, broker, until
from tests.contract.probes import Probe, ready_probe

from turnwise.bus.celery_bus import CeleryBus

KINDS = [
    pytest.param("rabbitmq", marks=pytest.mark.rabbitmq),
    pytest.param("redis", marks=pytest.mark.redis),
]


@pytest.fixture(scope="module", params=KINDS)
def probe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Probe]:
    with broker(request.param) as url, ready_probe(url, tmp_path_factory.mktemp("probe")) as started:
        yield started


def test_a_celery_worker_gets_the_envelopes_as_the_only_argument_of_its_tasks(probe: Probe) -> None:
    # given
    bus = CeleryBus(probe.url)
    ask, big = an_ask("llm", agent="Über.Agent", traceparent="00-1-2-01"), an_ask("llm-big")
    # when
    bus.publish_ask(ask)
    bus.publish_ask(big)
    bus.wake("run_9")
    # then
    assert until(lambda: len(probe.received()) == 3), probe.said()
    bus.close()
    expected = [
        ("turnwise.answer", ask.model_dump(mode="json", exclude_none=True)),
        ("turnwise.answer", big.model_dump(mode="json", exclude_none=True)),
        ("turnwise.move", {"v": 1, "kind": "move", "run": "run_9"}),
    ]
    received = [(line["task"], line["envelope"]) for line in probe.received()]
    assert sorted(received, key=str) == sorted(expected, key=str)
    assert {line["pid"] for line in probe.received()} == {probe.process.pid}


def test_an_ask_for_a_queue_that_the_worker_does_not_serve_stays_in_it(probe: Probe) -> None:
    bus = CeleryBus(probe.url)
    before = len(probe.received())
    bus.publish_ask(an_ask("agent", responder="agent"))
    assert until(lambda: bus.waiting("agent") == 1)
    assert len(probe.received()) == before
    bus.close()


def test_the_worker_answers_inspect_ping(probe: Probe) -> None:
    done = probe.celery("inspect", "ping", "--timeout", "20", "-d", "probe@turnwise")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "pong" in done.stdout


def test_a_worker_refuses_a_queue_that_the_installation_does_not_have(probe: Probe) -> None:
    done = probe.celery("worker", "-P", "solo", "-Q", "llm-tpyo")
    assert done.returncode != 0
    assert "llm-tpyo" in done.stdout + done.stderr


def test_the_worker_declares_no_delay_queues_and_talks_to_no_other(probe: Probe) -> None:
    assert "mingle" not in probe.said()
    assert "delay" not in probe.said().lower()


def test_a_worker_whose_broker_is_away_tries_to_reconnect_every_second(probe: Probe) -> None:
    # given
    bus = CeleryBus(probe.url)
    tries = re.compile(r"Trying again in (\S+) second")
    # when
    probe.proxy.refuse()
    assert until(lambda: len(tries.findall(probe.said())) >= 3, 30), probe.said()
    probe.proxy.heal()
    bus.wake("run_after")
    # then
    assert until(lambda: "run_after" in str(probe.received()), 30), probe.said()
    assert all(float(pause) <= 1.0 for pause in tries.findall(probe.said()))
    bus.close()


def test_a_worker_that_has_taken_more_than_it_works_on_survives_the_loss_of_its_broker(probe: Probe) -> None:
    # given
    bus = CeleryBus(probe.url)
    hold = probe.file.with_name("hold")
    hold.touch()
    for _ in range(12):  # four are worked on, the next four are taken
        bus.publish_ask(an_ask("llm"))
    assert until(lambda: bus.waiting("llm") <= 4), probe.said()
    lost = probe.said().count("Connection to broker lost")
    # when
    probe.proxy.refuse()
    assert until(lambda: probe.said().count("Connection to broker lost") > lost, 30), probe.said()
    hold.unlink()
    probe.proxy.heal()
    bus.wake("run_survived")
    # then
    assert until(lambda: "run_survived" in str(probe.received()), 30), probe.said()
    assert probe.received()[-1]["pid"] == probe.process.pid
    assert "Unrecoverable" not in probe.said()
    bus.close()
