"""Methods of every agent that an application overrides: plain ones, coroutines, and both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.support.every_way import results

from turnwise import ChatAgent, ChatAgentConfig, ChatDocument, MockLMConfig, Task, ToolMessage


class Pay(ToolMessage):
    request: str = "pay"
    purpose: str = "To pay."

    def handle(self) -> str:
        return "paid"


def model(text: str) -> str:
    return '{"request": "pay"}' if text == "go" else f"DONE {text}"


def task_of(kind: type[ChatAgent]) -> Task:
    agent = kind(ChatAgentConfig(name="desk", llm=MockLMConfig(response_fn=model)))
    agent.enable_message(Pay)
    return Task(agent, interactive=False)


class Permits(ChatAgent):
    async def handle_tool_message_async(self, tool: ToolMessage, chat_doc: ChatDocument | None = None) -> Any:
        await asyncio.sleep(0)
        return f"asked, and {await super().handle_tool_message_async(tool, chat_doc)}"


class Handles(ChatAgent):
    async def handle_message_async(self, msg: str | ChatDocument) -> Any:
        value = await super().handle_message_async(msg)
        return value if value is None else f"asked, and {value}"


@pytest.mark.parametrize("kind", [Permits, Handles])
def test_handling_that_is_overridden_as_a_coroutine_alone_holds_in_every_way(
    kind: type[ChatAgent], tmp_path: Path
) -> None:
    assert results(lambda: task_of(kind), tmp_path) == ["asked, and paid"] * 3


class Marks(ChatAgent):
    """Overrides both forms of all that may be overridden so, and says each time which one was applied."""

    said: ClassVar[list[str]] = []

    def llm_response(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        self.said.append("llm")
        return super().llm_response(message)

    async def llm_response_async(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        self.said.append("llm")
        return await super().llm_response_async(message)

    def agent_response(self, msg: str | ChatDocument | None = None) -> ChatDocument | None:
        self.said.append("agent")
        return super().agent_response(msg)

    async def agent_response_async(self, msg: str | ChatDocument | None = None) -> ChatDocument | None:
        self.said.append("agent")
        return await super().agent_response_async(msg)

    def user_response(self, msg: str | ChatDocument | None = None) -> ChatDocument | None:
        self.said.append("user")
        return super().user_response(msg)

    async def user_response_async(self, msg: str | ChatDocument | None = None) -> ChatDocument | None:
        self.said.append("user")
        return await super().user_response_async(msg)

    def handle_message(self, msg: str | ChatDocument) -> Any:
        self.said.append("message")
        return super().handle_message(msg)

    async def handle_message_async(self, msg: str | ChatDocument) -> Any:
        self.said.append("message")
        return await super().handle_message_async(msg)

    def handle_tool_message(self, tool: ToolMessage, chat_doc: ChatDocument | None = None) -> Any:
        self.said.append("tool")
        return super().handle_tool_message(tool, chat_doc)

    async def handle_tool_message_async(self, tool: ToolMessage, chat_doc: ChatDocument | None = None) -> Any:
        self.said.append("tool")
        return await super().handle_tool_message_async(tool, chat_doc)


class MarksAsBefore(Marks):
    """Overrides nothing of its own."""


@pytest.mark.parametrize("kind", [Marks, MarksAsBefore])
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("name", "message", "applied"),
    [
        ("llm_response", "hello", ["llm"]),
        ("user_response", "hello", ["user"]),
        ("agent_response", '{"request": "pay"}', ["agent", "message", "tool"]),
        ("handle_message", '{"request": "pay"}', ["message", "tool"]),
        ("handle_tool_message", Pay(), ["tool"]),
    ],
)
def test_an_override_of_both_forms_is_applied_once_in_either_way(
    name: str, message: Any, applied: list[str], kind: type[Marks], asynchronous: bool
) -> None:
    kind.said.clear()
    agent = task_of(kind).agent
    agent.default_human_response = "fine"

    answer = asyncio.run(getattr(agent, f"{name}_async")(message)) if asynchronous else getattr(agent, name)(message)

    assert answer is not None
    assert kind.said == applied


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_override_of_both_forms_is_asked_once_in_a_task(asynchronous: bool) -> None:
    Marks.said.clear()
    task = task_of(Marks)

    result = asyncio.run(task.run_async("go")) if asynchronous else task.run("go")

    assert result is not None
    assert result.content == "paid"
    assert [Marks.said.count(name) for name in ("llm", "tool")] == [2, 1]


class Plain(ChatAgent):
    def llm_response(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        return self.create_llm_response(f"DONE plain of {as_text(message)}")


class Awaits(Plain):
    async def llm_response_async(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        answer = await super().llm_response_async(message)
        return answer and self.create_llm_response(f"{answer.content}, awaited")


class Both(Plain):
    def llm_response(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        answer = super().llm_response(message)
        return answer and self.create_llm_response(f"{answer.content}, both")

    async def llm_response_async(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        answer = await super().llm_response_async(message)
        return answer and self.create_llm_response(f"{answer.content}, both")


class PlainAgain(Both):
    def llm_response(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        answer = super().llm_response(message)
        return answer and self.create_llm_response(f"{answer.content}, again")


def as_text(message: str | ChatDocument | None) -> str:
    return message.content if isinstance(message, ChatDocument) else str(message)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Plain, "plain of go"),
        (Awaits, "plain of go, awaited"),
        (Both, "plain of go, both"),
        (PlainAgain, "plain of go, both, again"),
    ],
)
def test_overrides_of_several_classes_are_applied_once_each_in_every_way(
    kind: type[ChatAgent], said: str, tmp_path: Path
) -> None:
    assert results(lambda: task_of(kind), tmp_path) == [said] * 3


class PermitsFirst(Permits):
    """Overrides the plain form of what its base overrides as a coroutine."""

    def handle_tool_message(self, tool: ToolMessage, chat_doc: ChatDocument | None = None) -> Any:
        return f"plainly {super().handle_tool_message(tool, chat_doc)}"


def test_of_a_method_and_a_coroutine_the_one_that_is_overridden_later_holds_in_every_way(tmp_path: Path) -> None:
    assert results(lambda: task_of(PermitsFirst), tmp_path) == ["plainly paid"] * 3


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_function_that_is_set_on_one_agent_holds_in_an_event_loop_too(asynchronous: bool) -> None:
    task = task_of(ChatAgent)
    agent = task.agent
    agent.llm_response = lambda message=None: agent.create_llm_response("DONE from the object")  # type: ignore[method-assign]

    result = asyncio.run(task.run_async("go")) if asynchronous else task.run("go")

    assert result is not None
    assert result.content == "from the object"


def with_fallback(agent: ChatAgent) -> None:
    agent.handle_message_fallback = lambda msg: "DONE by a fallback"  # type: ignore[method-assign]


def with_handling(agent: ChatAgent) -> None:
    async def handle(msg: str | ChatDocument) -> str:
        await asyncio.sleep(0)
        return "DONE by a fallback"

    agent.handle_message_async = handle  # type: ignore[method-assign]


def with_response(agent: ChatAgent) -> None:
    agent.agent_response = lambda msg=None: agent.create_agent_response("DONE by a fallback")  # type: ignore[method-assign]


@pytest.mark.parametrize("changed", [with_fallback, with_handling, with_response])
def test_handling_that_is_set_on_one_agent_answers_texts_in_every_way(
    changed: Callable[[ChatAgent], None], tmp_path: Path
) -> None:
    def made() -> Task:
        agent = ChatAgent(ChatAgentConfig(name="desk", llm=MockLMConfig(default_response="a text")))
        changed(agent)
        return Task(agent, interactive=False)

    assert results(made, tmp_path) == ["by a fallback"] * 3


def answer_later(msg: str | ChatDocument) -> str:
    return "DONE by a fallback"


class Changes(ChatAgent):
    """Sets how it answers texts, while it handles a tool."""

    changed = "handle_message_fallback"

    def pay(self, tool: Pay) -> str:
        setattr(self, self.changed, answer_later)
        return "changed"


class ChangesHandling(Changes):
    changed = "handle_message"


@pytest.mark.parametrize("kind", [Changes, ChangesHandling])
def test_handling_that_a_turn_sets_on_its_agent_answers_texts_in_every_way(
    kind: type[ChatAgent], tmp_path: Path
) -> None:
    def made() -> Task:
        answers = {"go": '{"request": "pay"}', "changed": "a text"}
        agent = kind(ChatAgentConfig(name="desk", llm=MockLMConfig(response_dict=answers)))
        agent.enable_message(Pay)
        return Task(agent, interactive=False)

    assert results(made, tmp_path) == ["by a fallback"] * 3
