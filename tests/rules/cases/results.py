"""The results of tasks, as documents and as values, and what a run may begin with."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest
from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add, Say, Value
from tests.rules.words import call, calls, tool

from turnwise import (
    AgentDoneTool,
    ChatDocMetaData,
    ChatDocument,
    Entity,
    FinalResultTool,
    ResultTool,
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


# --- return types ---


def _valued(cast: Cast, line: str, **more: Any) -> Task:
    return cast.task("Boss", line, tools=[Value, Add, Kept], **more)


class Kept(ToolMessage):
    """Ends the task with a result tool of several fields."""

    request: str = "kept"
    purpose: str = "To keep <number> and <word>."
    number: int = 0
    word: str = ""

    def handle(self) -> ResultTool:
        return ResultTool.model_validate({"flag": True, "number": self.number, "word": self.word})


@scenario("TYPE-1", "...\n=> str 'DONE 12 '", return_type=str)
def a_text_is_given_as_it_is(cast: Cast) -> Task:
    return _valued(cast, "DONE 12 ", config=TaskConfig(recognize_string_signals=False), single_round=True)


@scenario("TYPE-1", "...\n=> nothing", return_type=str)
def a_blank_text_is_no_value(cast: Cast) -> Task:
    return _valued(cast, "DONE")


@scenario("TYPE-1", "...\n=> str 'five'", return_type=str)
def beside_a_blank_text_a_tools_field_counts(cast: Cast) -> Task:
    return _valued(cast, tool("kept", number=5, word="five"))


@scenario("TYPE-2", "...\n=> dict {'a': 1}", return_type=dict)
def a_handlers_value_is_given_as_it_is(cast: Cast) -> Task:
    return _valued(cast, tool("value", it={"a": 1}))


@scenario("TYPE-2", "...\n=> list ['x', 2]", return_type=list[Any])
def a_handlers_list_fits_a_type_of_lists(cast: Cast) -> Task:
    return _valued(cast, tool("value", it=["x", 2]))


@scenario("TYPE-4", "...\n=> Add Add(request='add', ... a=4, b=1)", return_type=Add)
def the_first_tool_of_a_class_is_given(cast: Cast) -> Task:
    line = f"{tool('value')} {tool('add', a=4)} {tool('add', a=5)}"
    return _valued(cast, line, config=TaskConfig(done_if_tool=True))


@scenario("TYPE-4 TYPE-7", "...\n=> nothing", return_type=Say)
def no_tool_of_the_class_gives_nothing(cast: Cast) -> Task:
    return _valued(cast, tool("add", a=4), config=TaskConfig(done_if_tool=True))


@scenario("TYPE-5", "...\n=> int 12", return_type=int)
def a_whole_number_is_read_from_the_text(cast: Cast) -> Task:
    return _valued(cast, "DONE 12")


@scenario("TYPE-5", "...\n=> float 1.5", return_type=float)
def a_number_is_read_from_the_text(cast: Cast) -> Task:
    return _valued(cast, "1.5 DONE")


@scenario("TYPE-5", "...\n=> bool False", return_type=bool)
def a_flag_is_read_from_the_text(cast: Cast) -> Task:
    return _valued(cast, "DONE False")


@scenario("TYPE-5", "...\n=> bool False", return_type=bool)
def a_text_that_says_neither_yes_nor_no_is_no(cast: Cast) -> Task:
    return _valued(cast, "DONE perhaps")


@scenario("TYPE-5", "...\n=> list [1, 2]", return_type=list[int])
def a_list_is_read_from_the_text(cast: Cast) -> Task:
    return _valued(cast, "DONE [1, 2]")


@scenario("TYPE-5 TYPE-7", "...\n=> nothing", return_type=list[int])
def a_list_of_another_type_gives_nothing(cast: Cast) -> Task:
    return _valued(cast, 'DONE ["a"]')


@scenario("TYPE-3", "...\n=> list []", return_type=list[Add])
def no_tool_of_the_class_gives_an_empty_list(cast: Cast) -> Task:
    return _valued(cast, "DONE")


@scenario("TYPE-5 TYPE-7", "...\n=> int 12", return_type=int | None)
def a_type_that_may_be_none_is_the_type(cast: Cast) -> Task:
    return _valued(cast, "DONE 12")


@scenario("TYPE-5 TYPE-7", "...\n=> nothing", return_type=int)
def a_text_that_is_no_number_gives_nothing(cast: Cast) -> Task:
    return _valued(cast, "DONE twelve")


@scenario("TYPE-6", "...\n=> int 7", return_type=int)
def a_field_of_a_tool_is_given_and_a_flag_is_no_number(cast: Cast) -> Task:
    return _valued(cast, tool("kept", number=7, word="w"))


class Mood(str, Enum):
    GLAD = "glad"


class Feel(ToolMessage):
    """Ends the task with an enum, as the handler's value or in a field of a result tool."""

    request: str = "feel"
    purpose: str = "To feel <mood>, kept as a <field> or not."
    mood: Mood
    field: bool = False

    def handle(self) -> ToolMessage:
        if self.field:
            return ResultTool.model_validate({"mood": self.mood})
        return AgentDoneTool(content=self.mood)


@scenario("TYPE-6", "...\n=> Mood <Mood.GLAD: 'glad'>", return_type=Mood)
def an_enum_in_a_field_of_a_tool_is_given(cast: Cast) -> Task:
    return cast.task("Boss", tool("feel", mood="glad", field=True), tools=[Feel])


class Measured(ToolMessage):
    """Ends the task with two lists and a dict in fields of a result tool."""

    request: str = "measured"
    purpose: str = "To report what was measured."

    def handle(self) -> ResultTool:
        return ResultTool(names=["a"], numbers=[1, 2], by_name={"a": 1})


@scenario("TYPE-6", "...\n=> list [1, 2]", return_type=list[int])
def a_list_in_a_field_of_a_tool_has_the_wanted_items(cast: Cast) -> Task:
    return cast.task("Boss", tool("measured"), tools=[Measured])


@scenario("TYPE-6 TYPE-7", "...\n=> nothing", return_type=dict[str, str])
def a_dict_of_another_type_in_a_field_of_a_tool_gives_nothing(cast: Cast) -> Task:
    return cast.task("Boss", tool("measured"), tools=[Measured])


@scenario("TYPE-2", "...\n=> Mood <Mood.GLAD: 'glad'>", return_type=Mood)
def an_enum_of_a_handler_is_given_as_it_is(cast: Cast) -> Task:
    return cast.task("Boss", tool("feel", mood="glad"), tools=[Feel])


@scenario("TYPE-8", "...\n=> int 12")
def a_task_may_have_a_return_type_of_its_own(cast: Cast) -> Task:
    return _valued(cast, "DONE 12", default_return_type=int)


@scenario("TYPE-8", "...\n=> str '12'", return_type=str)
def the_type_given_to_run_comes_first(cast: Cast) -> Task:
    return _valued(cast, "DONE 12", default_return_type=int)


@scenario("TYPE-7 RESULT-1", "...\n=> nothing", return_type=str)
def a_run_without_a_result_gives_nothing(cast: Cast) -> Task:
    return _valued(cast, "words", max_stalled_steps=1)


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


class Given(ToolMessage):
    request: str = "given"
    purpose: str = "To say what the run began with."

    def handle(self, chat_doc: ChatDocument) -> str:
        return type(chat_doc.parent.content_any).__name__ if chat_doc.parent is not None else "nothing"


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
