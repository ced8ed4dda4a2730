"""Faults of tools and answers that name a signal word, as the model may write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError
from tests.support.every_way import results

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    LLMFunctionCall,
    LLMResponse,
    MockLMConfig,
    OpenAIToolCall,
    Role,
    Task,
    TaskConfig,
    ToolMessage,
)


class SetStatus(ToolMessage):
    request: str = "set_status"
    purpose: str = "To set the <status> of an <order>."
    order: int
    status: Literal["OPEN", "DONE", "__PASS__", "__SEND__:"]

    def handle(self) -> str:
        return f"order {self.order} is {self.status.lower()} now"


class Mail(ToolMessage):
    request: str = "mail"
    purpose: str = "To write a mail <to> a person."
    to: str = Field(pattern="^@bob$")

    def handle(self) -> str:
        return f"sent to {self.to[1:]}"


class State(BaseModel):
    status: Literal["OPEN", "DONE"]
    note: str = ""


class Explains(ChatAgent):
    def tool_validation_error(self, ve: ValidationError, tool_class: type[ToolMessage] | None = None) -> str:
        return ve.errors()[0]["msg"]


def calls(*fields: tuple[str, dict[str, Any]]) -> LLMResponse:
    """Return a model's answer that calls these tools."""
    functions = [LLMFunctionCall(name=name, arguments=arguments) for name, arguments in fields]
    return LLMResponse(
        message=None, oai_tool_calls=[OpenAIToolCall(id=f"c{i}", function=each) for i, each in enumerate(functions)]
    )


def desk(answers: dict[str, Any], kind: type[ChatAgent] = ChatAgent, prefix: str = "", **config: Any) -> Task[Any]:
    """A task whose model says what `answers` has for the first words of its message, and else ends with it."""

    def answer(text: str) -> Any:
        return next((said for start, said in answers.items() if text.startswith(start)), f"DONE {text}")

    settings = ChatAgentConfig(name="Desk", llm=MockLMConfig(response_fn=answer), use_functions_api=True, **config)
    agent = kind(settings)
    agent.enable_message([SetStatus, Mail])
    return Task(agent, interactive=False, config=TaskConfig(addressing_prefix=prefix))


@pytest.mark.parametrize("word", ["DONE", "OPEN"])
def test_a_model_is_asked_again_where_the_fault_of_its_call_names_signals(word: str, tmp_path: Path) -> None:
    answers = {
        "go": calls(("set_status", {"order": 7, "status": "closed"})),
        "There was an error": calls(("set_status", {"order": 7, "status": word})),
    }
    assert results(lambda: desk(answers), tmp_path) == [f"order 7 is {word.lower()} now"] * 3


def test_a_model_is_asked_again_where_the_fault_of_its_text_names_signals(tmp_path: Path) -> None:
    answers = {
        "go": '{"request": "set_status", "order": 7, "status": "closed"}',
        "There was an error": '{"request": "set_status", "order": 7, "status": "\\u0044ONE"}',
    }
    assert results(lambda: desk(answers), tmp_path) == ["order 7 is done now"] * 3


def test_a_model_is_asked_again_where_the_fault_holds_the_prefix_of_an_address(tmp_path: Path) -> None:
    answers = {"go": calls(("mail", {"to": "bob"})), "There was an error": calls(("mail", {"to": "@bob"}))}
    assert results(lambda: desk(answers, prefix="@"), tmp_path) == ["sent to bob"] * 3


def test_a_model_is_asked_again_where_the_fault_of_its_format_names_signals(tmp_path: Path) -> None:
    answers = {"go": '{"status": "closed"}', "Your answer is not": '{"status": "DONE", "note": "paid"}'}
    told = results(lambda: desk(answers, output_format=State), tmp_path)
    assert told == ['{"status": "", "note": "paid"}'] * 3


@pytest.mark.parametrize("kind", [ChatAgent, Explains])
@pytest.mark.parametrize("bad", [("set_status", {"order": 7, "status": "closed"}), ("DONE", {})])
def test_the_result_of_a_good_call_is_told_beside_a_fault_that_names_signals(
    bad: tuple[str, dict[str, Any]], kind: type[ChatAgent], tmp_path: Path
) -> None:
    answers = {"go": calls(("set_status", {"order": 8, "status": "OPEN"}), bad), "": "DONE well"}
    made: list[Task[Any]] = []

    def make() -> Task[Any]:
        made.append(desk(answers, kind))
        return made[-1]

    assert results(make, tmp_path) == ["well"] * 3
    for task in made[:2]:
        told = [message.content for message in task.agent.message_history if message.role is Role.TOOL]
        assert told[0] == "order 8 is open now"
        assert len(told) == 2
