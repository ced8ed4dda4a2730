"""Attributes that cannot be kept end a served run with an error that says which; others last, wherever a turn is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel, Field
from tests.support.databases import fresh_sqlite
from tests.support.either_database import database, postgres_url
from tests.support.kept_values import kept
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, StatusCode, Task, ToolMessage
from turnwise.base.ids import new_id
from turnwise.base.json_bounds import MAX_ATTRIBUTES
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.record.values.records import RunRecord

__all__ = ["database", "postgres_url"]


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Store]:
    """A record of SQLite, for what has nothing to do with the kind of database."""
    made = fresh_sqlite(tmp_path / "turnwise.db")
    yield Store(made)
    made.close()


class Act(ToolMessage):
    request: str = "act"
    purpose: str = "To act."


def _model(acts: int = 1) -> MockLMConfig:
    """A model that says so often that its agent is to act."""

    def say(text: str) -> str:
        return "DONE " + text if text.startswith(f"{acts}:") else '{"request": "act"}'

    return MockLMConfig(response_fn=say)


class Actor(ChatAgent):
    """Acts as a function says; counts, so that its model knows when to end."""

    def __init__(self, config: ChatAgentConfig, do: Callable[[Any], Any] | None = None) -> None:
        super().__init__(config)
        self.acts = 0
        self.do = do
        self.enable_message(Act)

    def act(self, msg: Act) -> str:
        self.acts += 1
        return f"{self.acts}: {self.do(self) if self.do is not None else None}"


def _app(build: Callable[[], Task], version: str = "1") -> App:
    app = App("tests", version)
    app.task(name="desk")(build)
    return app


def _task(do: Callable[[Any], Any], kind: type[Actor] = Actor, acts: int = 1, **more: Any) -> Callable[[], Task]:
    def build() -> Task:
        return Task(kind(ChatAgentConfig(name="desk", llm=_model(acts)), do), **{"interactive": False, **more})

    return build


def _play(store: Store, build: Callable[[], Task], **limits: Any) -> RunRecord:
    """The run once it has ended; one process moves, two others answer in turn, and each has built its own tasks."""
    with ExitStack() as stack:
        first = stack.enter_context(Desk(store, _app(build)))
        others = cycle([stack.enter_context(Desk(store, _app(build), beside=first)) for _ in range(2)])
        run = first.submit("desk", **limits)
        moved = first.coordinator.move(run)
        while not moved.run.ended:
            assert next(others).answer(moved)
            moved = first.coordinator.move(run)
        return store.inspector.run(run)


def _result(run: RunRecord) -> str:
    assert run.error is None, run.error
    return str((run.result or {}).get("content"))


def _error(run: RunRecord) -> str:
    assert run.status == "failed", run
    assert run.error is not None
    assert run.error.code == "attribute_not_saved", run.error
    return str(run.error.message)


# --- what cannot be kept ---------------------------------------------------------------------------------------


class Connection:
    """A thing that is no data."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class Cart:
    def __init__(self) -> None:
        self.items: list[str] = []


class Basket(list[str]):
    """A list of a class of its own."""


class Index(dict[str, int]):
    """A dict of a class of its own."""


class Tags(set[str]):
    """A set of a class of its own."""


class WithMore(Actor):
    shared: ClassVar[list[str]] = ["a"]
    total = 0

    def __init__(self, config: ChatAgentConfig, do: Callable[[Any], Any] | None = None) -> None:
        super().__init__(config, do)
        self.connection: Any = Connection()
        self.cart = Cart()
        self.basket, self.index, self.tags = Basket(["a"]), Index(a=1), Tags("a")
        self.plan: dict[str, Any] = {"steps": []}
        self.helper = ChatAgent(ChatAgentConfig(name="helper", llm=None))


def _set(name: str, value: Callable[[], Any]) -> Callable[[Any], Any]:
    return lambda agent: setattr(agent, name, value())


@pytest.mark.parametrize(
    ("do", "says"),
    [
        (_set("client", threading.Lock), "WithMore.client holds a _thread.lock, and 'client' was set"),
        (
            _set("connection", Connection),
            "WithMore.connection holds a tests.integration.test_served_attributes.Connection, and",
        ),
        (_set("way", lambda: lambda: 1), "WithMore.way holds a function, and 'way' was set"),
        (lambda a: a.plan["steps"].append(threading.Lock()), "WithMore.plan['steps'][0] holds a _thread.lock"),
        (_set("cart", lambda: Cart()), "if it is data, make its class a dataclass or a pydantic model"),
        (_set("helper", lambda: ChatAgent(ChatAgentConfig(llm=None))), "WithMore.helper holds a turnwise.ChatAgent"),
        (_set("sub", lambda: Task(ChatAgent(ChatAgentConfig(llm=None)))), "WithMore.sub holds a turnwise.Task"),
        (lambda a: a.shared.append("b"), "WithMore.shared was changed in this turn, but it belongs to the class"),
        (
            lambda a: a.basket.append("b"),
            "WithMore.basket was changed in this turn, but all runs of a process share it",
        ),
        (lambda a: a.index.update(a=2), "because its class, Index, may hold more than its items"),
        (lambda a: a.tags.clear(), "WithMore.tags was changed in this turn"),
        (_set("big", lambda: "x" * MAX_ATTRIBUTES), "the largest is 'big' with 1,000,002"),
        (lambda a: setattr(a, "me", a), "WithMore.me holds a tests.integration.test_served_attributes.WithMore"),
    ],
    ids=[
        "new",
        "made-anew",
        "lambda",
        "within",
        "object",
        "agent",
        "task",
        "class",
        "list",
        "dict",
        "set",
        "large",
        "itself",
    ],
)
def test_a_run_that_leaves_what_cannot_be_kept_ends_with_an_error_that_names_it(
    file: Store, do: Callable[[Any], Any], says: str
) -> None:
    message = _error(_play(file, _task(do, WithMore)))

    assert says in message
    assert WithMore.shared == ["a"]


def test_the_error_says_what_to_do(file: Store) -> None:
    message = _error(_play(file, _task(_set("client", threading.Lock))))

    for advice in ("__init__", "`State`", "`unsaved`"):
        assert advice in message


def test_what_init_has_made_may_be_used(file: Store) -> None:
    def do(agent: Any) -> str:
        with agent.connection.lock:
            return f"{agent.helper.config.name} {agent.cart.items} {agent.shared}"

    assert _result(_play(file, _task(do, WithMore, acts=3))) == "3: helper [] ['a']"


def test_a_lambda_that_holds_the_agent_of_the_factory_is_found_out(file: Store) -> None:
    def build() -> Task:
        agent = Actor(ChatAgentConfig(name="desk", llm=_model(2)))
        agent.do = lambda _: setattr(agent, "acts", agent.acts + 5)
        return Task(agent, interactive=False)

    assert "Actor.acts was changed on the object that the factory made" in _error(_play(file, build))


def test_what_two_agents_hold_may_be_read_but_not_changed(file: Store) -> None:
    def build(change: bool) -> Task:
        board: list[str] = ["a"]
        one, two = (Actor(ChatAgentConfig(name=name, llm=_model())) for name in ("desk", "other"))
        one.board = two.board = board  # type: ignore[attr-defined]
        one.do = lambda agent: agent.board.append("b") if change else agent.board
        root = Task(one, interactive=False)
        root.add_sub_task(Task(two, interactive=False))
        return root

    assert _result(_play(file, lambda: build(False))) == "1: ['a']"
    message = _error(_play(file, lambda: build(True)))
    assert "Actor.board was changed in this turn, and Actor.board holds the same object" in message


class Counting(Task[Any]):
    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.asked: list[Any] = []

    def done(self, result: Any = None, r: str | None = None) -> tuple[bool, StatusCode]:
        self.asked.append(threading.Lock())
        return super().done(result, r)


def test_a_task_that_leaves_what_cannot_be_kept_ends_the_run_too(file: Store) -> None:
    run = _play(file, lambda: Counting(Actor(ChatAgentConfig(name="desk", llm=_model())), interactive=False))

    assert "Counting.asked[0] holds a _thread.lock" in _error(run)


# --- what lasts -------------------------------------------------------------------------------------------------


def _append(agent: Any) -> str:
    agent.notes = [*getattr(agent, "notes", []), agent.acts]
    return str(agent.notes)


def test_each_turn_may_be_another_processs(store: Store) -> None:
    assert _result(_play(store, _task(_append, acts=3))) == "3: [1, 2, 3]"


class Swapping(ChatAgent):
    """Has nothing but an attribute that is None."""

    before: Any = "unknown"

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.before = None
        self.enable_message(Act)

    def act(self, msg: Act) -> str:
        if self.before is None:
            del self.before
            self.after = 5
            return "swapped"
        return f"1: {self.before} {self.after}"


def test_an_attribute_set_in_place_of_another_that_was_none_is_seen(store: Store) -> None:
    run = _play(store, lambda: Task(Swapping(ChatAgentConfig(name="desk", llm=_model())), interactive=False))

    assert _result(run) == "1: unknown 5"


def test_runs_of_one_process_do_not_see_each_others_attributes(store: Store) -> None:
    def do(agent: Any) -> str:
        agent.plan["steps"].append(len(agent.plan["steps"]))
        return str(agent.plan["steps"])

    with Desk(store, _app(_task(do, WithMore, acts=2))) as desk:
        for _ in range(2):
            assert _result(desk.go_on(desk.submit("desk"))) == "2: [0, 1]"


def test_a_session_goes_on_with_attributes_and_another_one_begins_afresh(store: Store) -> None:
    def build() -> Task:
        model = MockLMConfig(response_fn=lambda said: f"DONE {said}" if ":" in said else '{"request": "act"}')
        agent = Actor(ChatAgentConfig(name="desk", llm=model), _append)
        return Task(agent, interactive=False, restart=False)

    session = new_id("session")
    results = [_result(_play(store, build, session_id=each)) for each in (session, session, new_id("session"))]

    assert results == ["1: [1]", "2: [1, 2]", "1: [1]"]


def test_a_failed_handler_leaves_nothing(store: Store) -> None:
    def do(agent: Any) -> str:
        if agent.acts == 2:
            agent.notes.append("lost")
            raise ValueError("no")
        return _append(agent)

    run = _play(store, _task(do, acts=3))

    assert run.status == "failed"
    [agent] = [agent for agent in [store_agent(store, run)] if agent is not None]
    assert agent["attributes"] == {"acts": 1, "notes": [1]}


def store_agent(store: Store, run: RunRecord) -> dict[str, Any] | None:
    """The framework's record of the run's only agent."""
    with store.coordinator.locked(run.id) as transaction:
        return transaction.agent("desk").record


def test_nothing_is_kept_of_an_agent_that_changes_nothing(file: Store) -> None:
    class Plain(ChatAgent):
        def __init__(self, config: ChatAgentConfig) -> None:
            super().__init__(config)
            self.table = {"a": [1]}
            self.enable_message(Act)

        def act(self, msg: Act) -> str:
            return f"1: {self.table}"

    run = _play(file, lambda: Task(Plain(ChatAgentConfig(name="desk", llm=_model())), interactive=False))

    assert _result(run) == "1: {'a': [1]}"
    assert "attributes" not in (store_agent(file, run) or {})


# --- another version of the application -----------------------------------------------------------------------


@dataclass
class Old:
    name: str = "x"
    gone: int = 1


@dataclass
class Newer:
    name: str = "y"
    more: list[int] = field(default_factory=list)


class NeedsMore(BaseModel):
    needed: int


_OLD = Old


@pytest.mark.parametrize(
    ("now", "says"), [(_OLD, ""), (Newer, ""), (None, "cannot be restored"), (NeedsMore, "cannot be restored")]
)
def test_an_attribute_of_a_class_that_is_gone_ends_the_run_with_an_error_that_says_so(
    file: Store, monkeypatch: pytest.MonkeyPatch, now: Any, says: str
) -> None:
    def do(agent: Any) -> str:
        if agent.acts == 1:
            agent.thing = _OLD()
            return "set"
        return str(agent.thing.name)

    with Desk(file, _app(_task(do, acts=2)), moves="coordinator") as desk:
        run = desk.submit("desk")
        for _ in range(2):
            assert desk.answer(desk.coordinator.move(run))
    with Desk(file, _app(_task(do, acts=2), version="2"), beside=desk) as other:
        if now is None:
            monkeypatch.delattr(f"{__name__}.Old")
        else:
            monkeypatch.setattr(f"{__name__}.Old", now)
        ended = other.go_on(run)

    if not says:
        assert _result(ended) == "2: x"
    else:
        message = str(kept(ended.error)["message"])
        assert f"Actor.thing was saved by an earlier turn and {says}" in message
        assert "the run began with version 1 of the application" in message


# --- settings ---------------------------------------------------------------------------------------------------


class OwnConfig(ChatAgentConfig):
    paths: list[str] = Field(default_factory=list)
    ready: bool = False
    more: Any = None


def _own_settings(agent: Any) -> str:
    agent.config.paths.append(f"p{agent.acts}")
    agent.config.ready = True
    agent.config.system_message = f"turn {agent.acts}"
    agent.default_human_response = f"h{agent.acts}"
    return f"{agent.config.paths} {agent.config.ready}"


def test_settings_that_a_turn_changes_last(store: Store) -> None:
    def before(agent: Any) -> str:
        found = f"{agent.config.system_message} {agent.default_human_response}"
        return f"{found} {_own_settings(agent)}"

    def build() -> Task:
        return Task(Actor(OwnConfig(name="desk", llm=_model(2), system_message="begin"), before), interactive=False)

    assert _result(_play(store, build)) == "2: turn 1 h1 ['p1', 'p2'] True"


class Later(ToolMessage):
    request: str = "later"
    purpose: str = "To come later."


@pytest.mark.parametrize(
    ("do", "says"),
    [
        (lambda a: setattr(a.config, "more", threading.Lock()), "OwnConfig.more holds a _thread.lock"),
        (lambda a: setattr(a.config, "llm", _model()), "Actor.config.llm was changed in this turn"),
        (lambda a: setattr(a.config.llm, "temperature", 0.7), "Actor.config.llm.temperature was changed"),
        (lambda a: setattr(a, "llm", None), "Actor.llm was changed in this turn"),
        (lambda a: setattr(a.callbacks, "show_agent_response", print), "Actor.callbacks was changed"),
        (lambda a: a.enable_message(Later), "the tool 'later' (Later) was enabled in a turn"),
    ],
    ids=["field", "model", "of-the-model", "client", "callback", "tool"],
)
def test_settings_that_cannot_be_kept_end_the_run(file: Store, do: Callable[[Any], Any], says: str) -> None:
    def build() -> Task:
        return Task(Actor(OwnConfig(name="desk", llm=_model()), do), interactive=False)

    run = _play(file, build)

    assert says in str(kept(run.error).get("message")), run.error


def test_a_changed_container_of_an_own_class_is_as_before_for_the_next_run(file: Store) -> None:
    seen: list[Any] = []

    def look(agent: Any) -> str:
        seen.append((list(agent.basket), dict(agent.index), set(agent.tags)))
        agent.basket.append("b")
        agent.index["b"] = 2
        agent.tags.add("b")
        return "changed"

    with Desk(file, _app(_task(look, WithMore))) as desk:
        assert [desk.go_on(desk.submit("desk")).status for _ in range(2)] == ["failed", "failed"]

    assert seen == [(["a"], {"a": 1}, {"a"})] * 2
