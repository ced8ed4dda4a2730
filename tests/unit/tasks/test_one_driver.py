"""A run has one driver: the logic of its agents goes on in the logic of the run, and begins no driver of its own."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from turnwise import ChatAgent, ChatAgentConfig, ChatDocument, MockLMConfig, Task, ToolMessage
from turnwise.base.sync_async import run_async, run_sync

SQUARE = json.dumps({"request": "square", "num": 3})


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square <num>."
    num: int


def drivers() -> int:
    """How many drivers are at work around the call of this."""
    count, frame = 0, sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        count += frame.f_code in (run_sync.__code__, run_async.__code__)
    return count


class Team:
    """An agent with a tool, a human and a sub-task, all of which note how many drivers they are called by."""

    def __init__(self) -> None:
        self.seen: dict[str, set[int]] = {"model": set(), "handler": set(), "human": set(), "sub-task": set()}
        answers = iter([SQUARE, "a word with the human", "something for the sub-task", "DONE it is"])
        team = self

        class Main(ChatAgent):
            def square(self, msg: Square) -> str:
                return team.noted("handler", str(msg.num**2))

        agent = Main(ChatAgentConfig(name="main", llm=self.model("model", lambda: next(answers))))
        agent.enable_message(Square)
        said = iter(["go on", ""])
        agent.callbacks.get_user_response = lambda prompt: team.noted("human", next(said, ""))
        self.task = Task(agent, interactive=True)
        self.task.add_sub_task(
            Task(
                ChatAgent(ChatAgentConfig(name="sub", llm=self.model("sub-task", lambda: "DONE sub"))),
                interactive=False,
            )
        )

    def model(self, who: str, say: object) -> MockLMConfig:
        def answer(_: str) -> str:
            return self.noted(who, str(say()))  # type: ignore[operator]

        return MockLMConfig(response_fn=answer)

    def noted(self, who: str, said: str) -> str:
        self.seen[who].add(drivers())
        return said


@pytest.mark.parametrize("way", ["run", "run_async"])
def test_models_handlers_humans_and_sub_tasks_are_called_by_the_one_driver_of_the_run(way: str) -> None:
    team = Team()

    if way == "run":
        team.task.run("begin", turns=8)
    else:
        asyncio.run(team.task.run_async("begin", turns=8))

    assert team.seen == {"model": {1}, "handler": {1}, "human": {1}, "sub-task": {1}}


def test_an_override_and_a_function_set_on_one_agent_are_asked_in_their_places() -> None:
    class Own(ChatAgent):
        def llm_response(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
            return self.create_llm_response("from the override")

    result = Task(Own(ChatAgentConfig(llm=None)), interactive=False, single_round=True).run("x")
    assert result is not None
    assert result.content == "from the override"

    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response="from the model")))
    agent.llm_response = lambda message=None: agent.create_llm_response("from the object")  # type: ignore[method-assign]
    result = Task(agent, interactive=False, single_round=True).run("x")
    assert result is not None
    assert result.content == "from the object"
