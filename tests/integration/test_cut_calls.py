"""Calls that are cut short, over real HTTP: the server sees the connection close, and nobody waits for the answer."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import SecretStr
from tests.e2e.waiting import until

from turnwise import ChatAgent, ChatAgentConfig, OpenAIGPTConfig, StatusCode, Task, ToolMessage, cancelled
from turnwise.base.cancellation import Cancellation, Cause
from turnwise.errors import CallCancelledError, CallTimeoutError
from turnwise.models.base import LLMMessage, Role
from turnwise.models.create import create_model
from turnwise.models.language_model import LanguageModel
from turnwise.models.openai.connections import ProviderConnections
from turnwise.testing.fake_llm.server import FakeLLMServer

# What no test may wait for.
HOURS = 3_600.0
RULES: list[dict[str, Any]] = [
    {"match": "hang", "reply": "at last", "delay": HOURS},
    {"match": "consult", "reply": '{"request": "ask_other", "text": "hang"}'},
    {"match": ".*", "reply": "here"},
]


@pytest.fixture
def server() -> Iterator[FakeLLMServer]:
    with FakeLLMServer(RULES) as running:
        yield running


def config(server: FakeLLMServer, **more: Any) -> OpenAIGPTConfig:
    return OpenAIGPTConfig(api_base=server.base_url, api_key=SecretStr("k"), **more)


def model_of(server: FakeLLMServer, **more: Any) -> LanguageModel:
    model = create_model(config(server, **more))
    assert model is not None
    return model


def say(text: str) -> list[LLMMessage]:
    return [LLMMessage(role=Role.USER, content=text)]


def in_flight(server: FakeLLMServer, n: int) -> None:
    until(lambda: server.stats()["in_flight"] == n, f"{n} calls in flight")


class InThread:
    """A call on a thread of its own, and what came of it."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.value: Any = None
        self.error: BaseException | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.value = self._call()
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            self.error = error

    def ended(self) -> InThread:
        self._thread.join(30)
        assert not self._thread.is_alive(), "the call was not cut"
        return self


@pytest.mark.parametrize("stream", [False, True])
def test_a_blocking_call_is_cut_from_another_thread(server: FakeLLMServer, stream: bool) -> None:
    model, token = model_of(server, stream=stream), Cancellation()

    def call() -> None:
        with token.open():
            model.chat(say("hang"), 100)

    calling = InThread(call)
    in_flight(server, 1)
    token.cancel(Cause.KILLED)

    assert isinstance(calling.ended().error, CallCancelledError)
    in_flight(server, 0)
    assert model.chat(say("hello"), 100).message == "here"


@pytest.mark.parametrize("stream", [False, True])
def test_an_awaited_call_is_cut_from_another_thread(server: FakeLLMServer, stream: bool) -> None:
    model, token = model_of(server, stream=stream), Cancellation()

    async def call() -> str | None:
        with pytest.raises(CallCancelledError), token.opened():
            await model.achat(say("hang"), 100)
        return (await model.achat(say("hello"), 100)).message

    calling = InThread(lambda: asyncio.run(call()))
    in_flight(server, 1)
    token.cancel(Cause.KILLED)

    assert calling.ended().value == "here"
    in_flight(server, 0)


def test_a_call_ends_with_the_time_that_it_may_take(server: FakeLLMServer) -> None:
    model = model_of(server)
    token = Cancellation(seconds=0.2, late=Cause.TIMEOUT, what="the answer of agent 'desk'")
    with pytest.raises(CallTimeoutError, match=r"the answer of agent 'desk' took longer than 0\.2 s"), token.open():
        model.chat(say("hang"), 100)
    in_flight(server, 0)


def test_what_was_cancelled_before_is_not_begun(server: FakeLLMServer) -> None:
    model, token = model_of(server), Cancellation()
    with pytest.raises(CallCancelledError), token.open():
        token.cancel(Cause.KILLED)
        model.chat(say("hello"), 100)
    assert server.stats()["requests"] == 0


def test_only_the_cut_call_loses_its_connection(server: FakeLLMServer) -> None:
    model, token = model_of(server), Cancellation()
    others = [InThread(lambda: model.chat(say("hello"), 100).message) for _ in range(8)]

    def call() -> None:
        with token.open():
            model.chat(say("hang"), 100)

    calling = InThread(call)
    in_flight(server, 1)
    token.cancel(Cause.KILLED)
    calling.ended()
    assert {other.ended().value for other in others} == {"here"}


def test_a_connection_is_used_again_by_the_next_call(server: FakeLLMServer) -> None:
    connections = ProviderConnections()
    with connections.client(config(server)) as first:
        pass
    with connections.client(config(server)) as second:
        pass
    assert first is second
    connections.close()


def task_of(server: FakeLLMServer, **more: Any) -> Task:
    agent = ChatAgent(ChatAgentConfig(name="desk", llm=config(server)))
    return Task(agent, interactive=False, single_round=True, **more)


def test_killing_a_task_cuts_its_call(server: FakeLLMServer) -> None:
    task = task_of(server)
    running = InThread(lambda: task.run("hang"))
    in_flight(server, 1)
    task.kill()

    result = running.ended().value
    assert result.metadata.status is StatusCode.KILL
    in_flight(server, 0)


def test_killing_a_session_cuts_awaited_calls(server: FakeLLMServer) -> None:
    task = task_of(server)
    running = InThread(lambda: asyncio.run(task.run_async("hang", session_id="s1")))
    in_flight(server, 1)
    Task.kill_session("s1")

    assert running.ended().value.metadata.status is StatusCode.KILL
    in_flight(server, 0)


@pytest.mark.parametrize("awaited", [False, True])
def test_a_run_ends_with_its_time(server: FakeLLMServer, awaited: bool) -> None:
    task = task_of(server)
    result = asyncio.run(task.run_async("hang", max_time=0.3)) if awaited else task.run("hang", max_time=0.3)
    assert result is not None
    assert result.metadata.status is StatusCode.TIMEOUT
    in_flight(server, 0)


class AskOther(ToolMessage):
    request: str = "ask_other"
    purpose: str = "To ask another desk."
    text: str


def test_the_call_of_a_task_that_a_handler_runs_is_cut_too(server: FakeLLMServer) -> None:
    inner = task_of(server)

    class Desk(ChatAgent):
        def ask_other(self, tool: AskOther) -> str:
            return str(inner.run(tool.text))

    desk = Desk(ChatAgentConfig(name="front", llm=config(server)))
    desk.enable_message(AskOther)
    task = Task(desk, interactive=False)
    running = InThread(lambda: task.run("consult"))
    until(lambda: server.stats()["requests"] == 2, "the inner call")
    in_flight(server, 1)
    task.kill()

    assert running.ended().value.metadata.status is StatusCode.KILL
    in_flight(server, 0)


def test_an_async_handler_is_cut_and_a_synchronous_one_can_look() -> None:
    begun, seen = threading.Event(), []

    class Desk(ChatAgent):
        async def ask_other(self, tool: AskOther) -> str:
            begun.set()
            await asyncio.sleep(HOURS)
            return "never"

    class Looking(ChatAgent):
        def ask_other(self, tool: AskOther) -> str:
            begun.set()
            while not cancelled():
                time.sleep(0.01)
            seen.append("cancelled")
            return "too late"

    for kind in (Desk, Looking):
        begun.clear()
        agent = kind(ChatAgentConfig(name="front", llm=None))
        agent.enable_message(AskOther)
        task = Task(agent, interactive=False)
        running = InThread(lambda task=task: task.run(AskOther(text="x")))  # type: ignore[misc]
        assert begun.wait(30)
        task.kill()
        assert running.ended().value.metadata.status is StatusCode.KILL
    assert seen == ["cancelled"]
