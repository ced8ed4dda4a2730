"""Attributes of a conversation that is gone through again: after a failed try, in a fork, a retry, after a rewind."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field, PrivateAttr
from tests.e2e.waiting import until
from tests.rules.cast import ScriptedModel
from tests.support.databases import fresh_sqlite
from tests.support.past_parts import Stage
from tests.support.served_parts import Desk

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    LLMConfig,
    MockLMConfig,
    RetryPolicy,
    RewindTool,
    Task,
    ToolMessage,
)
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.serving.moves.permits import permit


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    database = fresh_sqlite(tmp_path / "turnwise.db")
    yield Store(database, lease_seconds=3_600)
    database.close()


class Note(BaseModel):
    text: str
    tags: set[str] = set()
    _seen: int = PrivateAttr(default=0)


@dataclass
class Plan:
    notes: list[Note] = field(default_factory=list)
    at: int = 0


class Flaky(ToolMessage):
    request: str = "flaky"
    purpose: str = "To fail at first."
    _retry = RetryPolicy(tries=3, first_wait=0, jitter=0)


class Outer(ToolMessage):
    request: str = "outer"
    purpose: str = "To call the handler of another tool."


class OwnConfig(ChatAgentConfig):
    paths: list[str] = Field(default_factory=list)


class Trying(ChatAgent):
    """Changes all that it has, and fails twice."""

    failures = 0

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.items = ["a"]
        self.counts = Counter("aa")
        self.last = deque([1, 2], maxlen=2)
        self.plan = Plan([Note(text="one", tags={"t"})])
        self.first = self.plan.notes[0]
        self.gone = 1
        self.client = object()
        self.enable_message([Flaky, Outer])

    def outer(self, msg: Outer) -> Any:
        return self.handle_message('{"request": "flaky"}')

    def flaky(self, msg: Flaky) -> str:
        self.items.append("b")
        self.counts["b"] += 1
        self.last.append(3)
        self.first.tags.add("more")
        self.first.text += "!"
        self.first._seen += 1
        self.plan.notes.append(Note(text="two"))
        self.plan.at += 1
        self.config.paths.append("p")  # type: ignore[attr-defined]
        self.new = getattr(self, "new", 0) + 1
        del self.gone
        if type(self).failures < 2:
            type(self).failures += 1
            raise OSError("the line is busy")
        return self.told()

    def told(self) -> str:
        notes = [(note.text, sorted(note.tags), note._seen) for note in self.plan.notes]
        kept = [self.items, dict(self.counts), list(self.last), notes, self.plan.at, self.new, vars(self).get("gone")]
        return f"{[*kept, self.config.paths, self.first is self.plan.notes[0]]}"  # type: ignore[attr-defined]


ONCE = str(
    [["a", "b"], {"a": 2, "b": 1}, [2, 3], [("one!", ["more", "t"], 1), ("two", [], 0)], 1, 1, None, ["p"], True]
)


def trying(request: str) -> Callable[[], Task]:
    kind = type("TryingOnce", (Trying,), {"failures": 0})
    model = MockLMConfig(response_fn=lambda said: f'{{"request": "{request}"}}' if said == "go" else f"DONE {said}")
    return lambda: Task(kind(OwnConfig(name="desk", llm=model)), interactive=False)


@pytest.mark.parametrize("request_", ["flaky", "outer"])
def test_a_try_that_failed_leaves_nothing_in_a_script(request_: str) -> None:
    task = trying(request_)()
    agent: Any = task.agent
    before = [agent.items, agent.plan, agent.first, agent.client]

    result = task.run("go")

    assert result is not None
    assert result.content == ONCE
    # The same objects, for whoever else holds them.
    after = [agent.items, agent.plan, agent.first, agent.client]
    assert [id(each) for each in after] == [id(each) for each in before]


@pytest.mark.parametrize("request_", ["flaky", "outer"])
def test_a_try_that_failed_leaves_nothing_in_a_served_run(store: Store, request_: str) -> None:
    app = App("tests", "1")
    app.task(name="desk")(trying(request_))
    offered: Any = None
    with Desk(store, app, moves="coordinator") as desk:
        moved = desk.coordinator.move(desk.submit("desk", "go"))
        while not moved.run.ended:
            # A try that is put off is offered again.
            offered = moved.ask or offered
            until(partial(desk.responders.answer, offered), "the next try to be due")
            moved = desk.coordinator.move(moved.run.id)
        run = moved.run

    assert (run.status, (run.result or {}).get("content")) == ("completed", ONCE), run.error


# --- a conversation gone through again -----------------------------------------------------------------------------


class Add(ToolMessage):
    request: str = "add"
    purpose: str = "To add one."


class Adder(ChatAgent):
    """Notes each call; cannot make the third while the line is down."""

    down = False

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.calls: list[int] = []
        self.enable_message([Add, RewindTool])

    def add(self, msg: Add) -> str:
        self.calls.append(len(self.calls) + 1)
        self.latest = self.calls[-1]
        if self.down and self.latest == 3:
            raise OSError("the line is down")
        return f"{self.calls} {self.latest}"


def adding(kind: type[ChatAgent] = Adder) -> Callable[[], Task]:
    def build() -> Task:
        agent = kind(ChatAgentConfig(name="desk", llm=LLMConfig(type="mock")))
        add = '{"request": "add"}'
        agent.llm = ScriptedModel(LLMConfig(type="mock"), "desk", [add, add, add, "DONE over"], {})
        return Task(agent, interactive=False)

    return build


def attributes(store: Store, run_id: str) -> Any:
    """Return the recorded attributes of the run's agent."""
    with store.coordinator.locked(run_id) as transaction:
        return (transaction.agent("desk").record or {}).get("attributes")


def test_a_fork_begins_with_the_attributes_of_its_turn(store: Store) -> None:
    stage = Stage(store, adding())
    run = stage.play("go")
    taken = [event for event in store.inspector.events(run.id, limit=1_000) if event.type == "turn.taken"]
    # By the events: the model, the agent's first call, the model, the second, ...
    found = []
    for event in taken:
        fork = stage.fork(run.id, event.seq)
        found.append(attributes(store, fork.id))
        ended = stage.go_on(fork.id)
        assert attributes(store, ended.id) == attributes(store, run.id) == {"calls": [1, 2, 3], "latest": 3}

    one, two = {"calls": [1], "latest": 1}, {"calls": [1, 2], "latest": 2}
    assert found[:5] == [None, one, one, two, two]


def test_a_retry_goes_on_with_the_attributes_before_the_turn_that_failed(store: Store) -> None:
    class DownAdder(Adder):
        down = True

    app = App("tests", "1")
    app.task(name="desk")(adding(DownAdder))
    with Desk(store, app) as desk:
        failed = desk.go_on(desk.submit("desk", "go"))
        assert failed.status == "failed"
        assert attributes(store, failed.id) == {"calls": [1, 2], "latest": 2}

        DownAdder.down = False
        _, ask = store.tenant(DEFAULT_TENANT).retry(failed.id)
        assert ask is not None
        assert desk.responders.answer(permit(ask))
        ended = desk.go_on(failed.id)

    assert ended.status == "completed", ended.error
    assert attributes(store, failed.id) == {"calls": [1, 2, 3], "latest": 3}


def test_a_rewind_leaves_attributes_as_it_leaves_the_state(store: Store) -> None:
    rewind = '{"request": "rewind_tool", "n": 1, "content": "better"}'

    class Rewinding(Adder):
        class State(BaseModel):
            calls: int = 0

        state: State

        def add(self, msg: Add) -> str:
            self.state.calls += 1
            return super().add(msg)

    def build() -> Task:
        agent = Rewinding(ChatAgentConfig(name="desk", llm=LLMConfig(type="mock")))
        add = '{"request": "add"}'
        agent.llm = ScriptedModel(LLMConfig(type="mock"), "desk", [add, rewind, "DONE over"], {})
        return Task(agent, interactive=False)

    script = build()
    script.run("go", turns=6)
    run = Stage(store, build).play("go", turns=6)

    agent: Any = script.agent
    with store.coordinator.locked(run.id) as transaction:
        kept = transaction.agent("desk")
    assert kept.state == agent.state.model_dump()
    assert (kept.record or {})["attributes"] == {"calls": agent.calls, "latest": agent.latest}
    assert agent.state.calls == len(agent.calls) >= 1


def test_a_run_of_a_version_without_attributes_goes_on(store: Store) -> None:
    class Earlier(ChatAgent):
        def __init__(self, config: ChatAgentConfig) -> None:
            super().__init__(config)
            self.enable_message([Add, RewindTool])

        def add(self, msg: Add) -> str:
            return "added"

    app = App("tests", "1")
    app.task(name="desk")(adding(Earlier))
    with Desk(store, app, moves="coordinator") as desk:
        run_id = desk.submit("desk", "go")
        for _ in range(2):
            assert desk.answer(desk.coordinator.move(run_id))
    later = App("tests", "2")
    later.task(name="desk")(adding())
    with Desk(store, later, beside=desk) as other:
        ended = other.go_on(run_id)

    assert ended.status == "completed", ended.error
    assert attributes(store, run_id) == {"calls": [1, 2], "latest": 2}


def test_clones_of_a_task_do_not_share_its_lists() -> None:
    class Noting(Task[Any]):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            self.notes: dict[str, list[int]] = {"a": [1]}
            self.client = object()

    task = Noting(ChatAgent(ChatAgentConfig(llm=None)))
    one, two = task.clone(1), task.clone(2)
    one.notes["a"].append(2)
    one.notes["b"] = []

    assert task.notes == two.notes == {"a": [1]}
    assert one.client is two.client is task.client
