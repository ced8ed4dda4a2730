"""Attributes that programs keep on agents, as they would in a script."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from pydantic import BaseModel
from tests.rules.attribute_parts import SHOW, Lists, Number, Show, Word, n, team, w
from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.words import call, calls

from turnwise import (
    AgentSendTool,
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    Entity,
    Task,
)


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
