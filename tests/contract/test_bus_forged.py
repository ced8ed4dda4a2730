"""Someone with access to the broker can do nothing to workers and listeners that sign."""

# mypy: disable-error-code="no-untyped-call"
# kombu says that it is typed, but most of its signatures are bare.
from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kombu.connection import Connection
from kombu.entity import Exchange
from kombu.messaging import Producer
from tests.contract.brokers import an_ask, broker, until

from turnwise.bus.broker import protocol
from turnwise.bus.broker.protocol import ANSWER_TASK, MOVE_TASK
from turnwise.bus.broker.topology import NOTICE_EXCHANGE, WORK_EXCHANGE
from turnwise.bus.celery_bus import CeleryBus
from turnwise.bus.envelope import MAX_MESSAGE_BYTES, CancelNotice, Notice, RunNotice
from turnwise.bus.signing import WireKeys

TESTS = Path(__file__).parent.parent
KEY = "k" * 32
KEYS = WireKeys.of([KEY])
KINDS = [
    pytest.param("rabbitmq", marks=pytest.mark.rabbitmq),
    pytest.param("redis", marks=pytest.mark.redis),
]


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A worker of the queue llm that wants every message signed; `said` is its log."""

    url: str
    file: Path
    log: Path
    environment: dict[str, str]

    def received(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.file.read_text().splitlines()] if self.file.exists() else []


@pytest.fixture(scope="module", params=KINDS)
def worker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    folder = tmp_path_factory.mktemp("forged")
    with broker(request.param) as url:
        given = {"PROBE_BROKER": url, "PROBE_FILE": str(folder / "received"), "PROBE_KEYS": KEY}
        command = [sys.executable, "-m", "celery", "-A", "contract.celery_probe", "worker", "-P", "threads", "-c", "2"]
        log, environment = folder / "worker.log", {**os.environ, **given, "PYTHONUNBUFFERED": "1"}
        with log.open("w") as output:
            process = subprocess.Popen(
                [*command, "-Q", "llm", "-n", "probe@forged", "-l", "INFO"],
                env=environment,
                cwd=TESTS,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            assert until(lambda: " ready." in log.read_text(), 60), log.read_text()
            yield Worker(url=url, file=folder / "received", log=log, environment=environment)
        finally:
            process.terminate()
            process.wait(20)


Send = Callable[..., None]


@contextmanager
def _intruder(url: str, exchange: Exchange) -> Iterator[Send]:
    """Publishes whatever it likes."""
    with Connection(url) as connection:
        producer = Producer(connection.channel(), auto_declare=False)
        # On Redis, who has not declared an exchange sends nowhere.
        exchange(producer.channel).declare()

        def send(
            body: str | bytes, key: str = "llm.Triage", headers: Any = None, kind: str = "application/json"
        ) -> None:
            encoding = "utf-8" if isinstance(body, str) else "binary"
            producer.publish(
                body,
                exchange=exchange.name,
                routing_key=key,
                headers=headers or {},
                content_type=kind,
                content_encoding=encoding,
            )

        yield send


@pytest.mark.timeout(240)
def test_a_worker_takes_nothing_but_what_was_signed_for_its_queue(worker: Worker) -> None:
    ask, good = an_ask("llm"), an_ask("llm", agent="Good")
    body = protocol.body(ask)
    plain = protocol.headers(ANSWER_TASK, ask, "id-1")
    signed = plain | KEYS.headers("work", "llm.Triage", body)
    other = an_ask("llm", run="run_2")
    bus = CeleryBus(worker.url, keys=KEYS)
    with _intruder(worker.url, WORK_EXCHANGE) as send:
        # when somebody publishes what nobody signed, or signed for something else
        send(body, headers=plain)
        send(body, headers=plain | WireKeys.of(["x" * 32]).headers("work", "llm.Triage", body))
        send(protocol.body(other), headers=signed)
        send(body, key="llm.Other", headers=signed)
        send(body, headers=signed | {"task": "celery.backend_cleanup"})
        send(body, headers=signed | {"task": MOVE_TASK})
        send(pickle.dumps(17), headers=signed, kind="application/x-python-serialize")
        send("x" * (MAX_MESSAGE_BYTES + 1), headers=signed)
        send("{", headers=signed)
        send(body, headers=None)
        # and then what is right, twice: a message that is sent again wakes again, and that is all
        send(body, headers=signed)
        send(body, headers=signed)
        bus.publish_ask(good)

    assert until(lambda: len(worker.received()) == 3, 60), worker.log.read_text()
    bus.close()
    taken = sorted(line["envelope"]["ask"] for line in worker.received())
    assert taken == sorted([ask.ask, ask.ask, good.ask])
    assert worker.log.read_text().count("A message is refused") == 10


def test_a_worker_takes_no_commands_that_nobody_signed(worker: Worker) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "celery", "-A", "contract.celery_probe", "control", "--timeout", "3", "shutdown"],
        env=worker.environment,
        cwd=TESTS,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    bus, before = CeleryBus(worker.url, keys=KEYS), len(worker.received())
    bus.publish_ask(an_ask("llm"))

    assert until(lambda: len(worker.received()) == before + 1, 30), done.stdout + worker.log.read_text()
    bus.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_listener_hears_nothing_but_what_was_signed_as_a_notice(kind: str) -> None:
    with broker(kind) as url:
        bus = CeleryBus(url, keys=KEYS)
        heard: list[Notice] = []
        assert bus.listen(heard.append).wait_ready(30)
        cancel = CancelNotice(run="run_1").model_dump_json()
        with _intruder(url, NOTICE_EXCHANGE) as send:
            send(cancel, key="")
            send(cancel, key="", headers=WireKeys.of(["x" * 32]).headers("notice", "", cancel))
            send(cancel, key="", headers=KEYS.headers("work", "", cancel))
            send(CancelNotice(run="run_2").model_dump_json(), key="", headers=KEYS.headers("notice", "", cancel))
            send(pickle.dumps(17), key="", kind="application/x-python-serialize")
            send("{", key="", headers=KEYS.headers("notice", "", "{"))
        bus.notify(RunNotice(run="run_1", seq=1))

        assert until(lambda: bool(heard))
        assert heard == [RunNotice(run="run_1", seq=1)]
        bus.close()
