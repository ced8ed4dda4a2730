"""Runs, questions and the fleet as the gateway shows them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import datetime

import pytest
from tests.support.gateway_parts import Served, served
from tests.support.kept_values import happen

from turnwise.record.asks.worker_records import WorkerInfo


@pytest.fixture
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("gateway"), max_tokens=5_000) as made:
        yield made


def test_an_accepted_run_is_shown_with_what_was_given_and_the_servers_defaults(gateway: Served) -> None:
    run_id = gateway.submit(
        message="help", limits={"max_cost": "0.50", "deadline": 60}, priority=3, tags=["a"], metadata={"n": [1, None]}
    )

    run = gateway.http.get(f"/v1/runs/{run_id}").json()

    assert (run["task"], run["version"], run["status"], run["tree"]) == ("desk", "7", "queued", None)
    assert run["limits"] == {
        "max_cost": "0.50",
        "max_tokens": 5_000,
        "turns": None,
        "deadline": 60.0,
        "on_limit": None,
        "can_wait": None,
    }
    assert (run["priority"], run["tags"], run["metadata"]) == (3, ["a"], {"n": [1, None]})
    assert run["usage"]["cost"] == "0"
    assert run["message"]["content"] == "help"
    assert run["message"]["metadata"]["tainted"] is True
    assert datetime.fromisoformat(run["created_at"]).utcoffset() is not None


def test_runs_are_listed_newest_first_page_by_page_and_filtered(gateway: Served) -> None:
    ids = [gateway.submit(tags=["odd"] if n % 2 else []) for n in range(5)]

    first = gateway.http.get("/v1/runs?limit=3").json()
    rest = gateway.http.get("/v1/runs", params={"limit": 3, "cursor": first["next_cursor"]}).json()
    odd = gateway.http.get("/v1/runs?tag=odd&status=queued&task=desk").json()
    none = gateway.http.get("/v1/runs?created_after=2999-01-01T00:00:00Z").json()

    assert [run["id"] for run in first["items"] + rest["items"]] == ids[::-1]
    assert rest["next_cursor"] is None
    assert [run["id"] for run in odd["items"]] == [ids[3], ids[1]]
    assert none["items"] == []


def test_runs_are_searched_in_ids_and_messages(gateway: Served) -> None:
    first = gateway.submit(message="Where is my invoice?", session_id="ann")
    second = gateway.submit(message="A refund, please")
    gateway.ask_human(second, "May I pay invoice 17?")

    def ids(**params: str) -> list[str]:
        return [run["id"] for run in gateway.http.get("/v1/runs", params=params).json()["items"]]

    assert ids(q="INVOICE") == [second, first]
    assert ids(q="invoice", session="ann") == ids(q=first) == ids(q="ann") == [first]
    assert ids(q="nothing of it") == []
    refused = [gateway.http.get("/v1/runs", params={"q": text}).status_code for text in ("", "a\0b", "x" * 201)]
    assert refused == [422, 422, 422]


def test_a_wait_ends_with_the_run(gateway: Served) -> None:
    def finish_it() -> None:
        while not (found := gateway.store.inspector.runs()[0]):
            time.sleep(0.01)
        gateway.finish(found[0].id, "forty-two")

    worker = threading.Thread(target=finish_it)
    worker.start()
    response = gateway.http.post("/v1/runs?wait=20", json={"task": "desk", "message": "6 * 7?"})
    worker.join()

    assert response.status_code == 202
    assert (response.json()["status"], response.json()["result"]["content"]) == ("completed", "forty-two")


def test_a_question_is_in_the_inbox_until_it_is_answered_and_the_first_answer_counts(gateway: Served) -> None:
    run_id = gateway.submit()
    early = gateway.http.post(f"/v1/runs/{run_id}/messages", json={"text": "yes"})
    question = gateway.ask_human(run_id, "May I pay?")

    inbox = gateway.http.get("/v1/inbox").json()["items"]
    first = gateway.http.post(f"/v1/runs/{run_id}/messages", json={"text": " yes "})
    second = gateway.http.post(f"/v1/runs/{run_id}/messages", json={"text": "no", "question": question})
    unknown = gateway.http.post(f"/v1/runs/{run_id}/messages", json={"text": "no", "question": "other"})

    assert (early.status_code, early.json()["code"]) == (409, "no_open_question")
    assert [(one["id"], one["run"], one["task"], one["text"]) for one in inbox] == [
        (question, run_id, "desk", "May I pay?")
    ]
    assert first.status_code == 200
    assert (second.status_code, second.json()["code"]) == (409, "already_answered")
    assert unknown.status_code == 404
    assert gateway.http.get("/v1/inbox").json()["items"] == []
    answered = gateway.store.inspector.events(run_id)[-1]
    assert answered.type == "human.answered"
    assert answered.document is not None
    assert (answered.document["content"], answered.document["metadata"]["tainted"]) == ("yes", True)


def test_an_empty_answer_to_a_question_addressed_to_the_user_is_null(gateway: Served) -> None:
    run_id = gateway.submit()
    gateway.ask_human(run_id, recipient="User")

    gateway.http.post(f"/v1/runs/{run_id}/messages", json={"text": ""}).raise_for_status()

    document = gateway.store.inspector.events(run_id)[-1].document
    assert document is not None
    assert document["content"] == "null"


def test_cancelling_is_asked_for_once_and_refused_when_the_run_has_ended(gateway: Served) -> None:
    run_id = gateway.submit()

    first = gateway.http.post(f"/v1/runs/{run_id}/cancel")
    again = gateway.http.post(f"/v1/runs/{run_id}/cancel")
    gateway.finish(run_id)
    late = gateway.http.post(f"/v1/runs/{run_id}/cancel")

    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json()["cancel_requested_at"] == again.json()["cancel_requested_at"] is not None
    assert (late.status_code, late.json()["code"]) == (409, "already_ended")


def test_the_transcript_nests_the_messages_of_a_sub_task_within_its_callers(gateway: Served) -> None:
    run_id = gateway.submit()
    with gateway.store.coordinator.locked(run_id) as tx:
        for n in range(5):
            tx.put_document(f"d{n}", {"content": f"message {n}"})
        happen(tx, "task.started", path="desk", turn=0, data={"document": "d0"})
        happen(tx, "turn.replied", path="desk", turn=1, data={"document": "d1"})
        happen(tx, "turn.taken", path="desk", turn=1, data={"document": "d1"})
        happen(tx, "task.started", path="desk/clerk", turn=0, data={"document": "d2"})
        happen(tx, "turn.taken", path="desk/clerk", turn=1, data={"document": "d3"})
        happen(tx, "task.finished", path="desk/clerk", turn=1, data={"document": "d4", "status": "DONE"})
        happen(tx, "turn.taken", path="desk", turn=2, data={"document": "d4"})

    root = gateway.http.get(f"/v1/runs/{run_id}/transcript").json()["root"]

    assert (root["task"], root["status"]) == ("desk", None)
    outer = [item["document"]["content"] if item["kind"] == "message" else item["task"] for item in root["items"]]
    assert outer == ["message 0", "message 1", "desk/clerk", "message 4"]
    clerk = root["items"][2]
    assert [item["document"]["content"] for item in clerk["items"]] == ["message 2", "message 3"]
    assert (clerk["status"], clerk["result"]["content"]) == ("DONE", "message 4")


def test_a_transcript_tells_the_cost_of_each_task_and_where_the_stream_continues(gateway: Served) -> None:
    run_id = gateway.submit()
    use = {"model": "gpt", "prompt_tokens": 10, "cached_tokens": 2, "completion_tokens": 3, "calls": 1}
    with gateway.store.coordinator.locked(run_id) as tx:
        for n in range(4):
            tx.put_document(f"d{n}", {"content": f"message {n}"})
        happen(tx, "task.started", path="desk", turn=0, data={"document": "d0"})
        happen(tx, "usage.settled", path="desk", data={**use, "cost": "0.25"})
        happen(tx, "turn.rejected", path="desk", turn=1, data={"document": "d1", "responder": "LLM"})
        happen(tx, "usage.settled", path="desk", data={**use, "cost": None})
        happen(tx, "usage.settled", path="desk", data={**use, "cost": "0.5", "corrects": {**use, "cost": "0.75"}})
        happen(tx, "turn.taken", path="desk", turn=1, data={"document": "d2", "responder": "LLM"})
        asked = happen(tx, "turn.asked", path="desk", turn=2, data={"document": "d2", "responder": "Agent"})

    taken = gateway.http.get(f"/v1/runs/{run_id}/transcript").json()
    whole = gateway.http.get(f"/v1/runs/{run_id}/transcript?rejected=true").json()

    messages = [(item["event"], item["responder"], item["model"], item["rejected"]) for item in whole["root"]["items"]]
    assert messages == [(2, None, None, False), (4, "LLM", "gpt", True), (7, "LLM", "gpt", False)]
    assert [item["event"] for item in taken["root"]["items"]] == [2, 7]
    assert datetime.fromisoformat(taken["root"]["items"][0]["at"]).utcoffset() is not None
    assert taken["root"]["cost"] == "0.00"
    [used] = taken["usage"]
    assert (used["task"], used["model"], used["cost"]) == ("desk", "gpt", "0.00")
    assert (used["prompt_tokens"], used["calls"], used["unpriced_calls"]) == (20, 2, 1)
    assert taken["last_event"] == asked - 1


def test_the_log_is_a_page_of_its_own_origin_in_which_nothing_runs(gateway: Served) -> None:
    run_id = gateway.submit()
    with gateway.store.coordinator.locked(run_id) as tx:
        tx.put_document("d0", {"content": "<script>alert(1)</script> \u202e"})
        happen(tx, "task.started", path="desk", turn=0, data={"document": "d0"})

    shown = gateway.http.get(f"/v1/runs/{run_id}/log")
    kept = gateway.http.get(f"/v1/runs/{run_id}/log?download=true")

    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert "&lt;script&gt;alert(1)&lt;/script&gt; \\u202e" in shown.text and "<script>alert" not in shown.text
    assert shown.text.endswith("</html>\n")
    policy = shown.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ") and policy.endswith("; sandbox allow-scripts")
    assert shown.headers["content-disposition"] == f'inline; filename="{run_id}.html"'
    assert kept.headers["content-disposition"] == f'attachment; filename="{run_id}.html"'
    assert gateway.http.get("/v1/runs/run_unknown/log").json()["code"] == "not_found"


def test_half_a_surrogate_pair_from_a_model_is_shown_as_a_question_mark(gateway: Served) -> None:
    run_id = gateway.submit()
    gateway.ask_human(run_id, "What is \ud83d?")
    with gateway.store.coordinator.locked(run_id) as tx:
        happen(tx, "task.started", path="desk", data={"document": "doc-1"})

    transcript = gateway.http.get(f"/v1/runs/{run_id}/transcript").json()
    inbox = gateway.http.get("/v1/inbox").json()
    gateway.finish(run_id, "\udc00")
    run = gateway.http.get(f"/v1/runs/{run_id}").json()

    assert transcript["root"]["items"][0]["document"]["content"] == "What is ??"
    assert inbox["items"][0]["text"] == "What is ??"
    assert run["result"]["content"] == "?"


def test_tasks_workers_and_queues_are_listed(gateway: Served) -> None:
    info = WorkerInfo(kind="llm", queues=("llm",), host="here", pid=1, version="1")
    worker = gateway.store.process.register_worker(info)

    tasks = gateway.http.get("/v1/tasks").json()["items"]
    workers = gateway.http.get("/v1/workers").json()["items"]
    queues = gateway.http.get("/v1/queues").json()["items"]
    metrics = gateway.http.get("/metrics").text

    [task] = tasks
    assert task == {
        "name": "desk",
        "application": "tests",
        "version": "7",
        "paths": ["desk"],
        "keeps_conversation": False,
        "description": "",
    }
    assert [(one["id"], one["state"]) for one in workers] == [(worker, "alive")]
    assert [(one["queue"], one["backlog"], one["workers"]) for one in queues] == [("llm", 0, 1), ("agent", 0, 0)]
    assert workers[0]["leased"] == 0
    assert 'turnwise_workers{queue="llm",state="alive"} 1.0' in metrics
    assert "turnwise_human_inbox_open 0.0" in metrics


def test_an_unfinished_run_says_why_it_waits_alone_and_in_lists(gateway: Served) -> None:
    accepted = gateway.http.post("/v1/runs", json={"task": "desk", "message": "hello"}).json()
    asking = gateway.submit()
    question = gateway.ask_human(asking)
    ended = gateway.submit()
    gateway.finish(ended)

    alone = [gateway.http.get(f"/v1/runs/{run_id}").json()["waiting_for"] for run_id in (asking, accepted["id"])]
    listed = {run["id"]: run["waiting_for"] for run in gateway.http.get("/v1/runs").json()["items"]}

    assert accepted["waiting_for"]["kind"] == "move"
    assert "a coordinator has to go on" in accepted["waiting_for"]["sentence"]
    assert (alone[0]["kind"], alone[0]["question"]) == ("human", question)
    assert datetime.fromisoformat(alone[0]["since"]).utcoffset() is not None
    assert "no coordinator is running" in alone[1]["sentence"]
    assert listed == {asking: alone[0], accepted["id"]: alone[1], ended: None}
    assert gateway.http.post(f"/v1/runs/{asking}/cancel").json()["waiting_for"]["reason"] == "cancelled"


def test_a_persons_answer_is_linked_to_the_question_before_it_is_judged(gateway: Served) -> None:
    run_id = gateway.submit()
    gateway.ask_human(run_id)

    gateway.http.post(f"/v1/runs/{run_id}/messages", json={"text": "DO-NOT-KNOW"}).raise_for_status()

    answer = gateway.store.inspector.events(run_id)[-1].document
    assert answer is not None
    assert answer["metadata"]["parent_id"] == "doc-1"
