"""Watching a run over HTTP: the events, the conversation, and the human's questions."""

from __future__ import annotations

from typing import Any
from urllib.request import Request, urlopen

import pytest
from tests.e2e import served
from tests.e2e.expected import scenario_named
from tests.support.client_views import numbered, present

from turnwise.api.inbox import QuestionView
from turnwise.cli.text.messages import as_json
from turnwise.client import Client
from turnwise.errors import ConflictError

_DELEGATION = scenario_named("delegation")


def test_a_watcher_that_comes_back_gets_each_event_once(anywhere: Client) -> None:
    run_id = served.submit(anywhere, _DELEGATION)
    seen: list[int] = []
    while not seen or seen[-1] < anywhere.run(run_id).last_event:
        # Each time from where the last connection was left, after two more events.
        for event, _ in zip(numbered(anywhere.events(run_id, after=seen[-1] if seen else 0)), range(2), strict=False):
            seen.append(event.seq)
    assert seen == list(range(1, len(seen) + 1))
    assert anywhere.run(run_id).status == "completed"


def test_the_stream_goes_on_after_the_last_event_id(anywhere: Client) -> None:
    run_id = served.submit(anywhere, _DELEGATION)
    total = len(served.follow(anywhere, run_id))
    request = Request(f"{anywhere.base_url}/v1/runs/{run_id}/events", headers={"Last-Event-ID": str(total - 2)})
    with urlopen(request, timeout=30) as response:
        lines = response.read().decode().splitlines()
    assert [line for line in lines if line.startswith("id:")] == [f"id: {total - 1}", f"id: {total}"]


def test_the_conversation_is_nested_as_the_tasks_were(anywhere: Client) -> None:
    run_id = served.submit(anywhere, _DELEGATION)
    served.follow(anywhere, run_id)
    root = present(anywhere.transcript(run_id).root)
    assert _tasks(as_json(root)) == [
        "Lead",
        *("Lead/Researcher", "Lead/Researcher/Reader"),
        *("Lead/Researcher", "Lead/Researcher/Reader"),
    ]
    assert "both pages speak of herons" in present(root.result)["content"]


def test_the_first_answer_to_a_question_counts(anywhere: Client) -> None:
    order = scenario_named("order")
    run_id = served.submit(anywhere, order)
    question = present(served.status_once(anywhere, run_id, "waiting").waiting_for)["question"]
    mine = [one for one in anywhere.inbox() if one.run == run_id]
    assert [(one.id, one.task) for one in mine] == [(question, "Asker")]
    assert isinstance(mine[0], QuestionView)
    assert "Which colour" in mine[0].text
    anywhere.answer(run_id, "blue", question=question)
    with pytest.raises(ConflictError) as refused:
        anywhere.answer(run_id, "red", question=question)
    assert refused.value.code == "already_answered"
    served.status_once(anywhere, run_id, "waiting")
    anywhere.cancel(run_id)
    contents = [
        (event.get("data") or {}).get("document", {}).get("content") for event in served.follow(anywhere, run_id)
    ]
    assert "blue" in contents and "red" not in contents


def _tasks(item: dict[str, Any]) -> list[str]:
    return [item["task"], *(name for sub in item["items"] if sub["kind"] == "task" for name in _tasks(sub))]
