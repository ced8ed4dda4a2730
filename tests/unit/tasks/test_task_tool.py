"""A model gives work to sub-agents that are made for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.every_way import results
from tests.support.raw_model import completion, raw_model
from tests.support.served_parts import Desk

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    DoneTool,
    LLMFunctionCall,
    LLMMessage,
    LLMResponse,
    MockLM,
    MockLMConfig,
    OpenAIGPT,
    OpenAIGPTConfig,
    OpenAIToolCall,
    StatusCode,
    Task,
    TaskTool,
    ToolMessage,
)
from turnwise.messages.stop_reason import StopReason
from turnwise.record.store import Store
from turnwise.tasks.observed import tell_stopped


class Multiply(ToolMessage):
    request: str = "multiply"
    purpose: str = "To multiply <a> by <b>."
    a: int
    b: int

    def handle(self) -> str:
        return f"product: {self.a * self.b}"


class Secret(ToolMessage):
    request: str = "secret"
    purpose: str = "No model may use it."
    _allow_llm_use: bool = False


def spawn(prompt: str = "5 times 7?", tools: list[str] | None = None, **more: Any) -> str:
    """Return the model's message that makes a sub-agent."""
    fields = {"system_message": "You multiply.", "prompt": prompt, "tools": tools or ["multiply"]}
    return json.dumps({"request": "task_tool", **fields, **more})


def says(text: str) -> str:
    """The model of the planner and of its sub-agents."""
    if text == "go":
        return spawn()
    if text == "5 times 7?":
        return '{"request": "multiply", "a": 5, "b": 7}'
    if text.startswith("product: "):
        return json.dumps({"request": "done_tool", "content": text.removeprefix("product: ")})
    return f"DONE {text}"


def planner(answers: Callable[[str], Any] = says, kind: type[TaskTool] = TaskTool) -> Task[Any]:
    agent = ChatAgent(ChatAgentConfig(name="Planner", llm=MockLMConfig(response_fn=answers)))
    agent.enable_message(kind)
    agent.enable_message([Multiply, Secret], use=False, handle=False)
    return Task(agent, interactive=False)


def first(text: str) -> Callable[[str], str]:
    """A model that says `text` first, and is else the one above."""
    return lambda asked: text if asked == "go" else says(asked)


def result_of(task: Task[Any]) -> str:
    result = task.run("go")
    assert result is not None
    return str(result.content)


def test_a_sub_agent_does_the_work_with_the_tools_that_were_named() -> None:
    assert result_of(planner()) == "35"


def test_a_sub_agent_works_in_an_event_loop() -> None:
    result = asyncio.run(planner().run_async("go"))

    assert result is not None
    assert result.content == "35"


def test_a_sub_agent_works_in_a_served_run(store: Store) -> None:
    app = App("plans", version="1")
    app.task(name="plan")(planner)
    with Desk(store, app) as desk:
        run = desk.go_on(desk.submit("plan", "go"))

    assert run.result is not None
    assert (run.status, run.result["content"]) == ("completed", "35")


@pytest.mark.parametrize("prompt", ["Which are DONE?", "What does __PASS__ mean?", "What is __SEND__:Bob hi?"])
def test_a_sub_agent_is_reminded_of_work_that_names_signals(prompt: str, tmp_path: Path) -> None:
    fields = {"system_message": "You multiply.", "prompt": prompt, "tools": ["multiply"]}
    call = OpenAIToolCall(id="c", function=LLMFunctionCall(name="task_tool", arguments=fields))

    def answers(text: str) -> str | LLMResponse:
        if text == "go":
            return LLMResponse(message=None, oai_tool_calls=[call])
        if text == prompt:
            return "Let me see."
        return says("5 times 7?" if text.startswith("You used no tool") else text)

    def make() -> Task[Any]:
        task = planner(answers)
        task.agent.config.use_functions_api = True
        return task

    assert results(make, tmp_path) == ["35"] * 3


def test_what_a_sub_agent_uses_counts_toward_the_run() -> None:
    calls: list[str] = []

    def counted(text: str) -> str:
        calls.append(text)
        return says(text)

    class Priced(MockLM):
        def most_usage(self, prompt_tokens: int, max_tokens: int) -> Any:
            return super().most_usage(prompt_tokens, max_tokens).model_copy(update={"completion_tokens": 100})

        def answer(self, *given: Any) -> Any:
            response = super().answer(*given)
            return response.model_copy(update={"usage": response.usage.model_copy(update={"completion_tokens": 100})})

    task = planner()
    task.agent.llm = Priced(MockLMConfig(response_fn=counted))
    result = task.run("go", max_tokens=250)

    assert result is not None
    assert result.metadata.status is StatusCode.MAX_TOKENS
    assert calls == ["go", "5 times 7?"]


@pytest.mark.parametrize(
    ("tools", "enabled"), [(["ALL"], {"multiply"}), (["NONE"], set()), (["multiply"], {"multiply"})]
)
def test_a_sub_agent_has_what_it_is_given(tools: list[str], enabled: set[str]) -> None:
    seen: list[LLMMessage] = []

    class Listening(MockLM):
        def answer(self, messages: Any, *more: Any) -> Any:
            seen.extend(messages)
            return super().answer(messages, *more)

    task = planner()
    task.agent.llm = Listening(MockLMConfig(response_fn=first(spawn("What are you?", tools))))
    task.run("go")

    told = next(m.content for m in seen if m.content.startswith("You multiply."))
    assert {name for name in ("multiply", "secret", "task_tool", "pass_tool") if f"TOOL: {name}" in told} == enabled
    assert "done_tool" in told


def test_a_tool_that_no_model_may_use_or_that_is_unknown_is_an_error_for_the_model() -> None:
    assert result_of(planner(first(spawn(tools=["secret", "nonsense"])))).startswith("ERROR: no tool nonsense, secret;")


def test_sub_agents_are_made_only_so_deep() -> None:
    depths = []

    def deeper(text: str) -> str:
        if text.startswith("ERROR"):
            return json.dumps({"request": "done_tool", "content": text})
        if text.startswith("level") or text == "go":
            depths.append(text)
            return spawn(f"level {len(depths)}", ["task_tool"])
        return says(text)

    class Shallow(TaskTool):
        _max_depth: int = 2

    result = result_of(planner(deeper, Shallow))

    assert result.startswith("ERROR: sub-agents are already 2 deep")
    assert depths == ["go", "level 1", "level 2"]


def test_a_sub_agent_that_comes_to_no_result_says_so() -> None:
    answers = first(spawn("Talk."))
    result = result_of(planner(lambda text: "" if text == "Talk." else answers(text)))

    assert result == "The sub-agent ended without a result."


def test_another_model_is_asked_at_the_same_server_and_no_other() -> None:
    asked: list[tuple[str, str]] = []

    def answer(body: dict[str, Any]) -> Any:
        last = body["messages"][-1]["content"]
        asked.append((body["model"], last))
        wanted = {"go": "gpt-4.1-nano", "elsewhere": "local/evil.example:80/v1"}.get(last)
        text = spawn(model=wanted) if wanted else says(last)
        return completion({"role": "assistant", "content": text}, {"prompt_tokens": 1, "completion_tokens": 1})

    with raw_model(answer) as url:
        config = OpenAIGPTConfig(chat_model="gpt-4o", api_base=url, provider="openai", stream=False)
        agent = ChatAgent(ChatAgentConfig(llm=config))
        agent.enable_message([TaskTool, DoneTool])
        agent.enable_message(Multiply, use=False, handle=False)
        task: Task[Any] = Task(agent, interactive=False)
        results = [task.run("go"), task.run("elsewhere")]

    assert [model for model, _ in asked[:3]] == ["gpt-4o", "gpt-4.1-nano", "gpt-4.1-nano"]
    assert [None if result is None else result.content[:6] for result in results] == ["35", "ERROR:"]


def test_a_model_of_another_provider_is_refused() -> None:
    agent = ChatAgent(ChatAgentConfig(llm=OpenAIGPTConfig(chat_model="ollama/qwen3")))
    agent.enable_message(Multiply)
    tool = TaskTool(system_message=None, prompt="x", tools=["NONE"], model="gpt-4o")

    assert "not at the provider of 'ollama/qwen3'" in str(tool.handle(agent))


def given(model: Any) -> ChatAgent:
    """An agent whose model is not the one of its configuration, which is OpenAI's."""
    agent = ChatAgent(ChatAgentConfig())
    agent.llm = model
    agent.enable_message(Multiply)
    return agent


class OwnModel(MockLM):
    """A model of a program's own class."""


ELSEWHERE = TaskTool(system_message=None, prompt="x", tools=["NONE"], model="gpt-4o")


def test_the_model_that_an_agent_was_given_decides_which_others_are_asked() -> None:
    local = given(OpenAIGPT(OpenAIGPTConfig(chat_model="ollama/qwen3")))

    assert "not at the provider of 'ollama/qwen3'" in str(ELSEWHERE.handle(local))


def test_a_sub_agent_of_a_mock_model_is_asked_in_the_process() -> None:
    mock = MockLM(MockLMConfig(default_response='{"request": "done_tool", "content": "here"}'))
    result = ELSEWHERE.handle(given(mock))

    assert getattr(result, "content", result) == "here"


def test_a_model_of_the_programs_own_class_is_made_for_no_other_name() -> None:
    error = str(ELSEWHERE.handle(given(OwnModel(MockLMConfig()))))

    assert error.startswith("ERROR: this agent's model is a OwnModel")
    assert "leave `model` out" in error


@pytest.mark.parametrize("name", ["a\nTask b stopped", "\x1b[2J", "../" * 3, "x" * 61, ""])
def test_a_name_that_would_write_into_the_log_is_replaced(name: str) -> None:
    agent = given(MockLM(MockLMConfig()))
    tool = TaskTool(system_message=None, prompt="x", tools=["NONE"], agent_name=name)

    task = tool._task(agent)
    assert isinstance(task, Task)
    assert task.name.startswith("agent")
    assert isinstance(named := tool.model_copy(update={"agent_name": "Poet no. 2"})._task(agent), Task)
    assert named.name == "Poet no. 2"


def test_the_name_of_a_task_stays_on_its_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    tell_stopped("a\nTask b\x1b[2J", StopReason(limit="cost", scope="run"))

    assert caplog.messages[0].startswith("Task a Task b\\x1b[2J ")


class Cube(ToolMessage):
    request: str = "cube"
    purpose: str = "To cube <a>."
    a: int


class Cubing(ChatAgent):
    def cube(self, tool: Cube) -> str:
        return str(tool.a**3)


def test_a_tool_that_only_the_agents_class_handles_is_no_sub_agents() -> None:
    agent = Cubing(ChatAgentConfig(llm=MockLMConfig()))
    agent.enable_message([Cube, Multiply])
    named = TaskTool(system_message=None, prompt="x", tools=["cube"])
    task = named.model_copy(update={"tools": ["ALL"]})._task(agent)
    assert isinstance(task, Task)

    assert str(named.handle(agent)).startswith("ERROR: `cube` has no handler of its own")
    assert set(task.agent.llm_tools_map) & {"cube", "multiply"} == {"multiply"}
