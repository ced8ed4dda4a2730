"""Limits of the fake provider: what it lets through, and what it announces."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnwise.errors import ConfigurationError
from turnwise.testing.fake_llm.limits import Decision, RequestLimiter, ServerLimits
from turnwise.testing.fake_llm.request import ChatRequest
from turnwise.testing.fake_llm.script import load_script
from turnwise.testing.fake_llm.wire import prompt_tokens

ME = ("turnwise-fake", "Bearer k")
ASKED = ChatRequest(model="turnwise-fake", messages=[{"role": "user", "content": "hello"}])


class Hands:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def enter(gate: RequestLimiter, limit: int | None = None) -> Decision:
    return gate.enter(ME, ASKED.model_copy(update={"max_tokens": limit}))


def test_so_many_requests_are_let_through_in_a_window_and_the_next_when_the_first_has_left_it() -> None:
    clock = Hands()
    gate = RequestLimiter(ServerLimits(requests=2, window=10), clock)
    first = enter(gate)
    assert first.call is not None
    assert first.headers == {
        "x-ratelimit-limit-requests": "2",
        "x-ratelimit-remaining-requests": "1",
        "x-ratelimit-reset-requests": "10s",
    }
    clock.now = 104.0
    assert enter(gate).headers["x-ratelimit-remaining-requests"] == "0"
    clock.now = 109.98
    refused = enter(gate)
    assert refused.call is None
    assert refused.headers["retry-after-ms"] == "20" and refused.headers["retry-after"] == "1"
    assert refused.headers["x-ratelimit-reset-requests"] == "4.02s"
    assert "2 requests in 10 s; try again in 20ms" in refused.why
    clock.now = 110.0
    assert enter(gate).call is not None


def test_a_minute_is_written_as_minutes() -> None:
    assert (
        enter(RequestLimiter(ServerLimits(requests=1, window=360), Hands())).headers["x-ratelimit-reset-requests"]
        == "6m0s"
    )


def test_a_call_counts_its_longest_answer_until_it_is_answered() -> None:
    clock, prompt = Hands(), prompt_tokens(ASKED)
    gate = RequestLimiter(ServerLimits(tokens=10 * prompt, window=10), clock)
    call = enter(gate, limit=8 * prompt).call
    assert call is not None
    assert enter(gate, limit=2 * prompt).call is None
    gate.leave(ME, call, 2 * prompt)
    after = enter(gate, limit=2 * prompt)
    assert after.call is not None
    assert after.headers["x-ratelimit-remaining-tokens"] == str(5 * prompt)


def test_a_call_that_was_answered_after_its_window_frees_nothing_of_the_next() -> None:
    clock, prompt = Hands(), prompt_tokens(ASKED)
    gate = RequestLimiter(ServerLimits(tokens=10 * prompt, window=10), clock)
    slow = enter(gate, limit=8 * prompt).call
    clock.now += 11
    assert enter(gate, limit=8 * prompt).call is not None
    assert slow is not None
    gate.leave(ME, slow, 0)
    assert enter(gate, limit=2 * prompt).call is None


def test_only_so_many_calls_are_answered_at_once() -> None:
    gate = RequestLimiter(ServerLimits(concurrency=1), Hands())
    call = enter(gate).call
    assert call is not None
    assert enter(gate).call is None
    gate.leave(ME, call, None)
    assert enter(gate).call is not None


def test_models_and_keys_are_counted_apart() -> None:
    gate = RequestLimiter(ServerLimits(requests=1), Hands())
    assert enter(gate).call is not None
    assert gate.enter(("other-model", ME[1]), ASKED).call is not None
    assert gate.enter((ME[0], "Bearer other"), ASKED).call is not None
    assert enter(gate).call is None


def test_scripts_may_set_limits(tmp_path: Path) -> None:
    rules, program = tmp_path / "rules.json", tmp_path / "script.py"
    rules.write_text('{"default": "ok", "limits": {"requests": 3, "window": 2}}')
    program.write_text('limits = {"tokens": 9}\ndef answer(request):\n    return "ok"\n')
    assert load_script(rules).limits == ServerLimits(requests=3, window=2)
    assert load_script(program).limits == ServerLimits(tokens=9)
    assert load_script(program)(ASKED) == "ok"


def test_a_limit_that_is_none_is_told_with_its_place(tmp_path: Path) -> None:
    rules, program = tmp_path / "rules.json", tmp_path / "script.py"
    rules.write_text('{"limits": {"requests": 0}}')
    with pytest.raises(ConfigurationError, match=r"rules.json:1: limits.requests: Input should be greater than 0"):
        load_script(rules)
    program.write_text('limits = {"rpm": 9}\ndef answer(request):\n    return "ok"\n')
    with pytest.raises(ConfigurationError, match=r"script.py: limits.rpm: Extra inputs are not permitted"):
        load_script(program)
