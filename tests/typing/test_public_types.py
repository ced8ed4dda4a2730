"""A type checker's view of the public names; mypy checks this file, and pytest runs it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, assert_type

from pydantic import BaseModel

from turnwise import (
    AgentDoneTool,
    App,
    Callbacks,
    ChatAgent,
    ChatAgentConfig,
    ChatDocMetaData,
    ChatDocument,
    DoneSequence,
    Entity,
    LLMFunctionSpec,
    LLMMessage,
    LLMResponse,
    LLMTokenUsage,
    MockLMConfig,
    RecipientTool,
    StatusCode,
    Task,
    TaskConfig,
    ToolMessage,
)
from turnwise.machine.sequences import parse_done_sequence


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square <number>."
    number: int

    def handle(self) -> AgentDoneTool:
        return AgentDoneTool(content=self.number**2)


class Calculator(ChatAgent):
    class State(BaseModel):
        doubled: int = 0

    # So the type checker knows what the handlers keep.
    state: State

    def double(self, msg: Square) -> str:
        return str(msg.number * 2)


def make_task() -> Task:
    config = ChatAgentConfig(llm=MockLMConfig(default_response='{"request": "square", "number": 3}'))
    agent = Calculator(config)
    agent.enable_message(Square)
    agent.enable_message([Square], use=True, handle=True)
    return Task(agent, interactive=False, done_if_response=[Entity.AGENT], config=TaskConfig(done_sequences=["T, A"]))


def test_an_application_keeps_the_type_of_its_factories() -> None:
    app = App("shop")
    assert_type(app.task(make_task), Callable[[], Task])

    @app.task(name="other")
    def other() -> Task:
        return make_task()

    assert_type(other(), Task)
    assert_type(app.build("other"), Task[Any])
    assert_type(app.tasks, list[str])


def test_messages_and_tools_have_precise_types() -> None:
    doc = ChatDocument.from_str("hi")
    assert_type(doc, ChatDocument)
    assert_type(doc.metadata, ChatDocMetaData)
    assert_type(doc.metadata.sender, Entity)
    assert_type(doc.metadata.status, StatusCode | None)
    assert_type(doc.tool_messages, list[ToolMessage])
    assert_type(doc.parent, ChatDocument | None)
    assert_type(ChatDocument.to_LLMMessage(doc), list[LLMMessage])
    assert_type(Square(number=2).number, int)
    assert_type(Square.name(), str)
    assert_type(Square.llm_function_schema(), LLMFunctionSpec)
    assert_type(Square.require_recipient(), type[ToolMessage])
    assert_type(RecipientTool.create(["a"]), type[RecipientTool])


def test_a_function_becomes_a_class_of_tools() -> None:
    @ToolMessage.from_function
    def add(a: int, b: int) -> int:
        return a + b

    assert_type(add, type[ToolMessage])
    assert_type(Square.from_function(abs_of, name="abs"), type[Square])
    ChatAgent().enable_message([add, Square])


def abs_of(x: int) -> int:
    return abs(x)


def test_agents_answer_with_documents_or_nothing() -> None:
    agent = Calculator()
    assert_type(agent.agent_response("hi"), ChatDocument | None)
    assert_type(agent.create_agent_response("x"), ChatDocument)
    assert_type(agent.message_history, list[LLMMessage])
    assert_type(agent.unhandled_tools(), set[str])
    assert_type(agent.callbacks, Callbacks)
    assert_type(agent[Square], Calculator)
    assert_type(agent[Square].output_format, type[Any] | None)
    assert_type(agent[int], Calculator)


async def wait_for_values(task: Task) -> None:
    assert_type(await task.run_async("go"), ChatDocument | None)
    assert_type(await task[str].run_async("go"), str | None)
    assert_type(await task.run_async("go", return_type=int), int | None)
    assert_type(await task.step_async(), ChatDocument | None)


def test_an_agent_that_says_so_has_a_state_of_its_own_type() -> None:
    agent = Calculator()
    assert_type(agent.state, Calculator.State)
    assert_type(agent.state.doubled, int)
    assert_type(agent.clone(1), Calculator)


def test_usage_is_in_exact_money() -> None:
    usage = LLMResponse(message="x").usage.plus(LLMTokenUsage(cost=Decimal("0.1")))
    assert_type(usage, LLMTokenUsage)
    assert_type(usage.cost, Decimal | None)
    assert_type(usage.total_tokens, int)


def test_tasks_and_their_rules() -> None:
    task = make_task()
    assert task.run("go", return_type=int) == 9
    assert_type(task.run("go", return_type=int), int | None)
    assert_type(task.run("go"), ChatDocument | None)
    assert_type(task[int], Task[int])
    assert_type(task[int].run("go"), int | None)
    assert_type(task[list[Square]].run("go"), list[Square] | None)
    assert_type(Task(task.agent, default_return_type=str), Task[str])
    assert_type(task[int].clone(1), Task[int])
    assert_type(task.step(), ChatDocument | None)
    assert_type(task.kill(), None)
    assert_type(task.sub_tasks, list[Task[Any]])
    assert_type(parse_done_sequence("T, A"), DoneSequence)
