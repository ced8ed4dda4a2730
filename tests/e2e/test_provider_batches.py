"""A worker that is killed with -9 while it submits a batch: no call is lost, and none is submitted twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.e2e.installation import ONE_WORKER, Distributed, Embedded, distributed_on
from tests.e2e.served import status_once
from tests.e2e.waiting import until
from tests.support.brokers import fresh_rabbitmq

from turnwise.client import Client
from turnwise.testing.fake_llm.server import FakeLLMServer

APP = "tests.e2e.someday:app"
FAST = {"provider_batch_seconds": "0.2", "provider_batch_poll_seconds": "0.2"}
# Seconds that a provider takes to say that it has made a batch: long enough to kill whoever asked.
SLOW = 120.0


@contextmanager
def installed(kind: str, folder: Path) -> Iterator[Embedded | Distributed]:
    if kind == "embedded":
        server = Embedded(folder, APP, **FAST)
        try:
            yield server
        finally:
            server.stop()
    else:
        with distributed_on(fresh_rabbitmq, folder, APP, roles=ONE_WORKER, **FAST) as services:
            yield services


@pytest.mark.parametrize(
    "kind",
    [
        "embedded",
        pytest.param("distributed", marks=[pytest.mark.postgres, pytest.mark.rabbitmq]),
    ],
)
def test_a_worker_killed_between_a_batch_and_its_record_is_replaced_and_the_batch_is_found(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [{"match": "(.*)", "reply": "DONE dear $1"}]
    with FakeLLMServer(rules, batches={"create_delay": SLOW}) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        with installed(kind, tmp_path) as server, Client(server.url) as client:
            run = client.submit("letter", "Ada", can_wait=86_400.0)
            until(lambda: model.stats()["batches"] == 1, "the batch to be made")
            assert run.limits.can_wait == 86_400
            waiting = client.run(run.id).waiting_for
            assert waiting is not None and waiting["kind"] == "provider_batch"
            assert waiting["submitted_at"] is None and waiting["due_at"] is not None

            if isinstance(server, Embedded):
                server.kill_and_restart()
            else:
                server.kill_and_replace("worker")

            assert status_once(client, run.id, "completed").result is not None
            stats = model.stats()
    assert (stats["batches"], stats["lines"], stats["requests"]) == (1, 1, 0)
