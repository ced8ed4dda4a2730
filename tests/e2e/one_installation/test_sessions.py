"""Runs of a session say what the runs of one task in one process say, whoever is killed between or within them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.e2e import in_process, served
from tests.e2e.expected import assert_same
from tests.e2e.installation import Distributed, Embedded
from tests.e2e.scenarios import PAGES, Scenario
from tests.e2e.transcript import Transcript
from tests.e2e.waiting import until
from tests.support.client_views import present

from turnwise.base.ids import new_id
from turnwise.client import Client
from turnwise.testing.fake_llm.server import FakeLLMServer

# One that is not to leave a trace.
LOST = Scenario(task="diary", message="Please write about the weather.", status="cancelled", status_code="KILL")
pytestmark = pytest.mark.usefixtures("model")


@cache
def wanted() -> list[Transcript]:
    """The transcripts in this process."""
    return in_process.play_session(PAGES)


@pytest.fixture
def own_server(model: FakeLLMServer, tmp_path: Path) -> Iterator[Embedded]:
    """An embedded server that the test may kill."""
    server = Embedded(tmp_path)
    yield server
    server.stop()


def _submit_all(client: Client) -> list[str]:
    session = new_id("session")
    return [served.submit(client, page, session) for page in PAGES]


def _assert_as_wanted(client: Client, runs: list[str]) -> None:
    for run_id, page, transcript in zip(runs, PAGES, wanted(), strict=True):
        assert_same(served.finish(client, run_id, page), transcript)


def _second_is_thinking(client: Client, model: FakeLLMServer, runs: list[str]) -> None:
    served.status_once(client, runs[1], "running")
    until(lambda: model.stats()["in_flight"], "the slow call to be in flight")
    waiting_for = present(client.run(runs[2]).waiting_for)
    assert (waiting_for["kind"], waiting_for["run"]) == ("session", runs[1])


def test_the_pages_speak_of_each_other() -> None:
    results = [transcript.result or {} for transcript in wanted()]

    assert "ask away" in str(wanted()[1])  # the second thing that the sub-task says in its life
    assert results[2]["tool_messages"][0]["notes"] == ["one", "two"]


def test_runs_submitted_at_once_have_the_transcripts_of_those_in_process(anywhere: Client) -> None:
    _assert_as_wanted(anywhere, _submit_all(anywhere))


def test_an_embedded_server_killed_between_two_runs_goes_on_with_the_conversation(own_server: Embedded) -> None:
    session, runs = new_id("session"), []
    with Client(own_server.url) as client:
        for page in PAGES:
            runs.append(served.submit(client, page, session))
            served.finish(client, runs[-1], page)
            own_server.kill_and_restart()
        _assert_as_wanted(client, runs)


def test_an_embedded_server_killed_within_a_run_finishes_the_session_when_started_again(
    own_server: Embedded, model: FakeLLMServer
) -> None:
    with Client(own_server.url) as client:
        runs = _submit_all(client)
        _second_is_thinking(client, model, runs)
        own_server.kill_and_restart()
        _assert_as_wanted(client, runs)


def test_a_run_that_is_cancelled_leaves_the_conversation_as_it_was(anywhere: Client, model: FakeLLMServer) -> None:
    session, runs = new_id("session"), []
    for page in PAGES:
        runs.append(served.submit(anywhere, page, session))
        served.finish(anywhere, runs[-1], page)
        if page is PAGES[0]:  # what is said next takes long
            _cancel_while_thinking(anywhere, model, session)
    _assert_as_wanted(anywhere, runs)


def test_a_run_that_is_cancelled_and_whose_server_is_killed_leaves_the_conversation_as_it_was(
    own_server: Embedded, model: FakeLLMServer
) -> None:
    session, runs = new_id("session"), []
    with Client(own_server.url) as client:
        for page in PAGES:
            runs.append(served.submit(client, page, session))
            served.finish(client, runs[-1], page)
            if page is PAGES[0]:  # what is said next takes long
                cancelled = _cancel_while_thinking(client, model, session)
                own_server.kill_and_restart()
                served.status_once(client, cancelled, "cancelled")
        _assert_as_wanted(client, runs)


def _cancel_while_thinking(client: Client, model: FakeLLMServer, session: str) -> str:
    """A run that is cancelled after its model was asked something."""
    before = model.stats()["requests"]
    run_id = served.submit(client, LOST, session)
    until(lambda: model.stats()["requests"] > before, "the model to be asked")
    client.cancel(run_id)
    return run_id


def test_all_services_killed_within_a_run_finish_the_session_when_they_are_back(
    distributed: Distributed, client: Client, model: FakeLLMServer
) -> None:
    runs = _submit_all(client)
    _second_is_thinking(client, model, runs)
    distributed.kill_and_replace_all()
    _assert_as_wanted(client, runs)
