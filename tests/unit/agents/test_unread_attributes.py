"""Attributes that are read when they are asked for, by copies of an agent and by threads."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import pytest

from turnwise import ChatAgent, ChatAgentConfig
from turnwise.agents.attributes.template import Template
from turnwise.agents.attributes.unread import Unread
from turnwise.record.values.records import AgentRecord
from turnwise.serving.attempts.served_agent import ServedAgent, over_template


class Clerk(ChatAgent):
    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.items: list[int] = []


def _turn(saved: dict[str, Any] | None = None) -> ServedAgent:
    record = {"attributes": saved} if saved is not None else None
    return over_template(Clerk(ChatAgentConfig(llm=None)), AgentRecord(key="a", record=record), {})


def _by_dict(agent: Any) -> Any:
    made = object.__new__(type(agent))
    made.__dict__.update(agent.__dict__)
    return made


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, _by_dict], ids=["shallow", "deep", "by-dict"])
@pytest.mark.parametrize("saved", [None, {"items": [1]}], ids=["first", "later"])
def test_a_copy_of_the_agent_takes_nothing_from_it(copied: Callable[[Any], Any], saved: dict[str, Any] | None) -> None:
    served = _turn(saved)
    before = saved["items"] if saved else []

    other = copied(served.agent)

    assert other.items == before
    assert served.agent.items == before  # type: ignore[attr-defined]
    assert served.record() is None


def test_a_copy_does_not_get_back_what_it_deletes() -> None:
    other = _by_dict(_turn({"items": [1]}).agent)
    del other.items

    with pytest.raises(AttributeError, match="items"):
        _ = other.items


def test_threads_that_ask_at_the_same_time_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    agent: Any = _turn({"items": [1]}).agent
    read, found = Unread._value, []
    other = threading.Thread(target=lambda: found.append(agent.items))
    names: list[str] = []

    def reading(unread: Unread, decoder: Any, name: str, kept: Any) -> Any:
        names.append(name)
        if len(names) == 1:
            other.start()
            other.join(0.2)  # it has to wait until this thread has read all
        return read(unread, decoder, name, kept)

    monkeypatch.setattr(Unread, "_value", reading)
    found.append(agent.items)
    other.join()

    assert found[0] is found[1]
    assert names.count("items") == 1


def test_a_template_is_not_copied() -> None:
    template = Template(Clerk(ChatAgentConfig(llm=None)), frozenset(), {})

    assert copy.deepcopy(template) is template
