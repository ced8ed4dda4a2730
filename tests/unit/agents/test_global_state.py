"""Values that a program's agents share by a class, in scripts and in served runs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, GlobalState, MockLMConfig, StatusCode, Task, ToolMessage
from turnwise.agents.global_state import GlobalStateKept
from turnwise.errors import AttributeNotSavedError
from turnwise.record.store import Store
from turnwise.record.values.records import RunRecord


class Numbers(GlobalState):
    number: int = 0
    seen: list[int] = Field(default_factory=list)
    helper: Any = None


class Others(GlobalState):
    number: int = 100


class Ask(ToolMessage):
    request: str = "ask"
    purpose: str = "To ask for the sum of the number and <more>."
    more: int

    def handle(self) -> str:
        return f"DONE {Numbers.get_value('number') + self.more}"


class Keep(ToolMessage):
    request: str = "keep"
    purpose: str = "To keep <number>."
    number: int

    async def handle_async(self) -> str:
        Numbers.set_values(number=self.number)
        Numbers.get_instance().seen.append(self.number)
        return f"kept {Numbers.get_value('number')}"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    GlobalState._instances.clear()


def summing() -> Task[Any]:
    says = {"keep": '{"request": "keep", "number": 5}', "kept 5": '{"request": "ask", "more": 2}'}
    model = MockLMConfig(response_dict=says, default_response='{"request": "ask", "more": 2}')
    agent = ChatAgent(ChatAgentConfig(llm=model))
    agent.enable_message([Ask, Keep])
    return Task(agent, interactive=False)


def served(store: Store, text: str) -> RunRecord:
    app = App("sums", version="1")
    app.task(name="sum")(summing)
    with Desk(store, app) as desk:
        return desk.go_on(desk.submit("sum", text))


def test_all_of_a_script_share_one_instance_of_each_class() -> None:
    result = summing().run("keep")

    assert result is not None
    assert result.content == "7"
    assert Numbers.get_instance() is Numbers.get_instance()
    assert (Numbers.get_instance().seen, Others.get_value("number")) == ([5], 100)


def test_a_name_that_is_no_field_is_refused() -> None:
    with pytest.raises(ValueError, match="nonsense"):
        Numbers.set_values(nonsense=1)
    with pytest.raises(AttributeError, match="nonsense"):
        Numbers.get_value("nonsense")


def test_a_served_run_reads_what_was_set_when_its_application_was_loaded(store: Store) -> None:
    Numbers.set_values(number=40, helper=summing())
    run = served(store, "go")

    assert run.result is not None
    assert run.result["content"] == "42"


def test_a_served_run_that_changes_a_value_ends_with_an_error_that_names_it(store: Store) -> None:
    Numbers.set_values(number=1)
    run = served(store, "keep")

    assert run.status == "failed"
    assert run.error is not None
    assert run.error.code == "attribute_not_saved"
    assert "Numbers.number, seen was changed in a served run" in run.error.message
    assert (Numbers.get_value("number"), Numbers.get_instance().seen) == (1, [])


class Table:
    """Compares as an array or a data frame does: to no truth."""

    def __eq__(self, other: object) -> Any:
        return self

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise ValueError("the truth value of an array is ambiguous")


def test_a_shared_table_is_compared_by_what_it_is() -> None:
    Numbers.set_values(helper=Table(), seen=[math.nan])
    with GlobalStateKept() as kept:
        assert Numbers.get_value("number") == 0
        kept.check()
        Numbers.set_values(helper=Table())
        with pytest.raises(AttributeNotSavedError, match=r"Numbers\.helper was changed"):
            kept.check()


class Counting(Task[Any]):
    def done(self, result: Any = None, r: str | None = None) -> tuple[bool, StatusCode]:
        Numbers.set_values(number=Numbers.get_value("number") + 1)
        return super().done(result, r)


class Resetting(ChatAgent):
    def init_state(self) -> None:
        super().init_state()
        Numbers.get_instance().seen.append(1)


def _plain() -> Task[Any]:
    model = MockLMConfig(default_response="DONE yes")
    return Counting(ChatAgent(ChatAgentConfig(llm=model)), interactive=False)


def _resetting() -> Task[Any]:
    model = MockLMConfig(default_response="DONE yes")
    return Task(Resetting(ChatAgentConfig(llm=model)), interactive=False)


@pytest.mark.parametrize(("build", "name"), [(_plain, "number"), (_resetting, "seen")])
def test_a_rule_that_changes_a_value_ends_the_run_and_changes_no_other(store: Store, build: Any, name: str) -> None:
    app = App("sums", version="1")
    app.task(name="sum")(build)
    with Desk(store, app) as desk:
        GlobalState._instances.clear()
        run = desk.go_on(desk.submit("sum", "go"))

    assert run.error is not None
    assert f"Numbers.{name} was changed in a served run" in run.error.message
    assert (Numbers.get_value("number"), Numbers.get_instance().seen) == (0, [])


@dataclass
class Place:
    path: Path
    notes: list[str]


class Mixed(GlobalState):
    places: list[Any] = Field(default_factory=list)


@pytest.mark.parametrize(
    "change",
    [
        lambda mixed: mixed.places.append(1),
        lambda mixed: mixed.places[1].notes.append("secret"),
        lambda mixed: mixed.places[2]["a"][0].append("secret"),
    ],
    ids=["list", "dataclass", "nested"],
)
def test_data_is_not_shared_because_something_else_is_beside_it(change: Any) -> None:
    task = summing()
    Mixed.set_values(places=[task, Place(Path("/a"), []), {"a": ([], task)}])

    with GlobalStateKept() as kept:
        change(Mixed.get_instance())
    with pytest.raises(AttributeNotSavedError, match=r"Mixed\.places was changed"):
        kept.check()

    places = Mixed.get_value("places")
    assert places == [task, Place(Path("/a"), []), {"a": ([], task)}]
    with GlobalStateKept() as other:
        assert Mixed.get_value("places")[0] is task
    other.check()
