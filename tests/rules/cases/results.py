"""The results of tasks as documents, and what a run may begin with."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add, Given, Value
from tests.rules.words import call, calls, tool

from turnwise import (
    ChatAgent,
    ChatDocMetaData,
    ChatDocument,
    Entity,
    FinalResultTool,
    StatusCode,
    Task,
    TaskConfig,
    ToolMessage,
)
from turnwise.errors import ApplicationError, ConfigurationError

NOT_SUBMITTED = "a run of a document for another task is not submitted at all"


@scenario(
    "RESULT-2",
    """
    Boss LLM: fine
    Boss = FIXED_TURNS
    => fine (sender_name=Boss) (status=FIXED_TURNS)
    """,
    turns=1,
    shows=("sender_name", "status"),
)
def a_result_is_in_the_tasks_name_with_its_status(cast: Cast) -> Task:
    return cast.task("Boss", "fine")


@scenario(
    "RESULT-3",
    """
    Boss LLM: DONE, I am DONE
    Boss = DONE
    => , I am
    """,
)
def every_done_is_taken_off(cast: Cast) -> Task:
    return cast.task("Boss", "DONE, I am DONE")


@scenario(
    "RESULT-3 ROUTE-8",
    """
    Boss LLM: I am DONE
    Boss = FIXED_TURNS
    => I am DONE
    """,
    turns=1,
)
def done_stays_with_signals_off(cast: Cast) -> Task:
    return cast.task("Boss", "I am DONE", config=TaskConfig(recognize_string_signals=False))


@scenario(
    "RESULT-4 ORCH-3",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: {value it=5}
    Bob Agent: 5 + [agent_done_tool content=5, tools=[]]
    Bob = DONE
    Boss Bob: 5
    Boss LLM: so 5
    Boss = FIXED_TURNS
    => so 5
    """,
    turns=3,
)
def a_done_tool_of_a_sub_task_does_not_end_its_caller(cast: Cast) -> Task:
    return cast.task("Boss", "ask", "so 5", subs=[cast.task("Bob", tool("value", it=5), tools=[Value])])


@scenario(
    "RESULT-5 ORCH-5",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: well
    Cora <- well
    Cora LLM: {decide verdict=yes}
    Cora Agent: + [ verdict=yes]
    Cora = DONE
    Bob Cora: + [ verdict=yes]
    Bob = OK
    Boss Bob: + [ verdict=yes]
    Boss = OK
    => + [ verdict=yes]
    """,
)
def a_final_result_ends_all_tasks_above(cast: Cast) -> Task:
    cora = cast.task("Cora", tool("decide", verdict="yes"), tools=[Decide])
    return cast.task("Boss", "ask", subs=[cast.task("Bob", "well", subs=[cora])])


class Decide(ToolMessage):
    request: str = "decide"
    purpose: str = "To decide with a <verdict>."
    verdict: str

    def handle(self) -> ToolMessage:
        return FinalResultTool.model_validate({"verdict": self.verdict})


@scenario(
    "RESULT-9 RESULT-3",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: DONE
    Bob = DONE
    Boss Bob refused: (empty)
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def an_empty_result_of_a_sub_task_does_not_count(cast: Cast) -> Task:
    return cast.task("Boss", "ask", subs=[cast.task("Bob", "DONE")], max_stalled_steps=1)


@scenario(
    "RESULT-8 RESULT-1",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: one
    Bob nobody
    Bob = STALLED
    Eve <- ask
    Eve LLM: DONE mine
    Eve = DONE
    Boss Eve: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=2,
)
def a_sub_task_without_a_result_leaves_the_answer_to_the_next(cast: Cast) -> Task:
    bob = cast.task("Bob", "one", max_stalled_steps=1)
    return cast.task("Boss", "ask", subs=[bob, cast.task("Eve", "DONE mine")])


# --- what a run begins with ---


@scenario(
    "TASK-1",
    """
    Boss LLM: DONE I got {"a": [1, null]}
    Boss = DONE
    => I got {"a": [1, null]}
    """,
    says=[{"a": [1, None]}],
)
def a_value_is_given_as_its_json(cast: Cast) -> Task:
    return cast.task("Boss", lambda text: f"DONE I got {text}")


@scenario(
    "TASK-1 HANDLE-3",
    """
    Boss LLM: {given}
    Boss Agent: dict
    Boss = FIXED_TURNS
    => dict
    """,
    says=[{"a": 1}],
    turns=2,
)
def the_value_itself_is_there_for_handlers(cast: Cast) -> Task:
    return cast.task("Boss", tool("given"), tools=[Given])


@scenario(
    "TASK-1 TRUST-7",
    """
    Boss Agent: 5
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    says=[Add(a=4)],
)
def a_tool_given_to_run_is_handled(cast: Cast) -> Task:
    agent = cast.agent("Boss", "DONE")
    agent.enable_message(Add, use=False)
    return cast.task(agent)


@scenario(
    "TASK-1 WHO-1",
    """
    Boss LLM: DONE hi
    Boss = DONE
    => hi
    """,
    says=[ChatDocument(content="hello", metadata=ChatDocMetaData(sender=Entity.AGENT, recipient="Boss"))],
)
def a_document_to_the_task_itself_is_answered(cast: Cast) -> Task:
    return cast.task("Boss", "DONE hi", subs=[cast.task("Bob", "never asked")])


@scenario(
    "TASK-2",
    """
    => nothing
    """,
    says=[ChatDocument(content="hello", metadata=ChatDocMetaData(recipient="Eve"))],
    never={"served": NOT_SUBMITTED},
)
def a_document_to_another_task_is_not_answered(cast: Cast) -> Task:
    return cast.task("Boss", "never asked")


@scenario(
    "TASK-3 HIST-6",
    """
    Boss LLM: DONE hello
    Boss = DONE
    => hello
    """,
    says=[None],
    sent={"Boss": "user: Introduce yourself."},
)
def without_a_message_the_model_begins(cast: Cast) -> Task:
    return cast.task("Boss", "DONE hello", user_message="Introduce yourself.")


@scenario(
    "TASK-3 TASK-4",
    """
    Boss LLM: {system}
    Boss Agent: The task's own.
    Boss = FIXED_TURNS
    => The task's own.
    """,
    turns=2,
)
def a_tasks_system_message_replaces_the_agents(cast: Cast) -> Task:
    agent = cast.agent("Boss", tool("system"), tools=[System], system_message="The agent's own.")
    return cast.task(agent, system_message="The task's own.")


class System(ToolMessage):
    request: str = "system"
    purpose: str = "To say the system message."

    def handle(self, agent: Any) -> str:
        return str(agent.system_message)


@scenario(
    "TASK-4 HIST-6",
    """
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    sent={
        "Boss": """
        user: the task's own
        user: go
        """
    },
)
def a_tasks_user_message_replaces_the_agents(cast: Cast) -> Task:
    return cast.task("Boss", "DONE", agent={"user_message": "the agent's own"}, user_message="the task's own")


@scenario(
    "TASK-5 TRUST-8",
    """
    Boss LLM -> Bob: look
    Bob <- look
    Bob LLM: {parents}
    Bob Agent: look by User, go by User
    Bob = FIXED_TURNS
    Boss Bob: look by User, go by User
    Boss = FIXED_TURNS
    => look by User, go by User
    """,
    turns=2,
)
def a_sub_task_sees_a_copy_from_its_own_user(cast: Cast) -> Task:
    bob = cast.task("Bob", tool("parents"), tools=[Parents], single_round=True, llm_delegate=True)
    return cast.task("Boss", "TO[Bob]: look", subs=[bob])


class Parents(ToolMessage):
    request: str = "parents"
    purpose: str = "To tell what the message goes back to."

    def handle(self, chat_doc: ChatDocument) -> str:
        told, doc = [], chat_doc.parent
        while doc is not None:
            told.append(f"{doc.content} by {doc.metadata.sender.value}")
            doc = doc.parent
        return ", ".join(told)


class BadTeams(ToolMessage):
    request: str = "bad_teams"
    purpose: str = "To make teams that cannot be."

    def handle(self) -> str:
        for name in ("llm", "User", "a/b"):
            with pytest.raises(ConfigurationError, match="cannot be named"):
                Task(name=name)
        root = Task(name="root")
        root.add_sub_task(Task(name="one"))
        with pytest.raises(ConfigurationError, match="has a sub-task named"):
            root.add_sub_task(Task(name="one"))
        root.sub_tasks[0].add_sub_task(root)
        with pytest.raises(ApplicationError, match="contains itself"):
            root.tree()
        return "none was made"


@scenario(
    "TASK-6",
    """
    Boss LLM: {bad_teams}
    Boss Agent: none was made
    Boss = FIXED_TURNS
    => none was made
    """,
    turns=2,
)
def teams_that_can_not_be_are_refused(cast: Cast) -> Task:
    return cast.task("Boss", tool("bad_teams"), tools=[BadTeams])


@scenario(
    "RESULT-7 CALL-1",
    """
    Boss LLM: ask (tools_from_agent=True)
    Bob <- ask (tools_from_agent=True)
    Bob LLM: calls c1:other (tools_from_agent=True)
    Bob = FIXED_TURNS
    Boss Bob: calls c1:other (tools_from_agent=True)
    Boss LLM: DONE (tools_from_agent=True)
    Boss = DONE
    => (empty)
    """,
    shows=("tools_from_agent",),
)
def calls_are_handed_on_with_their_mark_and_a_text_without(cast: Cast) -> Task:
    bob = cast.task("Bob", calls(call("c1", "other")), agent={"use_functions_api": True}, single_round=True)
    return cast.task("Boss", "ask", "DONE", subs=[bob])


class Plain(ChatAgent):
    """Answers with a message of its own making, which holds a text alone."""

    def agent_response(self, msg: str | ChatDocument | None = None) -> ChatDocument | None:
        return ChatDocument(content="DONE plain", metadata=ChatDocMetaData(sender=Entity.AGENT))


class Wrapped(Task):
    def result(self, status: StatusCode | None = None) -> ChatDocument | None:
        found = super().result(status)
        if found is not None:
            found.content = f"<{found.content}>"
        return found


@scenario(
    "MSG-6 TASK-7",
    """
    Boss Agent: DONE plain
    Boss = DONE
    => str '<plain>'
    """,
    return_type=Any,
)
def the_text_is_the_value_of_a_message_without_one(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", "never", kind=Plain), kind=Wrapped)


@scenario(
    "MSG-6",
    """
    Boss LLM: ask
    Bob <- ask
    Bob Agent: DONE plain
    Bob = DONE
    Boss Bob: plain
    Boss LLM: {given}
    Boss Agent: NoneType
    Boss = FIXED_TURNS
    => NoneType
    """,
    turns=4,
)
def a_text_without_a_value_stays_without_one(cast: Cast) -> Task:
    bob = cast.task(cast.agent("Bob", "never", kind=Plain))
    return cast.task("Boss", "ask", tool("given"), tools=[Given], subs=[bob])


@scenario(
    "MSG-13 ROUTE-3 STEP-2",
    """
    Boss LLM: one
    Boss Agent: on
    Boss LLM: __PASS__:nobody
    Boss Agent: Invalid recipient: nobody
    Boss LLM: {parents}
    Boss Agent: Invalid recipient: nobody by Agent, on by Agent, one by LLM, go by User
    ...
    """,
    turns=6,
)
def a_message_that_was_passed_on_to_no_one_is_what_is_answered(cast: Cast) -> Task:
    nudge = {"handle_llm_no_tool": lambda doc: "on" if doc.content == "one" else None}
    return cast.task("Boss", "one", "__PASS__:nobody", tool("parents"), tools=[Parents], agent=nudge)
