"""Handlers have copies of their tools and messages: what they change there counts in no way of running."""

from __future__ import annotations

import threading
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from pydantic import ConfigDict, Field, PrivateAttr
from tests.support.every_way import results

from turnwise import ChatAgent, ChatAgentConfig, ChatDocument, Entity, MockLMConfig, RetryPolicy, Task, ToolMessage
from turnwise.messages.lent import lent_tool, lent_value


class Order(ToolMessage):
    request: str = "order"
    purpose: str = "To order"
    count: int = 1
    items: list[int] = Field(default_factory=list)


class _Telling(ChatAgent):
    def order(self, msg: Order) -> str:
        return f"DONE {msg.count} {msg.items}"


class _ChangingItsTool(ChatAgent):
    def order(self, msg: Order) -> None:
        msg.count = 99
        msg.items.append(7)


class _ChangingItsMessage(ChatAgent):
    def order(self, msg: Order, chat_doc: ChatDocument) -> None:
        for tool in chat_doc.tool_messages:
            tool.count = 77  # type: ignore[attr-defined]  # it is an order


class _TwiceTried(Order):
    _effect = "read_only"
    _retry = RetryPolicy(tries=3, first_wait=0.001, jitter=0)


class _WorkingOff(ChatAgent):
    tries = 0

    def order(self, msg: Order) -> str:
        self.tries += 1
        done = [msg.items.pop(0), msg.items.pop(0)]
        if type(self).tries == 0:
            type(self).tries = 1
            raise RuntimeError("the second item failed")
        return f"DONE {done + msg.items}"


class _Open(_TwiceTried):
    """An order that holds more than its fields."""

    model_config = ConfigDict(extra="allow")
    _seen: list[int] = PrivateAttr(default_factory=list)

    @cached_property
    def total(self) -> int:
        return sum(self.items)


class _ChangingAllOfIt(ChatAgent):
    def order(self, msg: _Open) -> None:
        _change(msg)


class _TellingAllOfIt(ChatAgent):
    def order(self, msg: _Open) -> str:
        return f"DONE {_told(msg)}"


class _FailingOnce(ChatAgent):
    failed = False

    def order(self, msg: _Open) -> str:
        if not type(self).failed:
            type(self).failed = True
            _change(msg)
            raise RuntimeError("the first try failed")
        return f"DONE {_told(msg)}"


def _change(msg: _Open) -> None:
    assert msg.total == 6
    msg.items.pop()
    msg._seen.append(1)
    msg.more.append(7)  # type: ignore[attr-defined]  # a further field
    msg.added = True  # type: ignore[attr-defined]


def _told(msg: _Open) -> str:
    return f"{msg.items} {msg.total} {msg._seen} {msg.model_extra}"


def _agent(kind: type[ChatAgent], name: str, says: str | None = None, tool: type[ToolMessage] = Order) -> ChatAgent:
    llm = MockLMConfig(response_fn=lambda text: says if text == "go" else f"DONE {text}") if says is not None else None
    agent = kind(ChatAgentConfig(name=name, llm=llm))
    agent.enable_message(tool)
    return agent


@pytest.mark.parametrize("kind", [_ChangingItsTool, _ChangingItsMessage])
def test_a_sub_task_handles_the_tool_as_it_was_called(kind: type[ChatAgent], tmp_path: Path) -> None:
    def make() -> Task:
        task = Task(_agent(kind, "A", '{"request": "order", "count": 2}'), interactive=False)
        task.add_sub_task(Task(_agent(_Telling, "B"), interactive=False))
        return task

    assert results(make, tmp_path) == ["2 []"] * 3


def test_a_handler_that_is_tried_again_has_its_tool_as_it_was() -> None:
    _WorkingOff.tries = 0
    agent = _agent(_WorkingOff, "A", '{"request": "order", "items": [1, 2, 3]}', _TwiceTried)

    result = Task(agent, interactive=False).run("go")

    assert result is not None and result.content == "[1, 2, 3]"
    assert _WorkingOff.tries == 1


_ALL_OF_IT = '{"request": "order", "items": [1, 2, 3], "more": [4]}'


def test_a_sub_task_handles_all_of_the_tool_as_it_was_called(tmp_path: Path) -> None:
    def make() -> Task:
        task = Task(_agent(_ChangingAllOfIt, "A", _ALL_OF_IT, _Open), interactive=False)
        task.add_sub_task(Task(_agent(_TellingAllOfIt, "B", tool=_Open), interactive=False))
        return task

    assert results(make, tmp_path) == ["[1, 2, 3] 6 [] {'more': [4]}"] * 3


def test_a_handler_that_is_tried_again_has_all_of_its_tool_as_it_was() -> None:
    _FailingOnce.failed = False

    result = Task(_agent(_FailingOnce, "A", _ALL_OF_IT, _Open), interactive=False).run("go")

    assert result is not None and result.content == "[1, 2, 3] 6 [] {'more': [4]}"
    assert _FailingOnce.failed


def test_the_program_keeps_its_tool() -> None:
    order = Order(items=[1])

    Task(_agent(_ChangingItsTool, "A"), interactive=False, done_if_response=[Entity.AGENT]).run(order, turns=1)

    assert (order.count, order.items) == (1, [1])


@pytest.mark.parametrize("value", [{"a": [1]}, [{"a": 1}], Order(items=[1])])
def test_what_can_change_is_copied_as_deep_as_it_is(value: Any) -> None:
    copy = lent_value(value)
    assert copy == value and copy is not value
    document = ChatDocument(content="x", content_any=value, metadata={"source": Entity.USER})  # type: ignore[arg-type]
    lent = document.lent().content_any
    assert lent == value and lent is not value


def test_an_object_that_cannot_be_copied_is_shared() -> None:
    lock = {"lock": threading.Lock()}
    assert lent_value(lock) is lock


def test_a_copy_of_a_tool_has_the_same_fields_set() -> None:
    tool = Order(count=3)
    copy = lent_tool(tool)
    assert copy == tool and copy.model_fields_set == {"count"}
    copy.items = [1]
    assert tool.model_fields_set == {"count"}
