"""Messages over the OpenAI door reach the question that they answer, and no other one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
from tests.support.gateway_parts import Served, served

from turnwise.record.database.access_schema import idempotency_keys
from turnwise.record.states import RunStatus
from turnwise_gateway.openai_door import run_of_request
from turnwise_gateway.routes import openai

WHICH, REFUND = "Which order?", "Shall I refund that order?"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as made:
        yield made


def chat(desk: Served, *texts: str, key: str | None = None, **more: Any) -> httpx2.Response:
    """Say the last text of a conversation that its user begins; wait for no answer that is not there."""
    said = [{"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(texts)]
    body = {"model": "desk", "messages": said, "metadata": {"on_disconnect": "continue"}} | more
    return desk.http.post(
        "/v1/chat/completions?wait=0", json=body, headers={} if key is None else {"Idempotency-Key": key}
    )


def run_of(response: httpx2.Response) -> str:
    return str(response.headers["x-run-id"])


def respond(desk: Served, text: str, previous: str | None = None, *, key: str | None = None) -> httpx2.Response:
    body = {"model": "desk", "input": text, "metadata": {"on_disconnect": "continue"}}
    if previous is not None:
        body["previous_response_id"] = previous
    return desk.http.post("/v1/responses?wait=0", json=body, headers={} if key is None else {"Idempotency-Key": key})


def first_of(run: str) -> str:
    """The id of the first response of a run."""
    return f"resp_{run.removeprefix('run_')}_0"


def text_of(response: httpx2.Response) -> str:
    assert response.status_code == 200, response.text
    return str(response.json()["output"][0]["content"][0]["text"])


def answers_of(desk: Served, run: str) -> list[str]:
    events = desk.store.inspector.events(run)
    return [(event.document or {})["content"] for event in events if event.type == "human.answered"]


def cancel(desk: Served, run: str) -> None:
    with desk.store.coordinator.locked(run) as transaction:
        transaction.finish(RunStatus.CANCELLED, "KILL")


def begun(desk: Served, *told: str) -> str:
    """A run whose user says hello, and then what was `told`; questions and answers in turn."""
    run = run_of(chat(desk, "Hello"))
    for at, text in enumerate(told):
        if at % 2:
            assert run_of(chat(desk, "Hello", *told[: at + 1])) == run
        else:
            desk.ask_human(run, text, turn=at // 2 + 1)
    return run


def asked_twice(desk: Served, answer: str = "yes") -> str:
    """A run whose first question was answered over the Responses interface, and that has asked a second one."""
    run = run_of(respond(desk, "Hello"))
    desk.ask_human(run, WHICH, turn=1)
    assert run_of(respond(desk, answer, first_of(run))) == run
    desk.ask_human(run, REFUND, turn=2)
    return run


def test_an_answer_reaches_the_run_that_held_the_whole_conversation(desk: Served) -> None:
    anna = begun(desk, WHICH, "111", REFUND)
    ben = begun(desk, WHICH, "222", REFUND)

    assert run_of(chat(desk, "Hello", WHICH, " 111\n", REFUND, "yes, mine")) == anna
    assert (answers_of(desk, anna), answers_of(desk, ben)) == (["111", "yes, mine"], ["222"])


@pytest.mark.parametrize(
    "said",
    [
        (WHICH, "333", REFUND, "yes"),  # another answer
        ("What order?", "111", REFUND, "yes"),  # another question
        (REFUND, "yes"),  # the first question left out
        (WHICH, "111", WHICH, "111", REFUND, "yes"),  # one too many
    ],
)
def test_a_conversation_that_went_another_way_begins_a_run_of_its_own(desk: Served, said: tuple[str, ...]) -> None:
    run = begun(desk, WHICH, "111", REFUND)

    assert run_of(chat(desk, "Hello", *said)) != run
    assert answers_of(desk, run) == ["111"]


def test_an_answer_finds_its_run_among_many_that_began_alike(desk: Served) -> None:
    oldest = begun(desk, WHICH, "order 0", REFUND)
    for number in range(1, 55):  # more than one page of them
        desk.ask_human(run_of(chat(desk, "Hello")), f"Refund {number}?")

    assert run_of(chat(desk, "Hello", WHICH, "order 0", REFUND, "yes")) == oldest


def test_of_conversations_that_are_the_same_the_run_that_waited_longest_is_answered(desk: Served) -> None:
    older, old, new = (begun(desk) for _ in range(3))
    for run in (old, older, new):
        desk.ask_human(run, WHICH)

    assert [run_of(chat(desk, "Hello", WHICH, "111")) for _ in range(3)] == [old, older, new]


def test_the_question_that_was_shown_as_a_whole_comes_before_the_end_of_one(desk: Served) -> None:
    end, whole = begun(desk), begun(desk)
    desk.ask_human(end, REFUND)
    desk.ask_human(whole, f"It is order 111.\n\n{REFUND}")

    assert run_of(chat(desk, "Hello", f"It is order 111.\n\n{REFUND}", "yes")) == whole


def test_what_was_streamed_before_a_question_may_stand_before_it(desk: Served) -> None:
    run = begun(desk, WHICH, "111", REFUND)

    assert run_of(chat(desk, "Hello", f"Let me see.\n\n{WHICH}", "111", f"I found it.\n\n{REFUND}", "yes")) == run


def test_a_system_message_as_an_answer_is_recognized_later(desk: Served) -> None:
    run = begun(desk, WHICH, "SYSTEM the last one", REFUND)

    assert run_of(chat(desk, "Hello", WHICH, "SYSTEM the last one", REFUND, "yes")) == run


def test_an_answer_that_was_addressed_to_an_agent_is_recognized_later(desk: Served) -> None:
    run = begun(desk, WHICH, "@clerk 111")
    [said] = [event for event in desk.store.inspector.events(run) if event.type == "human.answered"]
    with desk.store.coordinator.locked(run) as transaction:  # the move after the answer keeps it so
        document = said.document or {}
        routed = {"content": "111", "metadata": document["metadata"] | {"recipient": "clerk"}}
        transaction.put_document(document["metadata"]["id"], document | routed)
    desk.ask_human(run, REFUND, turn=2)

    assert run_of(chat(desk, "Hello", WHICH, "@clerk 222", REFUND, "yes")) != run
    assert run_of(chat(desk, "Hello", WHICH, "@clerk 111", REFUND, "yes")) == run


def test_a_repeated_answer_gets_the_same_response_and_answers_nothing_else(desk: Served) -> None:
    run = asked_twice(desk)

    again = [respond(desk, "yes", first_of(run)) for _ in range(2)]

    assert [(text_of(one), one.headers["idempotent-replayed"]) for one in again] == [(REFUND, "true")] * 2
    assert again[0].json()["id"] == again[1].json()["id"]
    assert answers_of(desk, run) == ["yes"]
    assert run_of(respond(desk, "no", again[0].json()["id"])) == run
    assert answers_of(desk, run) == ["yes", "no"]


def test_a_repeated_answer_is_not_shown_a_later_question(desk: Served) -> None:
    run = asked_twice(desk)
    second = respond(desk, "yes", first_of(run)).json()["id"]
    respond(desk, "no", second)
    desk.finish(run, "Nothing was refunded.")

    assert text_of(respond(desk, "yes", first_of(run))) == REFUND
    assert text_of(respond(desk, "no", second)) == "Nothing was refunded."


def test_another_answer_to_a_question_that_was_answered_is_refused(desk: Served) -> None:
    run = asked_twice(desk)

    refused = respond(desk, "no", first_of(run))

    error = refused.json()["error"]
    assert (refused.status_code, error["code"], refused.headers["x-should-retry"]) == (409, "already_answered", "false")
    assert "has another answer already" in error["message"]
    assert answers_of(desk, run) == ["yes"]


def test_a_response_that_is_being_made_is_refused(desk: Served) -> None:
    run = asked_twice(desk)
    second = respond(desk, "yes", first_of(run)).json()["id"]
    respond(desk, "no", second)
    [last] = [event.seq for event in desk.store.inspector.events(run) if event.type == "human.asked"][1:]

    refused = respond(desk, "and now?", f"resp_{run.removeprefix('run_')}_{last}")

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "response_in_progress")


def test_a_response_that_the_run_has_not_given_is_unknown(desk: Served) -> None:
    run = asked_twice(desk)

    assert respond(desk, "yes", f"resp_{run.removeprefix('run_')}_999").status_code == 404


def test_a_repeated_request_with_a_key_can_be_continued(desk: Served) -> None:
    run = run_of(respond(desk, "Hello", key="begin"))
    desk.ask_human(run, WHICH, turn=1)
    respond(desk, "111", first_of(run), key="answer")
    desk.ask_human(run, REFUND, turn=2)

    begin, answer = respond(desk, "Hello", key="begin"), respond(desk, "111", first_of(run), key="answer")

    assert (text_of(begin), text_of(answer)) == (WHICH, REFUND)
    assert begin.json()["id"] == first_of(run)
    assert run_of(respond(desk, "yes", answer.json()["id"])) == run
    assert answers_of(desk, run) == ["111", "yes"]


def test_a_repeated_chat_answer_with_a_key_gets_the_next_question(desk: Served) -> None:
    run = begun(desk, WHICH)
    chat(desk, "Hello", WHICH, "111", key="answer")
    desk.ask_human(run, REFUND, turn=2)

    again = chat(desk, "Hello", WHICH, "111", key="answer")

    assert again.json()["choices"][0]["message"]["content"] == REFUND
    assert answers_of(desk, run) == ["111"]


def test_a_repeated_answer_that_says_what_began_the_run_gets_the_question_after_its_own(desk: Served) -> None:
    def say(key: str) -> httpx2.Response:
        return chat(desk, "go", key=key, metadata={"session_id": "quiz", "on_disconnect": "continue"})

    run = run_of(say("begin"))
    for turn, question in enumerate(("One?", "Two?", "Three?"), start=1):
        if turn > 1:
            assert run_of(say(f"answer {turn - 1}")) == run
        desk.ask_human(run, question, turn=turn)

    again = [say(key) for key in ("begin", "answer 1", "answer 2", "answer 1")]

    assert [one.json()["choices"][0]["message"]["content"] for one in again] == ["One?", "Two?", "Three?", "Two?"]
    assert answers_of(desk, run) == ["go", "go"]


def test_of_two_answers_that_say_the_same_the_first_one_repeated_gets_its_own_response(desk: Served) -> None:
    said = ["Hello", WHICH, "yes", REFUND, "yes"]
    run = begun(desk, WHICH)
    chat(desk, *said[:3], key="first")
    desk.ask_human(run, REFUND, turn=2)
    chat(desk, *said, key="second")
    desk.finish(run, "It is done.")

    again = [chat(desk, *said[:3], key="first"), chat(desk, *said, key="second")]

    assert [one.json()["choices"][0]["message"]["content"] for one in again] == [REFUND, "It is done."]
    assert [one.headers["idempotent-replayed"] for one in again] == ["true", "true"]


def test_an_answer_whose_key_was_kept_without_its_question_is_known_by_its_text(desk: Served) -> None:
    run = begun(desk, WHICH)
    chat(desk, "Hello", WHICH, "111", key="answer")
    desk.ask_human(run, REFUND, turn=2)
    with desk.store.database.begin() as connection:  # as versions did that kept only the run
        connection.execute(sa.update(idempotency_keys).values(resource=run))

    again = chat(desk, "Hello", WHICH, "111", key="answer")

    assert again.json()["choices"][0]["message"]["content"] == REFUND


def ahead_of(name: str, module: Any, first: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `first` happen when the function of that name is next called, before it does anything."""
    real, waits = getattr(module, name), [first]

    def held_up(*given: Any) -> object:
        if waits:
            waits.pop()()
        return real(*given)

    monkeypatch.setattr(module, name, held_up)


@pytest.mark.parametrize("respond_or_chat", [respond, chat])
def test_a_request_sent_twice_at_once_is_shown_the_first_question_twice(
    desk: Served, respond_or_chat: Callable[..., httpx2.Response], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slower one finds the run of the faster one, which waits for its user by then."""
    begun: list[str] = []

    def send() -> httpx2.Response:
        body = {"key": "begin"} | ({"metadata": {"session_id": "talk"}} if respond_or_chat is chat else {})
        return respond_or_chat(desk, "Hello", **body)

    def faster() -> None:
        begun.append(run_of(send()))
        desk.ask_human(begun[0], WHICH)

    ahead_of("_waiting", openai, faster, monkeypatch)
    slower = send()

    assert (slower.status_code, run_of(slower)) == (200, begun[0]), slower.text
    assert WHICH in slower.text
    assert slower.headers["idempotent-replayed"] == "true"
    assert answers_of(desk, begun[0]) == []


@pytest.mark.parametrize("key", [None, "answer"])
def test_an_answer_sent_twice_at_once_gets_the_same_response_twice(
    desk: Served, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(respond(desk, "Hello"))
    desk.ask_human(run, WHICH, turn=1)

    def faster() -> None:
        respond(desk, "111", first_of(run), key=key)
        desk.ask_human(run, REFUND, turn=2)

    ahead_of("_answer", run_of_request, faster, monkeypatch)
    slower = respond(desk, "111", first_of(run), key=key)

    assert (text_of(slower), slower.headers["idempotent-replayed"]) == (REFUND, "true")
    assert answers_of(desk, run) == ["111"]


def test_the_slower_one_of_two_answers_is_refused(desk: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(respond(desk, "Hello"))
    desk.ask_human(run, WHICH)

    ahead_of("_answer", run_of_request, lambda: respond(desk, "111", first_of(run)), monkeypatch)
    refused = respond(desk, "222", first_of(run))

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "already_answered")
    assert answers_of(desk, run) == ["111"]


@pytest.mark.parametrize("ended", ["completed", "cancelled"])
def test_a_branch_from_an_earlier_response_has_the_conversation_up_to_it(desk: Served, ended: str) -> None:
    run = asked_twice(desk)
    if ended == "completed":
        desk.finish(run, "It is refunded.")
    else:
        cancel(desk, run)

    branch = run_of(respond(desk, "no", first_of(run)))

    view = desk.http.get(f"/v1/runs/{branch}").json()
    assert view["session_id"] != desk.http.get(f"/v1/runs/{run}").json()["session_id"]
    assert [message["content"] for message in view["history"]] == ["Hello", WHICH]


def test_the_last_response_of_a_run_is_continued_in_its_session_with_all_that_was_said(desk: Served) -> None:
    run = asked_twice(desk)
    second = respond(desk, "yes", first_of(run)).json()["id"]
    respond(desk, "no", second)
    desk.finish(run, "Nothing was refunded.")
    last = respond(desk, "no", second).json()["id"]

    later = run_of(respond(desk, "thanks", last))

    view = desk.http.get(f"/v1/runs/{later}").json()
    assert view["session_id"] == desk.http.get(f"/v1/runs/{run}").json()["session_id"]
    said = ["Hello", WHICH, "yes", REFUND, "no", "Nothing was refunded."]
    assert [message["content"] for message in view["history"]] == said


def test_an_answer_whose_run_was_cancelled_before_it_responded_begins_a_branch(desk: Served) -> None:
    run = run_of(respond(desk, "Hello"))
    desk.ask_human(run, WHICH)
    respond(desk, "111", first_of(run))
    cancel(desk, run)

    branch = run_of(respond(desk, "111", first_of(run)))

    assert branch != run
    history = desk.http.get(f"/v1/runs/{branch}").json()["history"]
    assert [message["content"] for message in history] == ["Hello", WHICH]
