"""Clones of tasks, and the names by which they are addressed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocMetaData,
    ChatDocument,
    Entity,
    MockLMConfig,
    SendTool,
    Task,
    ToolMessage,
    run_batch_task_gen,
    run_batch_tasks,
)


def task(name: str, says: str | Callable[[str], str] = "DONE", *subs: Task, tools: Any = ()) -> Task:
    said = (lambda _: says) if isinstance(says, str) else says
    agent = ChatAgent(ChatAgentConfig(name=name, llm=MockLMConfig(response_fn=said)))
    agent.enable_message(list(tools))
    made = Task(agent, interactive=False)
    made.add_sub_task(list(subs))
    return made


def boss(*subs: Task) -> Task:
    """Sends what it is given to Bob, and ends with what comes back."""
    return task("Boss", lambda text: "DONE " + text if "42" in text else "TO[Bob]: what?", *subs)


def for_boss(text: str = "42") -> ChatDocument:
    return ChatDocument(content=text, metadata=ChatDocMetaData(sender=Entity.USER, recipient="Boss"))


def content(result: Any) -> str | None:
    return None if result is None else result.content


class Report(ToolMessage):
    request: str = "report"
    purpose: str = "To report to the boss."
    to: str = "Boss"

    def handle(self) -> SendTool:
        return SendTool(to=self.to, content="42")


@pytest.mark.parametrize(
    "says", ["TO[Boss]: 42", "TO[Boss-0]: 42", '{"request": "report"}', '{"request": "report", "to": "Boss-0"}']
)
def test_a_sub_task_addresses_a_clone_by_either_of_its_names(says: str) -> None:
    result = boss(task("Bob", says, tools=[Report])).clone(0).run("go", turns=6)

    assert result is not None
    assert (result.content, result.metadata.sender_name) == ("42", "Boss-0")


def test_a_batch_gives_what_runs_of_the_task_give() -> None:
    team = boss(task("Bob", "TO[Boss]: 42"))

    assert [content(each) for each in run_batch_tasks(team, ["a", "b"])] == [content(team.run("a"))] * 2 == ["42"] * 2
    assert [content(each) for each in run_batch_task_gen(team.clone, ["a"])] == ["42"]


@pytest.mark.parametrize("name", ["Boss", "boss", "Boss-3"])
def test_a_clone_knows_its_names_and_no_other(name: str) -> None:
    clone = task("Boss", f"TO[{name}]: 42").clone(3)
    stranger = task("Boss", "TO[Boss-4]: 42").clone(3)
    for each in (clone, stranger):
        each.init("go")
        each.step()
        each.step()

    assert clone.pending_message is not None
    assert stranger.pending_message is not None
    assert clone.pending_message.content == "42"
    assert stranger.pending_message.content == "Invalid recipient: Boss-4"


def test_a_document_for_the_original_is_for_its_clone() -> None:
    clone = task("Boss", lambda text: "DONE " + text).clone(0)

    assert content(clone.run(for_boss())) == "42"
    assert content(task("Boss", lambda text: "DONE " + text).clone(0).clone(1).run(for_boss())) == "42"
    assert task("Eve").clone(0).run(for_boss()) is None


def test_clones_are_sub_tasks_of_their_own_names() -> None:
    worker = task("Bob", lambda text: f"DONE {text} 42")
    chief = task("Boss", lambda text: "DONE " + text if "42" in text else "TO[Bob-1]: one")
    chief.add_sub_task([worker.clone(0), worker.clone(1)])

    assert content(chief.run("go", turns=4)) == "one 42"
    assert chief.clone(7).sub_tasks[1].name == "Bob-1"
    lost = task("Boss", "TO[Bob]: one", worker.clone(0))
    assert content(lost.run("go", turns=2)) == "Invalid recipient: Bob"


def test_a_sub_task_named_like_the_original_is_addressed_by_that_name() -> None:
    clone = task("Boss", "TO[Boss]: 42").clone(0)
    clone.add_sub_task(task("Boss", lambda text: f"DONE other {text}"))

    assert content(clone.run("go", turns=2)) == "other 42"


def test_a_task_that_a_clone_calls_ends_when_it_addresses_it() -> None:
    caller = boss().clone(0)

    assert content(task("Bob", "TO[Boss]: 42").run("go", caller=caller, turns=6)) == "42"
    assert content(task("Bob", "TO[Eve]: 42").run("go", caller=caller, turns=2)) == "Invalid recipient: Eve"


def test_a_sub_task_of_a_clone_ends_when_it_is_gone_through_step_by_step() -> None:
    clone = boss(task("Bob", "TO[Boss]: 42")).clone(0)
    clone.init("go")
    clone.step()

    answer = clone.step()

    assert answer is not None
    assert (answer.content, answer.metadata.sender_name) == ("42", "Bob")
