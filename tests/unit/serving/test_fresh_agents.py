"""Objects of a turn are gone when it is over, without the garbage collector."""

from __future__ import annotations

import copy
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import ref

from tests.support.databases import fresh_sqlite
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, LLMMessage, MockLMConfig, Role, Task, ToolMessage
from turnwise.record.store import Store
from turnwise.record.values.records import AgentRecord
from turnwise.serving.attempts.served_agent import over_template


class Look(ToolMessage):
    request: str = "look"
    purpose: str = "To look."


# The agents whose handler was called.
_seen: list[ref[ChatAgent]] = []


class Clerk(ChatAgent):
    def look(self, _tool: Look) -> str:
        assert self.message_history, "the history is there"
        _seen.append(ref(self))
        return "nothing to see"


def clerk() -> Task:
    said = iter(['{"request": "look"}', '{"request": "look"}', "DONE"])
    agent = Clerk(ChatAgentConfig(name="clerk", llm=MockLMConfig(response_fn=lambda _: next(said))))
    agent.enable_message(Look)
    return Task(agent, name="clerk", interactive=False)


@contextmanager
def without_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def garbage() -> list[type]:
    """Return the classes of what only the garbage collector can find now."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return [type(left) for left in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


def test_no_agent_of_a_run_waits_for_the_garbage_collector(tmp_path: Path) -> None:
    app = App("tests")
    app.task(name="clerk")(clerk)
    database = fresh_sqlite(tmp_path / "turnwise.db")
    _seen.clear()
    try:
        with Desk(Store(database), app) as desk, without_collections():
            assert desk.go_on(desk.submit("clerk")).ended
            assert [weak() for weak in _seen] == [None, None]
    finally:
        database.close()


def test_no_turn_leaves_anything_of_turnwise_to_the_garbage_collector(tmp_path: Path) -> None:
    app = App("tests")
    app.task(name="clerk")(clerk)
    database = fresh_sqlite(tmp_path / "turnwise.db")
    try:
        with Desk(Store(database), app) as desk, without_collections():
            assert desk.go_on(desk.submit("clerk")).ended
            left = garbage()
    finally:
        database.close()

    assert [kind for kind in left if kind.__module__.startswith("turnwise")] == []


def test_a_copy_that_outlives_the_agent_reads_its_history() -> None:
    template = ChatAgent(ChatAgentConfig(name="clerk", llm=MockLMConfig(), system_message="You are a clerk."))
    saved = AgentRecord(key="clerk", history_len=1)
    turn = over_template(template, saved, {}, lambda: [LLMMessage(role=Role.USER, content="hello")])
    weak, other = ref(turn.agent), copy.copy(turn.agent)

    with without_collections():
        del turn
        assert weak() is None

    assert [message.content for message in other.message_history] == ["You are a clerk.", "hello"]
