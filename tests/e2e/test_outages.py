"""A provider that is down delays the runs that need it, holds nobody, and fails nothing; then all go on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.installation import Distributed, Embedded, distributed_on
from tests.e2e.processes import free_port
from tests.e2e.waiting import until
from tests.support.brokers import fresh_rabbitmq
from tests.support.client_views import present

from turnwise.api.runs import RunView
from turnwise.client import Client
from turnwise.testing.fake_llm.server import FakeLLMServer

_APP = "tests.e2e.two_providers:app"
_DONE = [{"reply": "DONE here"}]
_MANY = 40


@pytest.fixture
def shaky(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLLMServer]:
    """A provider that is down, at an address of its own, beside one that is up."""
    port = free_port()
    monkeypatch.setenv("SHAKY_URL", f"http://127.0.0.1:{port}/v1")
    server = FakeLLMServer(_DONE, port=port)
    with FakeLLMServer(_DONE) as steady:
        monkeypatch.setenv("STEADY_URL", steady.base_url)
        yield server
    server.stop()


@pytest.fixture(params=["embedded", pytest.param("rabbitmq", marks=[pytest.mark.postgres, pytest.mark.rabbitmq])])
def installation(
    request: pytest.FixtureRequest, shaky: FakeLLMServer, tmp_path: Path
) -> Iterator[Embedded | Distributed]:
    """With two threads that answer, so that none may wait for a provider."""
    if request.param == "embedded":
        server = Embedded(tmp_path, _APP, concurrency="2")
        yield server
        server.stop()
        return
    with distributed_on(fresh_rabbitmq, tmp_path, _APP, concurrency="2") as made:
        yield made


def test_runs_outlast_a_provider_that_is_down_and_all_go_on_when_it_is_back(
    shaky: FakeLLMServer, installation: Embedded | Distributed
) -> None:
    with Client(installation.url) as client:
        # Before the others, so that it has met the outage when its time is over.
        late = str(client.submit("shaky", "in a hurry", deadline=12).id)
        until(lambda: client.run(late).status == "waiting", "the first to wait")
        runs = [str(client.submit("shaky", f"question {n}", max_tokens=100_000).id) for n in range(_MANY)]
        cancelled = runs.pop()
        for run in runs:  # one after the other, as each looks now and then if the provider is back
            until(lambda run=run: client.run(run).status == "waiting", f"{run} to wait")  # type: ignore[misc]

        waiting = until(lambda: _if_waiting(client, runs[-1]), "the last to wait")
        assert present(waiting.waiting_for)["kind"] == "outage"
        assert "does not answer" in present(waiting.waiting_for)["sentence"]
        assert (waiting.usage.reserved_tokens, waiting.usage.cost) == (0, "0")

        # Others go on meanwhile, and an end of those that wait is seen at once.
        others = [str(client.submit("steady", "hello").id) for _ in range(5)]
        until(lambda: all(client.run(run).status == "completed" for run in others), "the other provider's runs")
        client.cancel(cancelled)
        until(lambda: client.run(cancelled).status == "cancelled", "the end of a cancelled run")
        until(lambda: client.run(late).status == "failed", "the deadline")
        assert client.run(late).status_code == "TIMEOUT"
        assert present(client.run(late).error)["kind"] == "unavailable"

        shaky.start()
        until(lambda: all(client.run(run).status == "completed" for run in runs), "the end of all")
        assert shaky.stats()["requests"] == len(runs)


def _if_waiting(client: Client, run_id: str) -> RunView | None:
    found = client.run(run_id)
    return found if found.status == "waiting" else None
