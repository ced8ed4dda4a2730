"""A model that fails for a while delays a run, holds nobody, and changes nothing that is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e import served
from tests.e2e.installation import Distributed, Embedded
from tests.e2e.model import failing
from tests.e2e.scenarios import Scenario
from tests.e2e.waiting import until
from tests.support.client_views import present

from turnwise.client import Client
from turnwise.testing.fake_llm.answer import ScriptedFault
from turnwise.testing.fake_llm.server import FakeLLMServer

_PATIENT = Scenario(task="patient", status_code="DONE")
# No 429: that would close the provider for all others who ask it, and for the tests that follow.
_LONG_OUTAGE = ScriptedFault(status=503, retry_after=3_600)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    failing.clear()


def test_a_run_goes_on_after_a_rate_limit_and_an_outage(anywhere: Client) -> None:
    failing["patient"] = [ScriptedFault(status=429, retry_after=1), ScriptedFault(status=503)]
    run_id = served.submit(anywhere, _PATIENT)

    events = served.follow(anywhere, run_id)

    run = anywhere.run(run_id)
    assert run.status == "completed", run
    put_off = [event["data"] for event in events if event["type"] == "ask.deferred"]
    assert [(data["error"]["kind"], data["attempt"]) for data in put_off] == [("rate_limit", 1), ("unavailable", 1)]
    assert put_off[0]["wait"] >= 1


def test_a_run_that_waits_for_a_try_says_so_and_can_be_cancelled(anywhere: Client) -> None:
    failing["patient"] = [_LONG_OUTAGE]
    run_id = served.submit(anywhere, _PATIENT)

    waiting = present(served.status_once(anywhere, run_id, "waiting").waiting_for)
    assert (waiting["kind"], waiting["agent"], waiting["attempt"]) == ("retry", "Patient", 1)
    assert present(waiting["error"])["code"] == "model_unavailable"
    anywhere.cancel(run_id)

    assert served.follow(anywhere, run_id)[-1]["type"] == "run.cancelled"


def test_tries_are_counted_across_a_kill_of_the_worker(
    distributed: Distributed, client: Client, model: FakeLLMServer
) -> None:
    # The policy of the agent allows three tries.
    failing["patient"] = [ScriptedFault(status=503)] * 10
    before = model.stats()["requests"]
    run_id = served.submit(client, _PATIENT)
    served.status_once(client, run_id, "waiting")
    distributed.kill_and_replace("llm")

    events = served.follow(client, run_id)

    run = client.run(run_id)
    assert (run.status, run.status_code, present(run.error)["kind"]) == ("failed", "ERROR", "unavailable")
    assert [event["data"]["attempt"] for event in events if event["type"] == "ask.deferred"] == [1, 2]
    assert model.stats()["requests"] - before == 3


def test_one_thread_answers_others_while_a_run_waits(model: FakeLLMServer, tmp_path: Path) -> None:
    server = Embedded(tmp_path, concurrency="1")
    try:
        with Client(server.url) as client:
            failing["patient"] = [_LONG_OUTAGE]
            waiting = served.submit(client, _PATIENT)
            served.status_once(client, waiting, "waiting")

            other = served.submit(client, _PATIENT)
            served.follow(client, other)

            assert client.run(other).status == "completed"
            assert client.run(waiting).status == "waiting"
    finally:
        server.stop()


def test_killing_the_one_process_between_two_tries_keeps_the_count(model: FakeLLMServer, tmp_path: Path) -> None:
    server = Embedded(tmp_path)
    try:
        with Client(server.url) as client:
            failing["patient"] = [ScriptedFault(status=503)] * 10
            before = model.stats()["requests"]
            run_id = served.submit(client, _PATIENT)
            served.status_once(client, run_id, "waiting")
        server.kill_and_restart()
        with Client(server.url) as client:
            until(lambda: client.run(run_id).status == "failed", "the last try")
            assert model.stats()["requests"] - before == 3
    finally:
        server.stop()
