"""Scripted models answer in the order of their script, as text or calls, and tell what it does not foresee."""

from __future__ import annotations

from typing import Any

from turnwise.testing.fake_llm.answer import ScriptedFault
from turnwise.testing.fake_llm.request import ChatRequest

from .program import Call, Speaker
from .script import ScriptedModels

ADD = Call(tool="add", arguments={"n": 1})
OFFER = [{"type": "function", "function": {"name": "add"}}]


def test_each_speaker_says_its_answers_in_order() -> None:
    models = ScriptedModels([Speaker(system="left", says=["a", "b"]), Speaker(says=["c"], always=True)])

    said = [models(_request("left")), models(_request("right")), models(_request("left")), models(_request("left"))]

    assert [answer.content for answer in said] == ["a", "c", "b", "c"]
    assert models.left == 0


def test_a_speaker_may_wait_for_a_last_message() -> None:
    models = ScriptedModels([Speaker(last="^2$", says=["even"]), Speaker(says=["odd"])])

    assert models(_request("s", "3")).content == "odd"
    assert models(_request("s", "2")).content == "even"


def test_a_tool_is_a_call_where_it_is_offered_and_text_elsewhere() -> None:
    models = ScriptedModels([Speaker(says=[ADD, ADD])])

    [call] = models(_request("s", tools=OFFER)).tool_calls

    assert (call.id, call.name, call.arguments) == ("call_1", "add", {"n": 1})
    assert models(_request("s")).content == '{"request": "add", "n": 1}'


def test_a_request_without_an_answer_is_an_error_that_is_told() -> None:
    models = ScriptedModels([Speaker(system="left", says=["a"])])

    answer = models(_request("right", "who?"))

    assert isinstance(answer.fault, ScriptedFault)
    assert models.unscripted == ["no speaker of the script has an answer left to 'who?'"]
    assert models.left == 1


def _request(system: str, last: str = "hello", **more: Any) -> ChatRequest:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": last}]
    return ChatRequest.model_validate({"model": "m", "messages": messages, **more})
