"""A run that a limit ended says so: in the log, and to whoever asks its task."""

from __future__ import annotations

import asyncio
import logging
from decimal import Decimal

import pytest

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    LLMConfig,
    MockLMConfig,
    OpenAIGPTConfig,
    StatusCode,
    StopReason,
    Task,
    temporary_settings,
)
from turnwise.observability.display import Settings

# Refused before it is called.
UNPRICED = OpenAIGPTConfig(chat_model="house-model", api_base="http://127.0.0.1:9/v1")


def _task(config: LLMConfig | None = None, **more: object) -> Task[ChatDocument]:
    llm = config or MockLMConfig(response_fn=lambda text: f"{text}+")
    agent = ChatAgent(ChatAgentConfig(name="Poet", llm=llm))
    return Task(agent, interactive=False, **more)  # type: ignore[arg-type]


def _lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if getattr(one, "action", "") == "run_stopped"]


def test_a_model_without_a_price_is_named_as_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    task = _task(UNPRICED)

    result = task.run("a verse", max_cost=0.05)

    assert result is not None and result.metadata.status is StatusCode.MAX_COST
    reason = task.stop_reason
    assert reason is not None
    assert (reason.limit, reason.value, reason.used, reason.scope) == ("cost", Decimal("0.05"), Decimal(0), "run")
    assert "has no known price" in reason.why
    assert str(reason).startswith("stopped: cost limit $0.05, $0 used; model 'house-model' has no known price")
    assert _lines(caplog) == [f"Task Poet {reason}"]


def test_a_refused_call_says_how_much_was_missing(caplog: pytest.LogCaptureFixture) -> None:
    task = _task(UNPRICED)

    task.run("a verse", max_tokens=10)

    reason = task.stop_reason
    assert reason is not None and reason.limit == "tokens" and reason.value == 10
    assert "10 are left" in reason.why
    assert _lines(caplog) == [f"Task Poet {reason}"]


def test_given_turns_are_told_quietly(caplog: pytest.LogCaptureFixture) -> None:
    task = _task()
    with caplog.at_level(logging.INFO):
        task.run("a verse", turns=3)

    assert task.stop_reason == StopReason(limit="turns", value=3)
    assert [one.levelname for one in caplog.records if getattr(one, "action", "") == "run_stopped"] == ["INFO"]


def test_a_single_round_is_no_limit(caplog: pytest.LogCaptureFixture) -> None:
    task = _task(single_round=True)
    with caplog.at_level(logging.INFO):
        result = task.run("a verse")

    assert result is not None and result.metadata.status is StatusCode.FIXED_TURNS
    assert task.stop_reason is None
    assert _lines(caplog) == []


def test_turns_of_the_settings_a_time_and_stalls_are_limits(caplog: pytest.LogCaptureFixture) -> None:
    with temporary_settings(Settings(max_turns=2)):
        capped = _task()
        capped.run("a verse")
    silent = _task(MockLMConfig(response_fn=lambda text: ""), max_stalled_steps=2)
    silent.run("a verse")

    async def slow(text: str) -> str:
        await asyncio.sleep(3600)
        return text

    late = _task(MockLMConfig(response_fn_async=slow))
    asyncio.run(late.run_async("a verse", max_time=0.01))

    assert capped.stop_reason == StopReason(limit="max_turns", value=2)
    assert silent.stop_reason == StopReason(limit="stalled_steps", value=2)
    assert late.stop_reason == StopReason(limit="time", value=0.01)
    assert len(_lines(caplog)) == 3


def test_a_run_that_ends_by_itself_has_no_such_reason(caplog: pytest.LogCaptureFixture) -> None:
    task = _task(MockLMConfig(response_fn=lambda text: "DONE"))
    task.run("a verse", turns=1)
    task.run("a verse")
    assert task.stop_reason is None
    assert not _lines(caplog)
    stalled = _task(MockLMConfig(response_fn=lambda text: ""))
    stalled.run("a verse")
    assert stalled.stop_reason is not None
    assert stalled.clone(1).stop_reason is None


def test_whose_limit_it_was_is_said() -> None:
    reason = StopReason(limit="cost", value=Decimal("1.50"), used=Decimal("1.5000"), scope="tenant_day")
    assert str(reason) == "stopped: the tenant's day's cost limit $1.5, $1.5 used"
    assert reason.as_json() == {
        "limit": "cost",
        "scope": "tenant_day",
        "value": "1.50",
        "used": "1.5000",
        "why": None,
        "message": str(reason),
    }


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"max_cost": -1}, "max_cost is -1; expected a number of at least 0"),
        ({"max_cost": float("nan")}, "max_cost is nan; expected a number"),
        ({"max_cost": "0.5"}, "max_cost is '0.5'; expected a number"),
        ({"max_tokens": -5}, "max_tokens is -5; expected a whole number"),
        ({"max_tokens": "a"}, "max_tokens is 'a'; expected a whole number"),
        ({"max_time": "1"}, "max_time is '1'; expected a number"),
        ({"turns": "3"}, "turns is '3'; expected a whole number"),
    ],
)
def test_a_limit_that_is_none_is_refused(limits: dict[str, object], told: str) -> None:
    task = _task()

    with pytest.raises(ValueError, match=told):
        task.run("a", **limits)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match=told):
        asyncio.run(task.run_async("a", **limits))  # type: ignore[call-overload]

    assert task.run("a", turns=2) is not None
