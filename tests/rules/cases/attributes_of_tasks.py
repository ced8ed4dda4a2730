"""Attributes over several tasks: of sub-tasks, of shared agents, and of tasks with rules of their own."""

from __future__ import annotations

from typing import Any

from tests.rules.attribute_parts import TOOLS, Lists, Number, Word, n, team, w
from tests.rules.cast import Cast
from tests.rules.scenario import scenario

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    LLMMessage,
    Role,
    StatusCode,
    Task,
    TaskConfig,
)


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


class Trimming(Task[Any]):
    """Keeps the conversation of its agent short."""

    def done(self, result: ChatDocument | None = None, r: str | None = None) -> tuple[bool, StatusCode]:
        if len(self.agent.message_history) > 4:
            self.agent.clear_history(-2)
        return super().done(result, r)


@scenario(
    "HANDLE-23 HIST-11",
    """
    Boss LLM: a
    Boss Agent: ok
    Boss LLM: b
    Boss Agent: ok
    Boss LLM: b
    Boss = FIXED_TURNS
    => b
    """,
    turns=5,
    sent={
        "Boss": """
        user: go
        assistant: a
        user: ok
        """
    },
)
def an_own_rule_may_drop_messages_of_its_agent(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", "a", "b", "c", handle_llm_no_tool="ok"), kind=Trimming)


class Concise(Task[Any]):
    """Puts a summary in place of its agent's conversation once an answer says so."""

    def valid(self, result: ChatDocument | None, r: str) -> bool:
        if result is not None and result.content == "sum up":
            self.agent.message_history = [LLMMessage(role=Role.USER, content="summary")]
        return super().valid(result, r)


@scenario(
    "HANDLE-23 HIST-11",
    """
    Boss LLM: a
    Boss Agent: ok
    Boss LLM: sum up
    Boss Agent: ok
    Boss LLM: a
    Boss = FIXED_TURNS
    => a
    """,
    turns=5,
    sent={
        "Boss": """
        user: summary
        user: ok
        """
    },
)
def an_own_rule_may_assign_the_history_of_its_agent(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", "a", "sum up", handle_llm_no_tool="ok"), kind=Concise)


class Noting(Task[Any]):
    """Notes in its agent's conversation that it has ended."""

    def result(self, status: StatusCode | None = None) -> ChatDocument | None:
        self.agent.update_history("that was all", "noted")
        return super().result(status)


@scenario(
    "HANDLE-23 HIST-11 HIST-3",
    """
    ...
    Boss = FIXED_TURNS
    => two
    """,
    turns=4,
    sent={
        "Bob": """
        user: first
        assistant: one
        user: that was all
        assistant: noted
        user: second
        """
    },
)
def an_own_result_may_add_to_the_conversation_of_a_sub_task(cast: Cast) -> Task:
    bob = cast.task("Bob", "one", "-", "two", single_round=True, kind=Noting)
    return cast.task("Boss", "first", "second", subs=[bob])


@scenario(
    "HANDLE-23 HIST-11 HIST-2",
    """
    Boss LLM: one
    Boss = FIXED_TURNS
    => one
    Boss LLM: two
    Boss = FIXED_TURNS
    => two
    """,
    turns=1,
    says=["go", "on"],
    sent={
        "Boss": """
        user: go
        assistant: one
        user: that was all
        assistant: noted
        user: on
        """
    },
)
def an_own_result_may_add_to_a_conversation_that_goes_on(cast: Cast) -> Task:
    return cast.task("Boss", "one", "-", "two", kind=Noting, restart=False)
