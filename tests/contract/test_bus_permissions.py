"""A worker whose user may no longer do in RabbitMQ what it needs: it waits until it may, and says what is missing."""

# mypy: disable-error-code="no-untyped-call"
# kombu says that it is typed, but most of its signatures are bare.
from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from kombu.connection import Connection
from tests.contract.brokers import an_ask, broker, until
from tests.contract.probes import Probe, ready_probe, started_probe
from tests.support.brokers import BrokerMissing, permit, shut_out

from turnwise.bus.broker.topology import work_queue
from turnwise.bus.celery_bus import CeleryBus

pytestmark = [pytest.mark.rabbitmq, pytest.mark.timeout(120)]

NOTHING = "^$"
WAYS: dict[str, Callable[[str], None]] = {
    "configure": partial(permit, configure=NOTHING),
    "write": partial(permit, write=NOTHING),
    "read": partial(permit, read=NOTHING),
    "access": shut_out,
}
PERMISSION = "does not let this user use its queues and exchanges"


@pytest.fixture
def url() -> Iterator[str]:
    with broker("rabbitmq") as found:
        try:
            permit(found)
        except BrokerMissing as error:
            pytest.skip(str(error))
        yield found


@pytest.fixture(params=["threads", "prefork"])
def probe(request: pytest.FixtureRequest, url: str, tmp_path: Path) -> Iterator[Probe]:
    with ready_probe(url, tmp_path, request.param) as started:
        yield started


def _works(probe: Probe, run: str) -> None:
    """A message reaches the worker."""
    bus = CeleryBus(probe.url)
    bus.wake(run)
    bus.close()
    assert until(lambda: run in str(probe.received()), 20), probe.said()


def _withdraw(probe: Probe, way: str, seconds: float = 3) -> None:
    """Take a permission away from a worker that has to connect again, and let it try for a while."""
    WAYS[way](probe.url)
    probe.proxy.cut()
    threading.Event().wait(seconds)


@pytest.mark.parametrize("way", WAYS)
def test_a_worker_that_may_no_longer_consume_waits_until_it_may(probe: Probe, way: str) -> None:
    # given
    _withdraw(probe, way)
    # when
    permit(probe.url)
    # then
    _works(probe, "run_after")
    assert "Unrecoverable" not in probe.said()


@pytest.mark.parametrize(("way", "said"), [("write", PERMISSION), ("access", "does not let this user into it")])
def test_a_worker_without_a_permission_tries_every_second_and_says_so_once(probe: Probe, way: str, said: str) -> None:
    # given
    _withdraw(probe, way)
    # when
    before = probe.proxy.accepted
    threading.Event().wait(4)
    connections, log = probe.proxy.accepted - before, probe.said()
    permit(probe.url)
    # then
    assert 3 <= connections <= 10  # a try takes one, and where it is let in another for events
    assert log.count("Messages are not heard") == log.count(said) == 1, log
    assert not re.search("Traceback|CRITICAL|ERROR", log), log
    assert until(lambda: "Messages are heard again" in probe.said()), probe.said()


@pytest.mark.parametrize("way", ["write", "access"])
def test_a_worker_that_waits_for_a_permission_ends_when_it_is_told_to(probe: Probe, way: str) -> None:
    # given
    _withdraw(probe, way)
    # when
    began = time.monotonic()
    probe.process.terminate()
    # then
    assert probe.process.wait(10) == 0, probe.said()
    assert time.monotonic() - began < 5
    permit(probe.url)


def test_a_worker_waits_while_its_queue_is_one_that_another_program_declared(probe: Probe) -> None:
    with Connection(probe.url) as connection, connection.channel() as channel:
        # given
        channel.queue_delete("llm")
        work_queue("llm", quorum=False)(channel).queue_declare()
        probe.proxy.cut()
        assert until(lambda: "PRECONDITION_FAILED" in probe.said()), probe.said()
        # when
        channel.queue_delete("llm")
    # then
    _works(probe, "run_after")
    bus = CeleryBus(probe.url)
    bus.publish_ask(an_ask("llm"))
    assert until(lambda: "turnwise.answer" in str(probe.received()), 20), probe.said()
    bus.close()


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_that_starts_without_a_permission_ends_and_says_what_to_grant(
    url: str, tmp_path: Path, pool: str
) -> None:
    permit(url, write=NOTHING)
    with started_probe(url, tmp_path, pool) as probe:
        assert probe.process.wait(30) == 2, probe.said()
        assert PERMISSION in probe.said()
        assert "Traceback" not in probe.said()
