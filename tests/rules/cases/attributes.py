"""Attributes that programs keep on agents and tasks, as they would in a script."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, ClassVar

from pydantic import BaseModel, PrivateAttr
from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.words import call, calls, tool

from turnwise import (
    AgentDoneTool,
    AgentSendTool,
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    DoneTool,
    Entity,
    StatusCode,
    Task,
    TaskConfig,
    ToolMessage,
)


class Number(ToolMessage):
    request: str = "number"
    purpose: str = "To give a <n>."
    n: int = 0


class Word(ToolMessage):
    request: str = "word"
    purpose: str = "To give a <w>."
    w: str = ""


class Show(ToolMessage):
    request: str = "show"
    purpose: str = "To show what was kept."


def n(value: int) -> str:
    return tool("number", n=value)


def w(value: str) -> str:
    return tool("word", w=value)


SHOW = tool("show")
TOOLS: list[type[ToolMessage]] = [Number, Word, Show]


def team(kind: type[ChatAgent], *lines: str, **more: Any) -> Callable[[Cast], Task]:
    """One agent of a kind, whose model says the lines."""

    def build(cast: Cast) -> Task:
        return cast.task(cast.agent("Boss", *lines, kind=kind, tools=TOOLS), **more)

    return build


class Secret(ChatAgent):
    """Makes up an attribute in a handler, and changes it in another."""

    def number(self, msg: Number) -> str:
        self.secret = msg.n
        return "kept"

    def word(self, msg: Word) -> str:
        self.secret += len(msg.w)
        return f"now {self.secret}"

    def show(self, msg: Show) -> str:
        return f"the secret is {self.secret}"


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {number n=50}
    Boss Agent: kept
    Boss LLM: {word w=abc}
    Boss Agent: now 53
    Boss LLM: {show}
    Boss Agent: the secret is 53
    Boss = FIXED_TURNS
    => the secret is 53
    """,
    turns=6,
)
def an_attribute_that_a_handler_sets_is_there_in_the_next_turn(cast: Cast) -> Task:
    return team(Secret, n(50), w("abc"), SHOW)(cast)


class Lists(ChatAgent):
    """Changes lists and dicts in place."""

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.seen: list[int] = []
        self.by_word: dict[str, list[int]] = {"first": [0]}

    def number(self, msg: Number) -> str:
        self.seen.append(msg.n)
        self.by_word["first"].append(msg.n)
        return str(self.seen)

    def word(self, msg: Word) -> str:
        self.by_word.setdefault(msg.w, []).extend(self.seen)
        return str(self.by_word)

    def show(self, msg: Show) -> str:
        return f"{self.seen} {self.by_word}"


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {number n=1}
    Boss Agent: [1]
    Boss LLM: {number n=2}
    Boss Agent: [1, 2]
    Boss LLM: {word w=b}
    Boss Agent: {'first': [0, 1, 2], 'b': [1, 2]}
    Boss LLM: {show}
    Boss Agent: [1, 2] {'first': [0, 1, 2], 'b': [1, 2]}
    Boss = FIXED_TURNS
    => ...
    """,
    turns=8,
)
def a_change_within_a_list_or_a_dict_lasts(cast: Cast) -> Task:
    return team(Lists, n(1), n(2), w("b"), SHOW)(cast)


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {number n=1} {number n=2} {show}
    Boss Agent: Result from number: [1] / Result from number: [1, 2] / Result from show: [1, 2] {'first': [0, 1, 2]}
    Boss LLM: {show}
    Boss Agent: [1, 2] {'first': [0, 1, 2]}
    Boss = FIXED_TURNS
    => ...
    """,
    turns=4,
)
def several_handlers_of_one_turn_see_what_each_has_changed(cast: Cast) -> Task:
    return team(Lists, f"{n(1)} {n(2)} {SHOW}", SHOW)(cast)


class Defaults(ChatAgent):
    """Begins with values of its class."""

    count = 0
    best: str | None = None

    def number(self, msg: Number) -> str:
        self.count += msg.n
        return str(self.count)

    def word(self, msg: Word) -> str:
        self.best = max(self.best or "", msg.w)
        return str(self.best)

    def show(self, msg: Show) -> str:
        return f"{self.count} {self.best} {sorted(set(vars(self)) & {'count', 'best'})}"


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {number n=3}
    Boss Agent: 3
    Boss LLM: {number n=4}
    Boss Agent: 7
    Boss LLM: {show}
    Boss Agent: 7 None ['count']
    Boss LLM: {word w=b}
    Boss Agent: b
    Boss LLM: {word w=a}
    Boss Agent: b
    Boss = FIXED_TURNS
    => b
    """,
    turns=10,
)
def an_attribute_goes_before_the_value_of_its_class(cast: Cast) -> Task:
    return team(Defaults, n(3), n(4), SHOW, w("b"), w("a"))(cast)


class Gone(ChatAgent):
    """Deletes attributes."""

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.left = ["a"]
        self.kept = 1

    def number(self, msg: Number) -> str:
        del self.left
        self.extra = [msg.n]
        return "gone"

    def word(self, msg: Word) -> str:
        del self.kept, self.extra
        self.left = [msg.w]
        return "back"

    def show(self, msg: Show) -> str:
        return str({name: getattr(self, name, "none") for name in ("left", "kept", "extra")})


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {show}
    Boss Agent: {'left': ['a'], 'kept': 1, 'extra': 'none'}
    Boss LLM: {number n=5}
    Boss Agent: gone
    Boss LLM: {show}
    Boss Agent: {'left': 'none', 'kept': 1, 'extra': [5]}
    Boss LLM: {word w=z}
    Boss Agent: back
    Boss LLM: {show}
    Boss Agent: {'left': ['z'], 'kept': 'none', 'extra': 'none'}
    Boss = FIXED_TURNS
    => ...
    """,
    turns=10,
)
def a_deleted_attribute_stays_deleted(cast: Cast) -> Task:
    return team(Gone, SHOW, n(5), SHOW, w("z"), SHOW)(cast)


class Priority(Enum):
    LOW = 1
    HIGH = 2


class Note(BaseModel):
    text: str
    priority: Priority = Priority.LOW
    tags: set[str] = set()
    _seen: int = PrivateAttr(default=0)


@dataclass
class Plan:
    steps: list[Note] = field(default_factory=list)
    at: int = 0


class Planner(ChatAgent):
    """Keeps models and dataclasses, one of which it points to from elsewhere."""

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.plan = Plan()
        self.current: Note | None = None

    def word(self, msg: Word) -> str:
        self.plan.steps.append(Note(text=msg.w))
        self.current = self.plan.steps[-1]
        return f"{len(self.plan.steps)} steps"

    def number(self, msg: Number) -> str:
        assert self.current is not None
        self.current.priority = Priority(msg.n)
        self.current.tags |= {f"t{msg.n}"}
        self.current._seen += 1
        self.plan.at += 1
        return f"{self.plan.steps[-1].priority} {self.current._seen}"

    def show(self, msg: Show) -> str:
        assert self.current is not None
        # As a list, because a set may have another order in another process.
        tags = [sorted(step.tags) for step in self.plan.steps]
        now = f"{self.current.text} {self.current.priority}"
        return f"{self.plan.at} {now} {tags} {self.current is self.plan.steps[-1]}"


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {word w=a}
    Boss Agent: 1 steps
    Boss LLM: {word w=b}
    Boss Agent: 2 steps
    Boss LLM: {number n=2}
    Boss Agent: Priority.HIGH 1
    Boss LLM: {number n=1}
    Boss Agent: Priority.LOW 2
    Boss LLM: {show}
    Boss Agent: 2 b Priority.LOW [[], ['t1', 't2']] True
    Boss = FIXED_TURNS
    => ...
    """,
    turns=10,
)
def models_and_dataclasses_last_and_what_two_attributes_share_stays_shared(cast: Cast) -> Task:
    return team(Planner, w("a"), w("b"), n(2), n(1), SHOW)(cast)


class Kinds(ChatAgent):
    """Keeps values of many types."""

    def number(self, msg: Number) -> str:
        self.values: list[Any] = [
            (msg.n, "a"),
            {msg.n},
            frozenset({1}),
            b"x",
            Decimal("1.50"),
            date(2026, 1, msg.n),
            timedelta(hours=msg.n),
            PurePosixPath("a/b"),
            Counter("aab"),
            defaultdict(list, {1: [2]}),
            deque([1, 2, 3], maxlen=3),
            {1: "one", None: "none"},
            float("inf"),
            True,
            1.0,
            Priority.HIGH,
            Number,
        ]
        return "kept"

    def word(self, msg: Word) -> str:
        self.values[8].update(msg.w)
        self.values[9]["new"].append(1)
        self.values[10].append(4)
        return "changed"

    def show(self, msg: Show) -> str:
        return repr(self.values)


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {number n=3}
    Boss Agent: kept
    Boss LLM: {word w=bb}
    Boss Agent: changed
    Boss LLM: {show}
    Boss Agent: [(3, 'a'), {3}, ..., Counter({'b': 3, 'a': 2}), ... 'new': [1]...deque([2, 3, 4], maxlen=3), ...]
    Boss = FIXED_TURNS
    => ...
    """,
    turns=6,
)
def values_come_back_as_the_types_that_they_were(cast: Cast) -> Task:
    return team(Kinds, n(3), w("bb"), SHOW)(cast)


class LastSaid(ChatAgent):
    """Keeps messages and tools themselves."""

    def number(self, msg: Number, doc: Any = None) -> str:
        self.last_tool = msg
        self.history_of_tools = [*getattr(self, "history_of_tools", []), msg]
        return "kept"

    def handle_message_fallback(self, msg: str | ChatDocument) -> Any:
        assert isinstance(msg, ChatDocument)
        if msg.metadata.sender == Entity.LLM:
            self.last_message = msg
            return "heard"
        return None

    def show(self, msg: Show) -> str:
        said = self.last_message
        same = self.last_tool is self.history_of_tools[-1]
        return f"{said.content} from {said.metadata.sender}; {self.last_tool.n + 1}; {same}"


@scenario(
    "HANDLE-21 HANDLE-20",
    """
    Boss LLM: {number n=4}
    Boss Agent: kept
    Boss LLM: hello
    Boss Agent: heard
    Boss LLM: {show}
    Boss Agent: hello from LLM; 5; True
    Boss = FIXED_TURNS
    => ...
    """,
    turns=6,
)
def tools_and_messages_may_be_kept(cast: Cast) -> Task:
    return team(LastSaid, n(4), "hello", SHOW)(cast)


class Searching(ChatAgent):
    """Counts in the answers that it overrides, as agents that expect a tool next do."""

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.expecting = False
        self.asked = 0
        self.reminded = 0

    def llm_response(self, message: Any = None) -> Any:
        self.expecting = True
        self.asked += 1
        return super().llm_response(message)

    def number(self, msg: Number) -> str:
        self.expecting = False
        return f"asked {self.asked}"

    def handle_message_fallback(self, msg: str | ChatDocument) -> Any:
        if isinstance(msg, ChatDocument) and msg.metadata.sender == Entity.LLM and self.expecting:
            self.reminded += 1
            return f"You forgot the tool {self.reminded} times in {self.asked}"
        return None


@scenario(
    "HANDLE-21 HANDLE-20",
    """
    Boss LLM: hm
    Boss Agent: You forgot the tool 1 times in 1
    Boss LLM: well
    Boss Agent: You forgot the tool 2 times in 2
    Boss LLM: {number n=1}
    Boss Agent: asked 3
    Boss = FIXED_TURNS
    => asked 3
    """,
    turns=6,
)
def what_an_own_llm_response_counts_is_seen_by_the_fallback(cast: Cast) -> Task:
    return team(Searching, "hm", "well", n(1))(cast)


class Answering(ChatAgent):
    """Overrides `agent_response` and `llm_response` without a model."""

    def agent_response(self, msg: Any = None) -> Any:
        self.turns = [*getattr(self, "turns", []), msg.content]
        return f"{len(self.turns)} heard" if len(self.turns) < 3 else "DONE " + " | ".join(self.turns)

    def llm_response(self, message: Any = None) -> Any:
        self.said = getattr(self, "said", 0) + 1
        return f"word {self.said}"


@scenario(
    "HANDLE-21 HANDLE-20",
    """
    Boss Agent: 1 heard
    Boss LLM: word 1
    Boss Agent: 2 heard
    Boss LLM: word 2
    Boss Agent: DONE go | word 1 | word 2
    Boss = DONE
    => go | word 1 | word 2
    """,
)
def own_responses_of_an_agent_without_a_model_keep_attributes(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", kind=Answering))


class Resetting(ChatAgent):
    """Resets its own attributes with the conversation."""

    def init_state(self) -> None:
        super().init_state()
        self.query: str | None = None
        self.resets = getattr(self, "resets", 0) + 1

    def word(self, msg: Word) -> str:
        before, self.query = self.query, msg.w
        return f"{before} then {self.query}, reset {self.resets}"


@scenario(
    "HANDLE-22",
    """
    Boss LLM: {word w=a}
    Boss Agent: None then a, reset 3
    Boss LLM: {word w=b}
    Boss Agent: a then b, reset 3
    Boss = FIXED_TURNS
    => a then b, reset 3
    """,
    turns=4,
)
def init_state_may_reset_attributes_as_a_run_begins(cast: Cast) -> Task:
    return team(Resetting, w("a"), w("b"))(cast)


def _twice(cast: Cast, kind: type[ChatAgent], *lines: Any, **more: Any) -> Task:
    bob = cast.agent("Bob", *lines, kind=kind, tools=TOOLS)
    sub = cast.task(bob, single_round=True, llm_delegate=True, **more)
    return cast.task("Boss", "first", "second", subs=[sub])


@scenario(
    "HANDLE-22 HIST-3",
    """
    Boss LLM: first
    Bob <- first
    Bob LLM: {number n=1}
    Bob Agent: [1]
    Bob = FIXED_TURNS
    Boss Bob: [1]
    Boss LLM: second
    Bob <- second
    Bob LLM: {number n=2}
    Bob Agent: [1, 2]
    Bob = FIXED_TURNS
    Boss Bob: [1, 2]
    Boss = FIXED_TURNS
    => [1, 2]
    """,
    turns=4,
)
def a_sub_tasks_attributes_last_from_call_to_call(cast: Cast) -> Task:
    return _twice(cast, Lists, n(1), n(2))


@scenario(
    "HANDLE-22 HIST-4",
    """
    Boss LLM: first
    Bob <- first
    Bob LLM: {number n=1}
    Bob Agent: [1]
    Bob = FIXED_TURNS
    Boss Bob: [1]
    Boss LLM: second
    Bob <- second
    Bob LLM: {number n=1}
    Bob Agent: [1, 1]
    Bob = FIXED_TURNS
    Boss Bob: [1, 1]
    Boss = FIXED_TURNS
    => [1, 1]
    """,
    turns=4,
)
def restart_as_subtask_forgets_the_conversation_and_leaves_attributes(cast: Cast) -> Task:
    return _twice(cast, Lists, n(1), config=TaskConfig(restart_as_subtask=True))


@scenario(
    "HANDLE-22 HIST-4",
    """
    Boss LLM: first
    Bob <- first
    Bob LLM: {word w=a}
    Bob Agent: None then a, reset 4
    Bob = FIXED_TURNS
    Boss Bob: None then a, reset 4
    Boss LLM: second
    Bob <- second
    Bob LLM: {word w=a}
    Bob Agent: None then a, reset 5
    Bob = FIXED_TURNS
    Boss Bob: None then a, reset 5
    Boss = FIXED_TURNS
    => ...
    """,
    turns=4,
)
def restart_as_subtask_calls_init_state_of_its_agent(cast: Cast) -> Task:
    return _twice(cast, Resetting, w("a"), config=TaskConfig(restart_as_subtask=True))


@scenario(
    "HANDLE-22 HIST-5",
    """
    Boss LLM: {number n=1}
    Boss Agent: [1]
    Boss = FIXED_TURNS
    => [1]
    Boss LLM: {number n=2}
    Boss Agent: [1, 2]
    Boss = FIXED_TURNS
    => [1, 2]
    """,
    turns=2,
    says=["go", "again"],
)
def attributes_go_on_with_a_conversation_that_goes_on(cast: Cast) -> Task:
    return team(Lists, n(1), n(2), restart=False)(cast)


@scenario(
    "HANDLE-22",
    """
    Boss LLM: one
    One <- one
    One LLM: {number n=1}
    One Agent: [1]
    One = FIXED_TURNS
    Boss One: [1]
    Boss LLM -> Two: two
    Two <- two
    Two LLM: {number n=2}
    Two Agent: [1, 2]
    Two = FIXED_TURNS
    Boss Two: [1, 2]
    Boss = FIXED_TURNS
    => [1, 2]
    """,
    turns=4,
)
def tasks_over_one_agent_share_its_attributes(cast: Cast) -> Task:
    bob = cast.agent("Bob", n(1), n(2), kind=Lists, tools=TOOLS)
    one, two = (Task(bob, name, interactive=False, single_round=True, llm_delegate=True) for name in ("One", "Two"))
    return cast.task("Boss", "one", "TO[Two]: two", subs=[one, two])


class Counts(Task[Any]):
    """Ends after so many answers of its model, and says how many it saw."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.answers: list[str] = []

    def done(self, result: ChatDocument | None = None, r: str | None = None) -> tuple[bool, StatusCode]:
        if result is None and self.pending_message is not None and self.pending_sender == "LLM":
            self.answers.append(self.pending_message.content)
        return (len(self.answers) >= 3, StatusCode.DONE) if result is None else super().done(result, r)

    def result(self, status: StatusCode | None = None) -> ChatDocument | None:
        found = super().result(status)
        assert found is not None
        found.content = " then ".join(self.answers)
        return found


@scenario(
    "HANDLE-23 TASK-10",
    """
    Boss LLM: a
    Boss Agent: ok
    Boss LLM: b
    Boss Agent: ok
    Boss LLM: c
    Boss = DONE
    => a then b then c
    """,
)
def an_own_rule_of_a_task_keeps_attributes(cast: Cast) -> Task:
    agent = cast.agent("Boss", "a", "b", "c", "d", handle_llm_no_tool="ok")
    return cast.task(agent, kind=Counts)


class Judged(ChatAgent):
    """Says when it has enough."""

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.enough = False
        self.looks = 0

    def number(self, msg: Number) -> str:
        self.enough = msg.n > 1
        return f"{msg.n} after {self.looks > 0}"


class Judging(Task[Any]):
    """Asks its agent whether it has enough, and tells it how often it looked."""

    def done(self, result: ChatDocument | None = None, r: str | None = None) -> tuple[bool, StatusCode]:
        assert isinstance(self.agent, Judged)
        if self.agent.enough:
            return True, StatusCode.DONE
        self.agent.looks += 1
        return super().done(result, r)


@scenario(
    "HANDLE-23",
    """
    Boss LLM: {number n=1}
    Boss Agent: 1 after True
    Boss LLM: {number n=2}
    Boss Agent: 2 after True
    Boss = DONE
    => 2 after True
    """,
)
def an_own_rule_sees_and_changes_the_attributes_of_its_agent(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", n(1), n(2), n(3), kind=Judged, tools=TOOLS), kind=Judging)


class Reader(Task[Any]):
    """Ends once its agent's conversation is long enough."""

    def done(self, result: ChatDocument | None = None, r: str | None = None) -> tuple[bool, StatusCode]:
        if result is None and len(self.agent.message_history) > 4:
            return True, StatusCode.DONE
        return super().done(result, r)


@scenario(
    "HANDLE-23",
    """
    Boss LLM: a
    Boss Agent: ok
    Boss LLM: b
    Boss = DONE
    => b
    """,
)
def an_own_rule_sees_the_conversation_of_its_agent(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", "a", "b", "c", handle_llm_no_tool="ok"), kind=Reader)


class Helped(ChatAgent):
    """Hands work to agents and functions that __init__ has made."""

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.helper = ChatAgent(ChatAgentConfig(name="helper", llm=None, system_message="I help."))
        self.ways: dict[str, Any] = {"double": lambda x: 2 * x, "mine": self.plus_one}
        self.way: Any = None
        self.done_with: list[str] = []
        self.base = 1

    def plus_one(self, x: int) -> int:
        return x + self.base

    def word(self, msg: Word) -> str:
        self.way = self.ways[msg.w]
        self.done_with.append(msg.w)
        self.base += 1
        return self.helper.system_message

    def number(self, msg: Number) -> str:
        return f"{self.way(msg.n)} {self.done_with}"


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {word w=double}
    Boss Agent: I help.
    Boss LLM: {number n=5}
    Boss Agent: 10 ['double']
    Boss LLM: {word w=mine}
    Boss Agent: I help.
    Boss LLM: {number n=5}
    Boss Agent: 8 ['double', 'mine']
    Boss = FIXED_TURNS
    => ...
    """,
    turns=8,
)
def an_attribute_may_point_to_what_init_has_made(cast: Cast) -> Task:
    return team(Helped, w("double"), n(5), w("mine"), n(5))(cast)


class Cached(ChatAgent):
    """Has a property that is made once, and names what need not last."""

    unsaved: ClassVar[set[str]] = {"connection"}

    @cached_property
    def table(self) -> dict[int, Any]:
        return {1: lambda: "one"}

    def number(self, msg: Number) -> str:
        self.connection = getattr(self, "connection", None) or object()
        self.used = getattr(self, "used", 0) + 1
        return f"{self.table[msg.n]()} {self.used}"


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {number n=1}
    Boss Agent: one 1
    Boss LLM: {number n=1}
    Boss Agent: one 2
    Boss = FIXED_TURNS
    => one 2
    """,
    turns=4,
)
def what_can_be_made_again_need_not_be_kept(cast: Cast) -> Task:
    return team(Cached, n(1), n(1))(cast)


class Stateless(ChatAgent):
    """Uses the name `state` for itself."""

    def number(self, msg: Number) -> str:
        self.state = {"sum": (self.state or {"sum": 0})["sum"] + msg.n}
        return str(self.state)


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {number n=1}
    Boss Agent: {'sum': 1}
    Boss LLM: {number n=2}
    Boss Agent: {'sum': 3}
    Boss = FIXED_TURNS
    => ...
    """,
    turns=4,
)
def an_agent_that_declares_no_state_may_use_the_name(cast: Cast) -> Task:
    return team(Stateless, n(1), n(2))(cast)


class Both(ChatAgent):
    """Has a declared state as well."""

    class State(BaseModel):
        total: int = 0

    state: State

    def number(self, msg: Number) -> str:
        self.state.total += msg.n
        self.calls = getattr(self, "calls", 0) + 1
        return f"{self.state.total} in {self.calls}"


@scenario(
    "HANDLE-19 HANDLE-21",
    """
    Boss LLM: {number n=5}
    Boss Agent: 5 in 1
    Boss LLM: {number n=6}
    Boss Agent: 11 in 2
    Boss = FIXED_TURNS
    => 11 in 2
    """,
    turns=4,
)
def a_state_and_attributes_may_stand_side_by_side(cast: Cast) -> Task:
    return team(Both, n(5), n(6))(cast)


class Human(ChatAgent):
    """Counts what a person is asked."""

    def number(self, msg: Number) -> Any:
        self.asked = getattr(self, "asked", 0) + 1
        return AgentSendTool(to="User", content="Shall I?")

    def show(self, msg: Show) -> str:
        return f"asked {self.asked}"


@scenario(
    "HANDLE-21 HUMAN-1",
    """
    Boss LLM: {number n=1}
    Boss Agent -> User: Shall I?
    Boss User: yes
    Boss LLM: {show}
    Boss Agent: asked 1
    Boss = FIXED_TURNS
    => asked 1
    """,
    turns=5,
    answers=("yes",),
)
def attributes_outlast_a_wait_for_a_person(cast: Cast) -> Task:
    return team(Human, n(1), SHOW)(cast)


class Apis(ChatAgent):
    """Is called by the API, several at a time."""

    def number(self, msg: Number) -> str:
        self.sum = getattr(self, "sum", 0) + msg.n
        return str(self.sum)


@scenario(
    "HANDLE-21 CALL-3",
    """
    Boss LLM: ...
    Boss Agent: ...
    Boss LLM: {number n=4}
    Boss Agent: 7
    Boss = FIXED_TURNS
    => 7
    """,
    turns=4,
)
def calls_of_the_api_change_attributes_one_after_the_other(cast: Cast) -> Task:
    both = calls(call("c1", "number", n=1), call("c2", "number", n=2))
    return cast.task(cast.agent("Boss", both, n(4), kind=Apis, tools=[Number], use_functions_api=True))


class Silent(Lists):
    """Sets attributes that equal what they were."""

    def show(self, msg: Show) -> str:
        self.seen = list(self.seen)
        return str(self.seen)


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {show}
    Boss Agent: []
    Boss LLM: {number n=1}
    Boss Agent: [1]
    Boss LLM: {show}
    Boss Agent: [1]
    Boss = FIXED_TURNS
    => [1]
    """,
    turns=6,
)
def an_equal_value_is_no_change(cast: Cast) -> Task:
    return team(Silent, SHOW, n(1), SHOW)(cast)


class Worker(ChatAgent):
    """Does one step of a plan, and hands the result up."""

    def number(self, msg: Number) -> Any:
        self.done_steps = getattr(self, "done_steps", 0) + 1
        return AgentDoneTool(content=f"{msg.n * 10} (step {self.done_steps})")


class Workflow(ChatAgent):
    """Follows a plan whose steps a sub-task carries out."""

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.current_step = 0
        self.results: list[str] = []

    def word(self, msg: Word) -> Any:
        self.plan = msg.w.split(",")
        self.current_step = 1
        return f"@Worker {self.plan[0]}"

    def handle_message_fallback(self, msg: str | ChatDocument) -> Any:
        if not isinstance(msg, ChatDocument) or msg.metadata.sender_name != "Worker":
            return None
        self.results.append(msg.content)
        if self.current_step == len(self.plan):
            return DoneTool(content=f"{self.results}")
        self.current_step += 1
        return f"@Worker {self.plan[self.current_step - 1]}"


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {word w=1,2}
    Boss Agent -> Worker: 1
    Worker <- 1
    Worker LLM: {number n=1}
    Worker Agent: ...
    Worker = DONE
    Boss Worker: 10 (step 1)
    Boss Agent -> Worker: 2
    Worker <- 2
    Worker LLM: {number n=2}
    Worker Agent: ...
    Worker = DONE
    Boss Worker: 20 (step 2)
    Boss Agent: ...
    Boss = DONE
    => ['10 (step 1)', '20 (step 2)']
    """,
)
def a_workflow_keeps_its_plan_while_sub_tasks_work(cast: Cast) -> Task:
    worker = cast.task(cast.agent("Worker", n(1), n(2), kind=Worker, tools=TOOLS))
    boss = cast.agent("Boss", w("1,2"), kind=Workflow, tools=TOOLS)
    return cast.task(boss, subs=[worker], config=TaskConfig(addressing_prefix="@"))


class Critic(ChatAgent):
    """Lets an answer pass the second time."""

    def llm_response(self, message: Any = None) -> Any:
        self.rounds = getattr(self, "rounds", 0) + 1
        self.drafts = [*getattr(self, "drafts", []), message.content]
        if self.rounds < 2:
            return f"DONE not yet: {message.content}"
        return f"DONE good after {self.drafts}"


class Author(ChatAgent):
    """Shows drafts to a critic until it is content."""

    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.drafts: dict[int, str] = {}
        self.verdicts: list[str] = []

    def word(self, msg: Word) -> str:
        self.drafts[len(self.drafts) + 1] = msg.w
        return f"@Critic {msg.w}"

    def handle_message_fallback(self, msg: str | ChatDocument) -> Any:
        if not isinstance(msg, ChatDocument) or msg.metadata.sender_name != "Critic":
            return None
        self.verdicts.append(msg.content)
        return AgentDoneTool(content=f"{self.drafts} {self.verdicts}") if msg.content.startswith("good") else None


@scenario(
    "HANDLE-21",
    """
    Boss LLM: {word w=draft}
    Boss Agent -> Critic: draft
    Critic <- draft
    Critic LLM: DONE not yet: draft
    Critic = DONE
    Boss Critic: not yet: draft
    Boss LLM: {word w=better}
    Boss Agent -> Critic: better
    Critic <- better
    Critic LLM: DONE good after ['draft', 'better']
    Critic = DONE
    Boss Critic: good after ['draft', 'better']
    Boss Agent: ...
    Boss = DONE
    => {1: 'draft', 2: 'better'} ['not yet: draft', "good after ['draft', 'better']"]
    """,
)
def an_author_and_a_critic_each_keep_what_they_have_seen(cast: Cast) -> Task:
    critic = cast.task(cast.agent("Critic", kind=Critic))
    boss = cast.agent("Boss", w("draft"), w("better"), kind=Author, tools=TOOLS)
    return cast.task(boss, subs=[critic], config=TaskConfig(addressing_prefix="@"))
