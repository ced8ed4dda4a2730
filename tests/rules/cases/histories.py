"""The prompts of models, and the part of a conversation that lasts."""

from __future__ import annotations

from typing import Any

from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.words import tool

from turnwise import ChatAgent, LLMMessage, Role, Task, TaskConfig, ToolMessage


@scenario(
    "HIST-1",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: one
    Bob = FIXED_TURNS
    Boss Bob: one
    Boss = FIXED_TURNS
    => one
    Boss LLM: ask
    Bob <- ask
    Bob LLM: one
    Bob = FIXED_TURNS
    Boss Bob: one
    Boss = FIXED_TURNS
    => one
    """,
    turns=2,
    says=["go", "again"],
    sent={"Boss": "user: again", "Bob": "user: ask"},
)
def each_run_begins_with_empty_histories(cast: Cast) -> Task:
    return cast.task("Boss", "ask", subs=[cast.task("Bob", "one", single_round=True)])


@scenario(
    "HIST-2 TASK-3",
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
        user: on
        """
    },
)
def without_restart_a_run_goes_on_with_the_one_before(cast: Cast) -> Task:
    return cast.task("Boss", "one", "two", restart=False)


@scenario(
    "TASK-3 HIST-2",
    """
    Boss LLM: ask Bob
    Boss = FIXED_TURNS
    => ask Bob
    Bob <- ask Bob
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=1,
    says=["go", None],
)
def a_run_without_a_message_goes_on_from_the_last_one(cast: Cast) -> Task:
    """The model said it, so somebody else answers."""
    return cast.task("Boss", "ask Bob", "never said", subs=[cast.task("Bob", "DONE mine")], restart=False)


@scenario(
    "TASK-3 HIST-2",
    """
    => raises ConnectionError: not now
    Boss LLM: DONE here I am
    Boss = DONE
    => here I am
    """,
    says=["go", None],
    sent={"Boss": "user: go"},
    never={"served": "a failed run leaves its session as it was"},
)
def a_message_that_was_not_answered_is_answered_when_the_run_goes_on(cast: Cast) -> Task:
    failed: list[str] = []

    def line(_: str) -> str:
        if not failed:
            failed.append("once")
            raise ConnectionError("not now")
        return "DONE here I am"

    return cast.task("Boss", line, restart=False)


@scenario(
    "HIST-3",
    """
    Boss LLM: first
    Bob <- first
    Bob LLM: one
    Bob = FIXED_TURNS
    Boss Bob: one
    Boss LLM: second
    Bob <- second
    Bob LLM: two
    Bob = FIXED_TURNS
    Boss Bob: two
    Boss = FIXED_TURNS
    => two
    """,
    turns=4,
    sent={
        "Bob": """
        user: first
        assistant: one
        user: second
        """
    },
)
def a_sub_task_remembers_earlier_calls(cast: Cast) -> Task:
    return cast.task("Boss", "first", "second", subs=[cast.task("Bob", "one", "two", single_round=True)])


def _forgetful(cast: Cast, *, of_its_own: bool) -> Task:
    config = TaskConfig(restart_as_subtask=of_its_own)
    bob = cast.task("Bob", "one", single_round=True, config=config)
    boss = cast.task("Boss", "first", "second")
    boss.add_sub_task((bob, TaskConfig(restart_as_subtask=not of_its_own)))
    return boss


@scenario(
    "HIST-4",
    """
    ...
    Boss Bob: one
    Boss = FIXED_TURNS
    => one
    """,
    turns=4,
    sent={"Bob": "user: second"},
)
def restart_as_subtask_begins_each_call_afresh(cast: Cast) -> Task:
    return _forgetful(cast, of_its_own=False)


@scenario(
    "HIST-4",
    """
    Boss LLM: first
    Bob <- first
    Bob LLM: one
    Bob = FIXED_TURNS
    Boss Bob: one
    Boss LLM: second
    Bob <- second
    => raises AssertionError: Bob has only 1 lines, but was asked once more
    """,
    turns=4,
)
def the_config_given_with_a_sub_task_counts(cast: Cast) -> Task:
    """The sub-task's own config says to forget; the one it is added with does not."""
    return _forgetful(cast, of_its_own=True)


@scenario(
    "HIST-6 HIST-9",
    """
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: Be kind.
        user: go
        """
    },
)
def a_model_is_sent_the_user_message_before_the_conversation(cast: Cast) -> Task:
    return cast.task("Boss", "DONE", agent={"user_message": "Be kind."})


class Alter(ToolMessage):
    """Changes what its agent's model will be sent."""

    request: str = "alter"
    purpose: str = "To alter <what>."
    what: str

    def handle(self, agent: ChatAgent) -> str:
        match self.what:
            case "clear":
                agent.clear_history(-2)
            case "add":
                agent.update_history("asked", "answered")
            case "system":
                agent.set_system_message("Be short.")
            case "augment":
                agent.augment_system_message("Be kind.")
            case "user":
                agent.set_user_message("Hear me.")
            case "look":
                return agent.message_history_str(-1).split("{")[0]
            case "last":
                found = agent.last_message_with_role(Role.USER)
                first = agent.nth_message_idx_with_role(Role.USER, 1)
                return f"{found.content if found else ''}, {first}, {agent.nth_message_idx_with_role(Role.USER, 9)}"
            case "forget":
                said = agent.llm_response_forget("aside")
                return f"{said.content if said else ''}, {len(agent.message_history)} messages"
        return f"altered: {self.what}"


def _altering(cast: Cast, *lines: Any, **more: Any) -> Task:
    return cast.task("Boss", *lines, tools=[Alter], **more)


@scenario(
    "HIST-11",
    """
    Boss LLM: {alter what=clear}
    Boss Agent: altered: clear
    Boss LLM: DONE begun again
    Boss = DONE
    => begun again
    """,
    sent={"Boss": "user: altered: clear"},
)
def a_handler_may_drop_the_last_messages(cast: Cast) -> Task:
    return _altering(cast, lambda last: tool("alter", what="clear") if last == "go" else "DONE begun again")


@scenario(
    "HIST-11",
    """
    Boss LLM: {alter what=add}
    Boss Agent: altered: add
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: go
        assistant: {"request": "alter", "what": "add"}
        user: asked
        assistant: answered
        user: altered: add
        """
    },
)
def a_handler_may_add_to_the_history(cast: Cast) -> Task:
    return _altering(cast, lambda last: tool("alter", what="add") if last == "go" else "DONE")


@scenario(
    "HIST-11",
    """
    Boss LLM: {alter what=look}
    Boss Agent: assistant:
    Boss LLM: {alter what=last}
    Boss Agent: assistant: , 1, -1
    Boss = FIXED_TURNS
    => ...
    """,
    turns=4,
)
def a_handler_may_read_the_history(cast: Cast) -> Task:
    return _altering(cast, tool("alter", what="look"), tool("alter", what="last"))


@scenario(
    "HIST-12",
    """
    Boss LLM: {alter what=forget}
    Boss Agent: I heard aside, 3 messages
    Boss LLM: I heard I heard aside, 3 messages
    Boss = FIXED_TURNS
    => ...
    """,
    turns=3,
    sent={
        "Boss": """
        user: go
        assistant: ...
        user: I heard aside, 3 messages
        """
    },
)
def a_forgotten_call_leaves_no_trace(cast: Cast) -> Task:
    return _altering(cast, tool("alter", what="forget"), lambda last: f"I heard {last}")


class Summarize(ToolMessage):
    """Assigns a history that begins with no system message."""

    request: str = "summarize"
    purpose: str = "To keep the last <n> messages behind a summary by <role>; without a role, only these."
    n: int
    role: Role | None = None

    def handle(self, agent: ChatAgent) -> str:
        summary = [] if self.role is None else [LLMMessage(role=self.role, content="summary")]
        agent.message_history = summary + agent.message_history[-self.n :]
        return "kept"


def _summarizing(cast: Cast, n: int, role: Role | None = None) -> Task:
    """A model that summarizes its conversation with each answer."""
    call = tool("summarize", n=n, role=role) if role is not None else tool("summarize", n=n)
    return cast.task("Boss", lambda _: call, tools=[Summarize])


@scenario(
    "HIST-11",
    "...",
    turns=7,
    sent={
        "Boss": """
        user: summary
        user: kept
        assistant: {"request": "summarize", "n": 2, "role": "user"}
        user: kept
        """
    },
)
def a_handler_may_begin_the_history_with_a_summary(cast: Cast) -> Task:
    return _summarizing(cast, 2, Role.USER)


@scenario(
    "HIST-11",
    "...",
    turns=7,
    sent={
        "Boss": """
        assistant: summary
        assistant: {"request": "summarize", "n": 1, "role": "assistant"}
        user: kept
        """
    },
)
def a_handler_may_begin_the_history_with_what_the_model_said(cast: Cast) -> Task:
    return _summarizing(cast, 1, Role.ASSISTANT)


@scenario(
    "HIST-11",
    "...",
    turns=7,
    sent={
        "Boss": """
        user: kept
        assistant: {"request": "summarize", "n": 2}
        user: kept
        """
    },
)
def a_handler_may_keep_the_last_messages_alone(cast: Cast) -> Task:
    return _summarizing(cast, 2)


@scenario(
    "HIST-11 HIST-2",
    """
    ...
    => kept
    ...
    => kept
    """,
    turns=2,
    says=["go", "on"],
    sent={
        "Boss": """
        user: summary
        assistant: {"request": "summarize", "n": 1, "role": "user"}
        user: on
        """
    },
)
def a_conversation_goes_on_from_a_summary(cast: Cast) -> Task:
    line = tool("summarize", n=1, role="user")
    return cast.task("Boss", lambda _: line, tools=[Summarize], restart=False)


class Tell(ToolMessage):
    request: str = "tell"
    purpose: str = "To tell the system message of this moment."

    def handle(self, agent: ChatAgent) -> str:
        return agent.system_message.replace("\n", " ")


@scenario(
    "HIST-13 HIST-7",
    """
    Boss LLM: {alter what=system}
    Boss Agent: altered: system
    Boss LLM: {alter what=augment}
    Boss Agent: altered: augment
    Boss LLM: {tell}
    Boss Agent: Be short.  Be kind.
    Boss = FIXED_TURNS
    => ...
    """,
    turns=6,
)
def a_changed_system_message_lasts(cast: Cast) -> Task:
    lines = tool("alter", what="system"), tool("alter", what="augment"), tool("tell")
    return cast.task("Boss", *lines, tools=[Alter, Tell])


@scenario(
    "HIST-13 HIST-4",
    """
    ...
    Boss = FIXED_TURNS
    => heard
    """,
    turns=4,
    sent={
        "Bob": """
        user: Hear me.
        user: second
        """
    },
)
def a_changed_user_message_holds_for_the_next_conversation(cast: Cast) -> Task:
    def line(last: str) -> str:
        return tool("alter", what="user") if last == "first" else "heard"

    config = TaskConfig(restart_as_subtask=True)
    bob = cast.task("Bob", line, tools=[Alter], config=config, single_round=True, llm_delegate=True)
    return cast.task("Boss", "first", "second", subs=[bob])


@scenario(
    "HIST-8",
    """
    Boss LLM refused: (empty)
    Boss nobody
    Boss LLM: there
    Boss = FIXED_TURNS
    => there
    """,
    turns=2,
    sent={
        "Boss": """
        user: go
        assistant:
        user: go
        """
    },
)
def an_empty_answer_stays_in_the_history(cast: Cast) -> Task:
    return cast.task("Boss", "", "there")


@scenario(
    "HIST-14 WHO-5",
    """
    Boss nobody
    Boss = STALLED
    => nothing
    """,
    says=[""],
)
def a_blank_message_is_not_sent_to_the_model(cast: Cast) -> Task:
    return cast.task("Boss", "never asked", max_stalled_steps=1)
