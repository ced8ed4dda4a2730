"""Mistakes that a type checker must reject: one in each line, with the rule by which mypy finds it.

Nobody runs this. `mypy --strict` fails where a mistake is found no longer, because its ignore is unused then.
"""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel

import turnwise.langroid as lr
from turnwise import (
    AgentDoneTool,
    App,
    ChatAgent,
    ChatAgentConfig,
    ChatDocMetaData,
    ChatDocument,
    DoneTool,
    Entity,
    LLMTokenUsage,
    MockLMConfig,
    SendTool,
    StatusCode,
    Task,
    TaskConfig,
    ToolMessage,
)


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square <number>."
    number: int


class Counter(ChatAgent):
    class State(BaseModel):
        count: int = 0

    state: State

    def square(self, msg: Square) -> str:
        print(msg.nummer)  # type: ignore[attr-defined]
        self.state.total += 1  # type: ignore[attr-defined]
        self.state.count += "1"  # type: ignore[operator]
        self.state.count = str(msg.number)  # type: ignore[assignment]
        return msg.number  # type: ignore[return-value]


async def results(task: Task) -> None:
    task[int].run("go") + "x"  # type: ignore[operator]
    text: str | None = task.run("go", return_type=int)  # type: ignore[assignment]
    number: int = task[int].run("go")  # type: ignore[assignment]
    print(task.run("go").content)  # type: ignore[union-attr]
    later: str | None = await task[int].run_async("go")  # type: ignore[assignment]
    print(text, number, later)


def calls(task: Task, agent: ChatAgent) -> None:
    task.run("go", turn=3)  # type: ignore[call-overload]
    task.run("go", max_tokens="many")  # type: ignore[call-overload]
    Task(agent, interactiv=False)  # type: ignore[call-arg]
    Task("agent")  # type: ignore[arg-type]
    task.add_sub_task(agent)  # type: ignore[arg-type]
    agent.enable_message(Square(number=2))  # type: ignore[arg-type]
    agent.enable_message("square")  # type: ignore[arg-type]
    agent.enable_message(Counter)  # type: ignore[arg-type]
    agent.llm_response(3)  # type: ignore[arg-type]
    App("shop").task(agent)  # type: ignore[call-overload]


def settings() -> None:
    ChatAgentConfig(nam="x")  # type: ignore[call-arg]
    ChatAgentConfig(llm="gpt")  # type: ignore[arg-type]
    ChatAgentConfig(context_overflow_strategy="forget")  # type: ignore[arg-type]
    MockLMConfig(respons_dict={})  # type: ignore[call-arg]
    TaskConfig(done_if_tools=True)  # type: ignore[call-arg]
    TaskConfig(done_sequences="T, A")  # type: ignore[arg-type]


def messages() -> None:
    Square(number="two")  # type: ignore[arg-type]
    Square()  # type: ignore[call-arg]
    SendTool(content="x")  # type: ignore[call-arg]
    DoneTool(contents=3)  # type: ignore[call-arg]
    AgentDoneTool(tools=[Square])  # type: ignore[list-item]
    ChatDocument(text="x")  # type: ignore[call-arg]
    ChatDocMetaData(sender="LLM")  # type: ignore[arg-type]
    LLMTokenUsage(cost=0.1)  # type: ignore[arg-type]


def comparisons(doc: ChatDocument, usage: LLMTokenUsage) -> None:
    if doc.metadata.status is StatusCode.FINISHED:  # type: ignore[attr-defined]
        print(Entity.HUMAN)  # type: ignore[attr-defined]
    print(doc.metadata.state)  # type: ignore[attr-defined]
    print(usage.cost + Decimal(1))  # type: ignore[operator]


def functions() -> None:
    ToolMessage.from_function(3)  # type: ignore[arg-type]
    ToolMessage.from_function(abs, nam="x")  # type: ignore[call-arg]


def langroid(task: lr.Task) -> None:
    print(lr.DocChatAgent)  # type: ignore[attr-defined]
    print(lr.agent.special.DocChatAgent)  # type: ignore[attr-defined]
    print(lr.utils.constants.FINISHED)  # type: ignore[attr-defined]
    lr.ChatAgentConfig(nam="x")  # type: ignore[call-arg]
    lr.ChatAgentConfig(show_stats="never")  # type: ignore[arg-type]
    lr.language_models.OpenAIGPTConfig(seed="x")  # type: ignore[arg-type]
    task.run("go", turn=3)  # type: ignore[call-overload]
