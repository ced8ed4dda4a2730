"""Sessions as the gateway shows them, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.support.gateway_parts import Served, served

from turnwise.client import Client
from turnwise.errors import ConflictError, InvalidRequestError, NotFoundError
from turnwise.record.values.records import NewHistory, Usage


@pytest.fixture
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("gateway")) as made:
        yield made


def _talk(gateway: Served, run_id: str) -> None:
    """Have the run's agent say something, and the run end."""
    with gateway.store.coordinator.locked(run_id) as transaction:
        transaction.take_up_conversation()
        transaction.append_history("desk", [NewHistory(role="user", body={"content": "hi"}, tokens=3)] * 2)
        transaction.save_agent("desk", state={"mood": "half \ud800"})
        transaction.add_usage(Usage(prompt_tokens=4, completion_tokens=2, cost=Decimal("0.0010")))
    gateway.finish(run_id)


def test_a_session_shows_what_it_remembers_and_what_it_used(gateway: Served) -> None:
    first = gateway.submit(session_id="customer-17")
    _talk(gateway, first)
    second = gateway.submit(session_id="customer-17")
    gateway.submit(session_id="another")

    session = gateway.http.get("/v1/sessions/customer-17").json()
    listed = gateway.http.get(session["links"]["runs"]).json()["items"]

    assert (session["id"], session["runs"], session["unfinished"]) == ("customer-17", 2, 1)
    assert (session["usage"]["completion_tokens"], session["usage"]["cost"]) == (2, "0.0010")
    assert datetime.fromisoformat(session["last_used_at"]) >= datetime.fromisoformat(session["created_at"])
    [task] = session["tasks"]
    agent = {"agent": "desk", "messages": 2, "tokens": 6, "state": {"mood": "half ?"}}
    assert task == {"task": "desk", "runs": 2, "agents": [agent]}
    assert [(run["id"], run["session_id"]) for run in listed] == [(second, "customer-17"), (first, "customer-17")]
    assert gateway.http.get(f"/v1/runs/{second}").json()["session_id"] == "customer-17"


def test_a_session_is_deleted_once_all_its_runs_have_ended(gateway: Served) -> None:
    run = gateway.submit(session_id="s")

    refused = gateway.http.delete("/v1/sessions/s")
    _talk(gateway, run)
    deleted = gateway.http.delete("/v1/sessions/s")

    assert (refused.status_code, refused.json()["code"]) == (409, "session_in_use")
    assert run in refused.json()["detail"]
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert gateway.http.get("/v1/sessions/s").status_code == 404
    assert gateway.http.delete("/v1/sessions/s").json()["code"] == "not_found"
    assert gateway.http.get(f"/v1/runs/{run}").json()["status"] == "completed"


def test_the_same_key_makes_no_second_run_of_a_session(gateway: Served) -> None:
    body = {"task": "desk", "message": "hello", "session_id": "s"}

    def submit(**change: Any) -> Any:
        return gateway.http.post("/v1/runs", json=body | change, headers={"Idempotency-Key": "k"})

    first, again, other = submit(), submit(), submit(session_id="other")

    assert first.json()["id"] == again.json()["id"]
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    assert gateway.http.get("/v1/sessions/s").json()["runs"] == 1
    assert gateway.http.get("/v1/sessions/other").status_code == 404


def test_the_client_has_a_method_for_each(gateway: Served) -> None:
    with Client(gateway.base_url) as client:
        run = client.submit("desk", "hello", session_id="a.b:c@d-e_f")
        assert client.session("a.b:c@d-e_f").runs == 1
        assert [item.id for item in client.runs(session="a.b:c@d-e_f").items] == [run.id]
        assert client.runs(session="none").items == []
        with pytest.raises(ConflictError) as caught:
            client.delete_session("a.b:c@d-e_f")
        gateway.finish(run.id)
        client.delete_session("a.b:c@d-e_f")

        assert caught.value.code == "session_in_use"
        for unknown in ("a.b:c@d-e_f", "../runs", "a b"):
            with pytest.raises(NotFoundError):
                client.session(unknown)
        with pytest.raises(InvalidRequestError, match="session_id"):
            client.submit("desk", "hello", session_id="../runs")


def test_the_description_of_the_api_knows_sessions(gateway: Served) -> None:
    document = gateway.http.get("/openapi.json").json()

    operations = document["paths"]["/v1/sessions/{session_id}"]
    assert set(operations["get"]["responses"]) == {"200", "403", "404", "429", "503"}
    assert set(operations["delete"]["responses"]) == {"204", "403", "404", "409", "429", "503"}
    assert "session" in [parameter["name"] for parameter in document["paths"]["/v1/runs"]["get"]["parameters"]]
    assert document["components"]["schemas"]["Submission"]["properties"]["session_id"]["examples"] == ["customer-17"]


def test_the_list_of_tasks_says_which_ones_keep_their_conversation(gateway: Served) -> None:
    assert [task["keeps_conversation"] for task in gateway.http.get("/v1/tasks").json()["items"]] == [False]
