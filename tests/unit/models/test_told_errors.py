"""Answers with the status 200 that tell of an error, or that their server broke off."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import SecretStr
from tests.support.raw_model import RawAnswer, raw_model

from turnwise import ChatAgent, ChatAgentConfig, ErrorKind, OpenAIGPT, OpenAIGPTConfig, RetryPolicy, Task
from turnwise.errors import ModelError, ModelRateLimitError, ModelRefusedError, ModelRequestError, ModelUnavailableError
from turnwise.models.base import LLMResponse

WAYS = ["whole", "streamed", "batched"]
USAGE = {"prompt_tokens": 9, "completion_tokens": 2}


def asked(way: str, message: dict[str, Any], **choice: Any) -> LLMResponse:
    """The answer in a completion of that message, unstreamed, streamed, or as a provider's batch brings it."""
    if way == "streamed":
        first = {"choices": [{"index": 0, "delta": message}]}
        last = {"choices": [{"index": 0, "delta": {}} | choice], "usage": USAGE}
        pieces = tuple(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in (first, last))
        return answered(RawAnswer(headers={"content-type": "text/event-stream"}, pieces=pieces), stream=True)
    body = {"choices": [{"message": message} | choice], "usage": USAGE}
    if way == "batched":
        return model("http://127.0.0.1:1/v1").batch_answer(body, [])
    return answered(RawAnswer(pieces=(json.dumps(body).encode(),)))


def answered(answer: RawAnswer, *, stream: bool = False) -> LLMResponse:
    with raw_model(lambda _: answer) as url:
        return model(url, stream=stream).chat("What is the fare?")


def model(url: str, **more: Any) -> OpenAIGPT:
    return OpenAIGPT(OpenAIGPTConfig(chat_model="m", api_base=url, api_key=SecretStr("k"), **more))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", ["", "The fare is 8"])
@pytest.mark.parametrize("reason", ["error", "insufficient_system_resource"])
def test_an_answer_that_its_server_broke_off_is_none(reason: str, text: str, way: str) -> None:
    with pytest.raises(ModelUnavailableError, match=reason) as caught:
        asked(way, {"content": text}, finish_reason=reason)
    assert caught.value.may_have_cost
    assert caught.value.outage


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reason", ["error", "stop", None])
@pytest.mark.parametrize(
    ("error", "kind", "costs"),
    [
        ({"code": 502, "message": "upstream"}, ModelUnavailableError, True),
        ({"code": 429, "message": "upstream"}, ModelRateLimitError, False),
        ({"code": "invalid_api_key", "message": "upstream"}, ModelRequestError, False),
        ({"message": "upstream"}, ModelUnavailableError, True),
        ("upstream", ModelUnavailableError, True),
    ],
)
def test_an_error_in_a_choice_keeps_its_kind(
    error: Any, kind: type[ModelError], costs: bool, reason: str | None, way: str
) -> None:
    with pytest.raises(kind, match="upstream") as caught:
        asked(way, {"content": "The fa"}, finish_reason=reason, error=error)
    assert type(caught.value) is kind
    assert caught.value.may_have_cost is costs


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reason", ["stop", "eos", "stop_sequence", "length", "model_length", "function_call"])
def test_other_reasons_leave_the_answer_good(reason: str, way: str) -> None:
    response = asked(way, {"content": "84 EUR"}, finish_reason=reason, error=None)
    assert (response.message, response.refused, response.usage.prompt_tokens) == ("84 EUR", False, 9)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reason", ["length", "model_length", "content_filter"])
def test_the_arguments_of_a_cut_answer_may_be_missing(reason: str, way: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look_up", "arguments": ""}}
    response = asked(way, {"content": None, "tool_calls": [call]}, finish_reason=reason)
    functions = [call.function for call in response.oai_tool_calls or ()]
    assert [function and function.raw for function in functions] == [""]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", ["", "To do it, you fir"])
def test_an_answer_that_a_filter_cut_is_refused(text: str, way: str) -> None:
    response = asked(way, {"content": text}, finish_reason="content_filter")
    assert (response.message, response.refused) == (text, True)


def test_a_policy_may_ask_again_after_a_filter_cut_the_answer() -> None:
    cut = {"message": {"content": "To do it, you fir"}, "finish_reason": "content_filter"}
    good = {"message": {"content": "Ask an electrician."}, "finish_reason": "stop"}
    answers = iter([cut, good])
    with raw_model(lambda _: RawAnswer(pieces=(json.dumps({"choices": [next(answers)]}).encode(),))) as url:
        policy = RetryPolicy(tries=2, first_wait=0, kinds=frozenset({ErrorKind.REFUSED}))
        agent = ChatAgent(ChatAgentConfig(name="a", llm=model(url).config, retry=policy))
        result = Task(agent, interactive=False, single_round=True).run("How?")
    assert result is not None
    assert result.content == "Ask an electrician."


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("error", "kind", "says", "costs"),
    [
        ({"message": "No auth", "code": 401}, ModelRequestError, "401: No auth; check OPENAI_API_KEY", False),
        ({"message": "slow", "code": 429}, ModelRateLimitError, "429: slow", False),
        ({"message": "slow", "type": "rate_limit_error"}, ModelRateLimitError, "rate_limit_error: slow", False),
        ({"message": "no", "code": "content_filter"}, ModelRefusedError, "filter", False),
        ({"message": "broken", "code": 503}, ModelUnavailableError, "503: broken", True),
        ({"message": "broken"}, ModelUnavailableError, "an error: broken", True),
        ("No auth", ModelUnavailableError, "an error: No auth", True),
        (401, ModelRequestError, "OPENAI_API_KEY", False),
    ],
)
@pytest.mark.parametrize("more", [{}, {"choices": []}, {"choices": None}])
def test_an_error_in_place_of_an_answer_keeps_its_kind(
    error: Any, kind: type[ModelError], says: str, costs: bool, stream: bool, more: dict[str, Any]
) -> None:
    body = json.dumps({"error": error} | more).encode()
    with pytest.raises(kind, match=says) as caught:
        answered(RawAnswer(pieces=(body,)), stream=stream)
    assert type(caught.value) is kind
    assert caught.value.may_have_cost is costs
    assert "/v1" not in str(caught.value).split(" answered ")[1]


def test_a_rate_limit_in_place_of_an_answer_says_when_to_ask_again() -> None:
    headers = {"content-type": "application/json", "retry-after": "7"}
    with pytest.raises(ModelRateLimitError) as caught:
        answered(RawAnswer(headers=headers, pieces=(b'{"error": {"code": 429, "message": "slow"}}',)))
    assert caught.value.retry_after == 7


def test_an_error_that_is_null_is_none() -> None:
    body = {"error": None, "choices": [{"message": {"content": "84 EUR"}, "finish_reason": "stop"}]}
    assert answered(RawAnswer(pieces=(json.dumps(body).encode(),))).message == "84 EUR"
