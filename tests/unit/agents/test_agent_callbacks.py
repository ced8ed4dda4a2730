"""The callbacks of an interface while an agent works."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    LLMResponse,
    MockLMConfig,
    OpenAIGPTConfig,
    RetryPolicy,
    StatusCode,
    StreamEventType,
    Task,
    ToolMessage,
)
from turnwise.agents.human.terminal import UNATTENDED, ask_on_terminal
from turnwise.base.call_context import under
from turnwise.errors import ConfigurationError, ModelUnavailableError
from turnwise.testing.fake_llm.server import FakeLLMServer

RULES: list[dict[str, Any]] = [
    {"match": "think", "reply": {"content": "It is four.", "reasoning": "Two and two."}},
    {"match": "square", "reply": {"tool_calls": [{"name": "square", "arguments": {"number": 3}}]}},
    {"match": "as text", "reply": '{"request": "square", "number": 3}'},
    {"match": "break", "reply": "a b c d e f", "fault": "disconnect"},
    {"match": "", "reply": "Hello to you."},
]


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square <number>."
    number: int

    def handle(self) -> str:
        return str(self.number**2)


class Fails(Square):
    def handle(self) -> str:
        raise ValueError("no squares today")


@pytest.fixture(scope="module")
def server() -> Iterator[FakeLLMServer]:
    with FakeLLMServer(RULES) as running:
        yield running


def agent_of(server: FakeLLMServer, *, stream: bool = True, **settings: Any) -> ChatAgent:
    llm = OpenAIGPTConfig(api_base=server.base_url, api_key=SecretStr("k"), stream=stream)
    return ChatAgent(ChatAgentConfig(llm=llm, **settings))


class Screen:
    """An interface that writes down everything it is told."""

    def __init__(self, agent: ChatAgent) -> None:
        self.seen: list[Any] = []
        self.tokens: list[str] = []
        self.kinds: list[tuple[str, StreamEventType]] = []
        callbacks = agent.callbacks
        callbacks.start_llm_stream = self.start
        callbacks.cancel_llm_stream = lambda: self.seen.append("cancel")
        callbacks.finish_llm_stream = lambda **told: self.seen.append(("finish", told))
        callbacks.show_llm_response = lambda **told: self.seen.append(("llm", told))
        callbacks.show_agent_response = lambda **told: self.seen.append(("agent", told))
        callbacks.show_error_message = lambda error: self.seen.append(("error", error))
        callbacks.show_start_response = lambda entity: self.seen.append(("start", entity))

    def start(self) -> Any:
        self.seen.append("stream")
        return self.tokens.append

    def start_with_kinds(self) -> Any:
        return lambda text, kind: self.kinds.append((text, kind))

    def names(self) -> list[str]:
        return [item if isinstance(item, str) else item[0] for item in self.seen]

    def told(self, name: str) -> Any:
        return next(item[1] for item in self.seen if item[0] == name)


def answer(agent: ChatAgent, text: str, *, asynchronous: bool) -> ChatDocument | None:
    return asyncio.run(agent.llm_response_async(text)) if asynchronous else agent.llm_response(text)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_streamed_answer_is_shown_as_it_arrives_and_not_again(server: FakeLLMServer, asynchronous: bool) -> None:
    agent = agent_of(server)
    screen = Screen(agent)

    answer(agent, "hi", asynchronous=asynchronous)

    assert screen.names() == ["start", "stream", "finish"]
    assert screen.told("start") == "llm"
    assert len(screen.tokens) > 1
    assert "".join(screen.tokens) == "Hello to you."
    told = screen.told("finish")
    assert told == {"content": "Hello to you.", "tools_content": "", "is_tool": False, "reasoning": ""}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_answer_that_is_not_streamed_is_shown_whole(server: FakeLLMServer, asynchronous: bool) -> None:
    agent = agent_of(server, stream=False)
    screen = Screen(agent)

    answer(agent, "think", asynchronous=asynchronous)

    assert screen.names() == ["start", "llm"]
    assert screen.told("llm")["content"] == "It is four."
    assert screen.told("llm")["reasoning"] == "Two and two."
    assert screen.told("llm")["cached"] is False


def test_a_listener_with_two_parameters_hears_reasoning_and_calls_too(server: FakeLLMServer) -> None:
    agent = agent_of(server, use_functions_api=True)
    agent.enable_message(Square)
    screen = Screen(agent)
    agent.callbacks.start_llm_stream = screen.start_with_kinds

    agent.llm_response("think")
    agent.llm_response("square")

    heard = {kind: "".join(text for text, of in screen.kinds if of is kind) for _, kind in screen.kinds}
    assert heard == {
        StreamEventType.REASONING: "Two and two.",
        StreamEventType.TEXT: "It is four.",
        StreamEventType.TOOL_NAME: "square",
        StreamEventType.TOOL_ARGS: '{"number": 3}',
    }
    assert [item[1]["is_tool"] for item in screen.seen if item[0] == "finish"] == [False, True]
    assert screen.seen[-1][1]["tools_content"] == 'square({"number": 3})'


def test_a_listener_with_one_parameter_hears_the_text_alone(server: FakeLLMServer) -> None:
    agent = agent_of(server)
    screen = Screen(agent)

    agent.llm_response("think")

    assert "".join(screen.tokens) == "It is four."


def test_an_async_run_awaits_the_async_twin_and_its_listener(server: FakeLLMServer) -> None:
    agent = agent_of(server)
    screen = Screen(agent)
    heard: list[str] = []

    async def start() -> Any:
        await asyncio.sleep(0)

        async def listen(text: str) -> None:
            await asyncio.sleep(0)
            heard.append(text)

        return listen

    agent.callbacks.start_llm_stream_async = start
    asyncio.run(agent.llm_response_async("hi"))

    assert "".join(heard) == "Hello to you."
    assert screen.names() == ["start", "finish"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_stream_that_breaks_off_is_cancelled_and_the_error_told_and_raised(
    server: FakeLLMServer, asynchronous: bool
) -> None:
    agent = agent_of(server)
    agent.config.retry = RetryPolicy(tries=2, first_wait=0)
    screen = Screen(agent)

    with pytest.raises(ModelUnavailableError) as raised:
        answer(agent, "break", asynchronous=asynchronous)

    # The stream of each try is cancelled, and the error told once.
    assert screen.names() == [*["start", "stream", "cancel"] * 2, "error"]
    assert screen.told("error") == str(raised.value)


def test_a_cached_answer_cancels_the_stream_and_is_shown_whole() -> None:
    cached = LLMResponse(message="As before.", cached=True)
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(stream=True, response_fn=lambda _: cached)))
    screen = Screen(agent)

    agent.llm_response("hi")

    assert screen.names() == ["start", "stream", "cancel", "llm"]
    assert screen.told("llm")["cached"] is True


def test_a_tool_is_announced_as_one_and_the_handlers_answer_is_shown(server: FakeLLMServer) -> None:
    agent = agent_of(server, stream=False)
    agent.enable_message(Square)
    screen = Screen(agent)

    result = Task(agent, interactive=False, done_if_response=["Agent"]).run("as text")

    assert result is not None
    assert result.content == "9"
    assert screen.names() == ["start", "llm", "start", "agent"]
    assert [item[1] for item in screen.seen if item[0] == "start"] == ["llm", "agent"]
    assert screen.told("llm")["is_tool"] is True
    assert screen.told("agent") == {"content": "9", "language": "text", "is_tool": False}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_handlers_error_is_told_and_not_swallowed(server: FakeLLMServer, asynchronous: bool) -> None:
    agent = agent_of(server, stream=False)
    agent.enable_message(Fails)
    screen = Screen(agent)
    task = Task(agent, interactive=False)

    with pytest.raises(ValueError, match="no squares today"):
        asyncio.run(task.run_async("as text")) if asynchronous else task.run("as text")

    assert screen.seen[-1] == ("error", "no squares today")
    assert screen.names().count("error") == 1


def test_an_error_of_a_model_that_a_handler_called_is_told_once(server: FakeLLMServer) -> None:
    class Asks(ChatAgent):
        def square(self, msg: Square) -> str:
            answer = self.llm_response_forget("break")
            return answer.content if answer else ""

    agent = Asks(agent_of(server, stream=False, retry=RetryPolicy.NEVER).config)
    agent.enable_message(Square)
    screen = Screen(agent)

    with pytest.raises(ModelUnavailableError):
        Task(agent, interactive=False).run("as text")

    assert screen.names().count("error") == 1


def test_a_callback_is_given_only_the_keywords_that_it_takes(server: FakeLLMServer) -> None:
    agent = agent_of(server, stream=False)
    shown: list[str] = []
    agent.callbacks.show_llm_response = lambda content: shown.append(content)

    agent.llm_response("hi")

    assert shown == ["Hello to you."]


def test_what_a_callback_raises_is_not_swallowed(server: FakeLLMServer) -> None:
    agent = agent_of(server, stream=False)

    def fail(content: str) -> None:
        raise RuntimeError("the window is closed")

    agent.callbacks.show_llm_response = fail

    with pytest.raises(RuntimeError, match="the window is closed"):
        agent.llm_response("hi")


def test_callbacks_that_nobody_set_may_be_called() -> None:
    callbacks = ChatAgent().callbacks

    callbacks.start_llm_stream()("a piece")
    callbacks.show_llm_response(content="x", is_tool=False)
    callbacks.set_parent_agent(ChatAgent())

    assert callbacks.get_last_step() is None
    assert not callbacks.is_set("start_llm_stream", "show_llm_response", "get_user_response")


def human(server: FakeLLMServer) -> tuple[ChatAgent, list[str]]:
    agent = agent_of(server, stream=False)
    prompts: list[str] = []

    def reply(prompt: str) -> str:
        prompts.append(prompt)
        return "bye"

    agent.callbacks.get_user_response = reply
    return agent, prompts


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_human_is_asked_by_the_callback_without_a_prompt(server: FakeLLMServer, asynchronous: bool) -> None:
    agent, prompts = human(server)
    task = Task(agent)

    result = asyncio.run(task.run_async("hi")) if asynchronous else task.run("hi")

    assert result is not None
    assert result.content == "bye"
    assert prompts == [""]


def test_an_async_run_awaits_the_humans_async_callback(server: FakeLLMServer) -> None:
    agent, prompts = human(server)

    async def reply(prompt: str) -> str:
        await asyncio.sleep(0)
        return "quit"

    agent.callbacks.get_user_response_async = reply

    result = asyncio.run(Task(agent).run_async("hi"))

    assert result is not None
    assert result.content == "quit"
    assert prompts == []


def test_a_sync_run_says_that_only_the_async_callback_is_set(server: FakeLLMServer) -> None:
    async def reply(prompt: str) -> str:
        return "bye"

    agent = agent_of(server, stream=False)
    agent.callbacks.get_user_response_async = reply

    with pytest.raises(ConfigurationError, match=r"only the callback get_user_response_async.*run_async"):
        Task(agent).run("hi")


async def says_bye(prompt: str) -> str:
    return "bye"


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize(
    ("callback", "error"),
    [
        (says_bye, r"get_user_response is no plain function.*set get_user_response_async to it"),
        (lambda prompt: 5, r"the callback get_user_response returned int; expected .* text, or None"),
    ],
)
def test_a_human_who_says_no_text_is_an_error_of_the_callback(callback: Any, error: str, awaited: bool) -> None:
    agent = ChatAgent(ChatAgentConfig(name="Bot", llm=MockLMConfig()))
    agent.callbacks.get_user_response = callback

    with pytest.raises(ConfigurationError, match=error):
        asyncio.run(Task(agent).run_async("hi")) if awaited else Task(agent).run("hi")


async def says_five(prompt: str) -> Any:
    return 5


@pytest.mark.parametrize(
    ("callback", "error"),
    [
        (lambda prompt: "bye", r"get_user_response_async is no async function.*set get_user_response to it"),
        (says_five, r"the callback get_user_response_async returned int"),
    ],
)
def test_a_human_who_is_awaited_says_a_text_too(callback: Any, error: str) -> None:
    agent = ChatAgent(ChatAgentConfig(name="Bot", llm=MockLMConfig()))
    agent.callbacks.get_user_response_async = callback

    with pytest.raises(ConfigurationError, match=error):
        asyncio.run(Task(agent).run_async("hi"))


def team() -> tuple[Task, Task]:
    boss = ChatAgent(ChatAgentConfig(name="Boss", llm=MockLMConfig(default_response="Who knows?")))
    helper = ChatAgent(ChatAgentConfig(name="Helper", llm=MockLMConfig(default_response="DONE I know.")))
    task, sub = Task(boss, interactive=False, single_round=False), Task(helper, interactive=False)
    task.add_sub_task(sub)
    return task, sub


def test_a_task_tells_of_its_sub_task_and_whose_agent_called() -> None:
    task, sub = team()
    parents: list[Any] = []
    shown: list[dict[str, Any]] = []
    sub.agent.callbacks.set_parent_agent = parents.append
    sub.callbacks.set_parent_agent = parents.append
    task.callbacks.show_subtask_response = lambda **told: shown.append(told)

    task.run("hi", turns=2)

    assert parents == [task.agent, task.agent]
    assert shown == [{"task": sub, "content": "I know.", "is_tool": False}]


def test_an_interface_nests_by_what_its_parent_shows_last() -> None:
    task, sub = team()
    nested: list[Any] = []
    task.agent.callbacks.get_last_step = lambda: "the boss's last step"
    sub.agent.callbacks.set_parent_agent = lambda parent: nested.append(parent.callbacks.get_last_step())

    task.run("hi", turns=2)

    assert nested == ["the boss's last step"]


def test_a_clone_has_callbacks_of_its_own_that_begin_as_the_originals() -> None:
    task, _ = team()
    shown: list[str] = []
    task.agent.callbacks.show_llm_response = shown.append
    task.callbacks.show_subtask_response = shown.append

    clone = task.clone(1)
    clone.agent.callbacks.show_llm_response = clone.callbacks.show_subtask_response = print

    assert task.agent.callbacks.show_llm_response == shown.append
    assert task.callbacks.show_subtask_response == shown.append
    assert task.clone(2).agent.callbacks.is_set("show_llm_response")
    assert task.clone(2).callbacks.is_set("show_subtask_response")


def piped(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_what_is_piped_in_is_what_the_human_says_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, "yes\n\nno")
    assert [ask_on_terminal("sure?") for _ in range(5)] == ["yes", "", "no", "q", "q"]


def test_a_program_with_piped_input_ends_when_the_input_does(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []

    def more(text: str) -> str:
        heard.append(text)
        return "and then?"

    llm = MockLMConfig(response_fn=more)
    piped(monkeypatch, "yes\n")
    result = Task(ChatAgent(ChatAgentConfig(name="Bot", llm=llm))).run("shall we?")
    assert heard == ["shall we?", "yes"]
    assert result is not None
    assert result.metadata.status is StatusCode.USER_QUIT


def test_piped_input_that_is_no_text_is_its_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9\n"), encoding="utf-8"))
    result = Task(ChatAgent(ChatAgentConfig(name="Bot", llm=MockLMConfig(default_response="and?")))).run("shall we?")
    assert result is not None
    assert result.metadata.status is StatusCode.USER_QUIT
    assert "turnwise: the input is no utf-8 text" in capsys.readouterr().err


def test_nobody_is_asked_where_nobody_sits(monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, "yes\n")
    with under(UNATTENDED, True):
        assert ask_on_terminal("sure?") == ""
