"""Runs in memory against a provider that has limits: they wait, and are not refused."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from pydantic import SecretStr

from turnwise import ChatAgent, ChatAgentConfig, OpenAIGPTConfig, RetryPolicy, Task, llm_response_batch
from turnwise.base.ids import new_id
from turnwise.errors import ModelRateLimitError
from turnwise.testing.fake_llm.server import FakeLLMServer

RULES: list[dict[str, Any]] = [{"match": "slow", "reply": "DONE slow", "delay": 0.05}, {"reply": "DONE quick"}]
# Shorter than the client's: connections are made while the window is open, which takes its time on a busy machine, and
# the client's margin is made for windows of a minute.
WINDOW = 0.5


def config(server: FakeLLMServer, **limits: Any) -> OpenAIGPTConfig:
    # A key of its own: limits are the process's.
    return OpenAIGPTConfig(
        api_base=server.base_url, api_key=SecretStr(new_id("key")), max_output_tokens=10, limit_window=2.5, **limits
    )


def task(llm: OpenAIGPTConfig) -> Task[Any]:
    # Without another try, so that a refusal is seen.
    once = RetryPolicy(rate_limit_tries=1)
    return Task(ChatAgent(ChatAgentConfig(name="Clerk", llm=llm, retry=once)), interactive=False)


def in_threads(llm: OpenAIGPTConfig, message: str, runs: int) -> list[str]:
    """The results of so many runs side by side, or the errors' names."""
    results: list[str] = []

    def run() -> None:
        try:
            result = task(llm).run(message)
            results.append(result.content if result is not None else "")
        except ModelRateLimitError:
            results.append("429")

    threads = [threading.Thread(target=run) for _ in range(runs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.parametrize("awaited", [False, True])
def test_configured_limits_are_kept(awaited: bool) -> None:
    with FakeLLMServer(RULES, limits={"requests": 5, "window": WINDOW}) as server:
        llm = config(server, requests_per_minute=5)
        if awaited:
            results = llm_response_batch(ChatAgent(ChatAgentConfig(llm=llm)), ["hello"] * 9)
            assert [found.content for found in results if found is not None] == ["DONE quick"] * 9
        else:
            assert in_threads(llm, "hello", 9) == ["quick"] * 9
        assert server.stats()["rate_limited"] == 0


def test_tokens_are_kept_too() -> None:
    with FakeLLMServer(RULES, limits={"tokens": 400, "window": WINDOW}) as server:
        assert in_threads(config(server, tokens_per_minute=200), "hello", 6) == ["quick"] * 6
        assert server.stats()["rate_limited"] == 0


def test_calls_at_once_are_kept() -> None:
    with FakeLLMServer(RULES) as server:
        assert in_threads(config(server, max_concurrency=2), "slow", 8) == ["slow"] * 8
        assert server.stats()["max_in_flight"] == 2


def test_announced_limits_are_kept_from_the_second_call_on() -> None:
    with FakeLLMServer(RULES, limits={"requests": 4, "window": WINDOW}) as server:
        llm = config(server)
        task(llm).run("hello")
        assert in_threads(llm, "hello", 9) == ["quick"] * 9
        assert server.stats()["rate_limited"] == 0


def test_without_limits_on_our_side_the_same_runs_are_refused() -> None:
    with FakeLLMServer(RULES, limits={"requests": 4, "window": 2}) as server:
        results = in_threads(config(server, requests_per_minute=100), "hello", 9)
        assert "429" in results and server.stats()["rate_limited"] > 0


def test_a_refusal_keeps_the_others_away() -> None:
    with FakeLLMServer(RULES, limits={"requests": 1, "window": WINDOW}) as server:
        llm = config(server, requests_per_minute=100)

        async def main() -> None:
            await task(llm).run_async("hello")
            with pytest.raises(ModelRateLimitError):
                await task(llm).run_async("hello")
            await task(llm).run_async("hello")

        asyncio.run(main())
        assert server.stats()["rate_limited"] == 1
