"""Messages: recipients read out of texts, DONE, quit words, empty answers, what a human says."""

from __future__ import annotations

from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Say
from tests.rules.words import call, calls, tool

from turnwise import ChatAgent, ChatDocument, Entity, Task, TaskConfig, ToolMessage


@scenario(
    "MSG-2 WHO-2",
    """
    Boss LLM -> Bob: hello
    Bob <- hello
    Bob LLM: DONE hi
    Bob = DONE
    Boss Bob: hi
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
)
def an_addressed_text_goes_to_that_sub_task(cast: Cast) -> Task:
    bob = cast.task("Bob", "DONE hi")
    eve = cast.task("Eve", "DONE never asked")
    return cast.task("Boss", "TO[ Bob ]: hello", "DONE", subs=[eve, bob])


@scenario(
    "MSG-3",
    """
    Boss LLM -> Bob: {"recipient": "Bob", "text": "hello"}
    Bob <- {"recipient": "Bob", "text": "hello"}
    Bob LLM: DONE hi
    Bob = DONE
    Boss Bob: hi
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
)
def a_json_field_names_the_recipient(cast: Cast) -> Task:
    bob = cast.task("Bob", "DONE hi")
    eve = cast.task("Eve", "DONE never asked")
    return cast.task("Boss", '{"recipient": "Bob", "text": "hello"}', "DONE", subs=[eve, bob])


@scenario(
    "MSG-3",
    """
    Boss LLM: {"recipient": "Bob"} and {"recipient": "Eve"}
    Eve <- {"recipient": "Bob"} and {"recipient": "Eve"}
    Eve LLM: DONE for whom?
    Eve = DONE
    Boss Eve: for whom?
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
)
def objects_that_disagree_address_nobody(cast: Cast) -> Task:
    bob = cast.task("Bob", "DONE never asked")
    eve = cast.task("Eve", "DONE for whom?")
    return cast.task("Boss", '{"recipient": "Bob"} and {"recipient": "Eve"}', "DONE", subs=[eve, bob])


@scenario(
    "MSG-4",
    """
    Boss LLM: TO[Bob]: hello
    Eve <- TO[Bob]: hello
    Eve LLM: DONE that was for me
    Eve = DONE
    Boss Eve: that was for me
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
)
def recipients_in_texts_can_be_left_unread(cast: Cast) -> Task:
    eve = cast.task("Eve", "DONE that was for me")
    bob = cast.task("Bob", "DONE never asked")
    off = {"recognize_recipient_in_content": False}
    return cast.task("Boss", "TO[Bob]: hello", "DONE", agent=off, subs=[eve, bob])


@scenario(
    "MSG-5 TASK-1",
    """
    Boss LLM: DONE I read TO[Bob]: hello
    Boss = DONE
    => I read TO[Bob]: hello
    """,
    says=["TO[Bob]: hello"],
)
def the_text_given_to_run_is_not_read_for_a_recipient(cast: Cast) -> Task:
    bob = cast.task("Bob", "DONE never asked")
    return cast.task("Boss", lambda text: f"DONE I read {text}", subs=[bob])


@scenario(
    "MSG-5 WHO-6",
    """
    Boss LLM -> User: who?
    Boss User: TO[Bob]: you
    Boss LLM: DONE I read TO[Bob]: you
    Boss = DONE
    => I read TO[Bob]: you
    """,
    answers=("TO[Bob]: you",),
)
def what_a_human_answers_is_not_read_for_a_recipient(cast: Cast) -> Task:
    bob = cast.task("Bob", "DONE never asked")
    return cast.task("Boss", "TO[User]: who?", lambda text: f"DONE I read {text}", subs=[bob])


@scenario(
    "MSG-7 ROUTE-8",
    """
    Boss LLM: __PASS__
    Boss = FIXED_TURNS
    => __PASS__
    """,
    turns=1,
)
def a_pass_is_plain_text_with_signals_off(cast: Cast) -> Task:
    return cast.task("Boss", "__PASS__", config=TaskConfig(recognize_string_signals=False))


@scenario(
    "MSG-7 VALID-2",
    """
    Boss LLM refused: ...
    Boss nobody
    Boss LLM: there
    Boss = FIXED_TURNS
    => there
    """,
    turns=2,
)
def a_blank_answer_is_none(cast: Cast) -> Task:
    return cast.task("Boss", " \n ", "there")


@scenario(
    "MSG-7 CALL-1",
    """
    Boss LLM: calls c1:other
    Boss = FIXED_TURNS
    => calls c1:other
    """,
    turns=1,
)
def an_answer_of_calls_alone_is_not_empty(cast: Cast) -> Task:
    return cast.task("Boss", calls(call("c1", "other")), agent={"use_functions_api": True})


@scenario(
    "MSG-8 VALID-5",
    """
    Boss LLM: {say text=ABANDONED}
    Boss = DONE
    => {say text=ABAND} + [say text=ABANDONED]
    """,
)
def done_counts_within_words_and_within_the_json_of_a_tool(cast: Cast) -> Task:
    return cast.task("Boss", tool("say", text="ABANDONED"), tools=[Say])


@scenario(
    "MSG-8",
    """
    Boss LLM: done, Done
    Boss = FIXED_TURNS
    => done, Done
    """,
    turns=1,
)
def done_in_small_letters_is_a_word_like_others(cast: Cast) -> Task:
    return cast.task("Boss", "done, Done")


@scenario(
    "MSG-9 DONE-6",
    """
    Boss LLM: more?
    Boss nobody
    Boss User: exit
    Boss = USER_QUIT
    => exit
    """,
    answers=("", "  exit "),
)
def a_quit_word_may_have_blanks_around_it(cast: Cast) -> Task:
    return cast.task("Boss", "more?", interactive=True)


@scenario(
    "MSG-9 DONE-6",
    """
    Boss LLM: more?
    Boss nobody
    Boss User: Quit
    Boss LLM: what?
    Boss User: I am DONE here
    Boss = USER_QUIT
    => I am  here
    """,
    answers=("", "Quit", "I am DONE here"),
)
def a_human_quits_with_small_quit_words_or_by_saying_done(cast: Cast) -> Task:
    return cast.task("Boss", "more?", "what?", interactive=True)


@scenario(
    "MSG-9 ROUTE-8",
    """
    Boss LLM: more?
    Boss nobody
    Boss User: I am DONE here
    Boss LLM: go on
    Boss User: x
    Boss = USER_QUIT
    => x
    """,
    answers=("", "I am DONE here", "x"),
)
def quit_words_stay_with_signals_off(cast: Cast) -> Task:
    off = TaskConfig(recognize_string_signals=False)
    return cast.task("Boss", "more?", "go on", interactive=True, config=off)


@scenario(
    "MSG-10",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: q
    Bob = FIXED_TURNS
    Boss Bob: q
    Boss = OK
    => q
    """,
)
def a_quit_word_of_a_sub_task_is_from_user_and_ends_its_caller(cast: Cast) -> Task:
    bob = cast.task("Bob", "q", single_round=True)
    return cast.task("Boss", "ask", subs=[bob])


@scenario(
    "MSG-9 MSG-10",
    """
    Boss LLM: ask
    Bob <- ask
    Bob LLM: quit
    Bob = FIXED_TURNS
    Boss Bob: quit
    Boss = OK
    => quit
    """,
)
def blanks_around_a_quit_word_do_not_count(cast: Cast) -> Task:
    return cast.task("Boss", "ask", subs=[cast.task("Bob", "\n quit \n", single_round=True)])


@scenario(
    "HUMAN-1",
    """
    Boss LLM: hello
    Boss nobody
    Boss User: q
    Boss = USER_QUIT
    => q
    """,
    answers=("   ", "q"),
)
def a_blank_answer_of_a_human_is_no_answer(cast: Cast) -> Task:
    return cast.task("Boss", "hello", interactive=True)


@scenario(
    "HUMAN-2",
    """
    Boss LLM -> User: blue or red?
    Boss User: null
    Boss LLM: DONE null
    Boss = DONE
    => null
    """,
    answers=("",),
)
def an_empty_answer_to_a_question_is_null(cast: Cast) -> Task:
    return cast.task("Boss", "TO[User]: blue or red?", lambda text: f"DONE {text}")


@scenario(
    "HUMAN-3 WHO-6",
    """
    Boss LLM -> User: blue or red?
    Boss User: blue
    Boss LLM: DONE blue
    Boss = DONE
    => blue
    """,
)
def a_default_answers_in_the_humans_place(cast: Cast) -> Task:
    return cast.task("Boss", "TO[User]: blue or red?", lambda text: f"DONE {text}", default_human_response="blue")


@scenario(
    "HUMAN-1 HUMAN-3",
    """
    Boss LLM: one
    Boss nobody
    Boss nobody
    Boss = FIXED_TURNS
    => one
    """,
    turns=3,
)
def an_empty_default_is_no_answer(cast: Cast) -> Task:
    return cast.task("Boss", "one", interactive=True, only_user_quits_root=False, default_human_response="")


@scenario(
    "HUMAN-4 HIST-10",
    """
    Boss LLM -> User: ready?
    Boss User (System): speak French
    Boss LLM: DONE oui
    Boss = DONE
    => oui
    """,
    answers=("SYSTEM speak French",),
    sent={
        "Boss": """
        user: go
        assistant: ready?
        system: speak French
        """
    },
)
def a_human_may_speak_as_the_system(cast: Cast) -> Task:
    return cast.task("Boss", "TO[User]: ready?", "DONE oui")


@scenario(
    "HUMAN-4 STEP-4",
    """
    Boss LLM: hello
    Boss User (System): be brief
    Boss LLM: yes
    Boss User: q
    Boss = USER_QUIT
    => q
    """,
    answers=("SYSTEM be brief", "q"),
)
def a_system_text_may_be_answered_by_the_model(cast: Cast) -> Task:
    return cast.task("Boss", "hello", "yes", interactive=True)


@scenario(
    "HUMAN-4 STEP-4",
    """
    Boss LLM: hello
    Boss User: SYSTEMS DOWN, please open a ticket
    Boss LLM: yes
    Boss User: q
    Boss = USER_QUIT
    => q
    """,
    answers=("SYSTEMS DOWN, please open a ticket", "q"),
)
def a_human_may_begin_with_a_word_like_system(cast: Cast) -> Task:
    return cast.task("Boss", "hello", "yes", interactive=True)


class Hearer(ChatAgent):
    """Tells by whom the handled message was said."""

    def hear(self, tool: ToolMessage, chat_doc: ChatDocument) -> str:
        return f"{chat_doc.metadata.sender == 'llm'} {chat_doc.metadata.sender in {Entity.LLM: 1}}"


class Hear(ToolMessage):
    request: str = "hear"
    purpose: str = "To hear."


@scenario(
    "MSG-1",
    """
    Boss LLM: {hear}
    Boss Agent: True True
    Boss = FIXED_TURNS
    => True True
    """,
    turns=2,
)
def an_entity_equals_its_name_in_any_case(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", tool("hear"), kind=Hearer, tools=[Hear]))


class ParentOf(ToolMessage):
    request: str = "parent"
    purpose: str = "To say what the message answers."

    def handle(self, chat_doc: ChatDocument) -> str:
        parent = chat_doc.parent
        return parent.content if parent is not None else "nothing"


@scenario(
    "MSG-13",
    """
    Boss LLM: {parent}
    Boss Agent: go
    Boss = FIXED_TURNS
    => go
    """,
    turns=2,
)
def a_message_knows_what_it_answers(cast: Cast) -> Task:
    return cast.task("Boss", tool("parent"), tools=[ParentOf])


class Copy(ToolMessage):
    request: str = "copy"
    purpose: str = "To compare the message with a copy."

    def handle(self, chat_doc: ChatDocument) -> str:
        other = ChatDocument.deepcopy(chat_doc)
        other.tool_messages.clear()
        other.metadata.recipient = "Eve"
        kept = bool(chat_doc.tool_messages) and not chat_doc.metadata.recipient
        return f"kept: {kept}, another id: {other.id() != chat_doc.id()}"


@scenario(
    "MSG-12",
    """
    Boss LLM: {copy}
    Boss Agent: kept: True, another id: True
    Boss = FIXED_TURNS
    => kept: True, another id: True
    """,
    turns=2,
)
def a_copy_shares_nothing_and_has_an_id_of_its_own(cast: Cast) -> Task:
    return cast.task("Boss", tool("copy"), tools=[Copy])


class AskOwnModel(ToolMessage):
    request: str = "ask_model"
    purpose: str = "To ask the agent's model <text>."
    text: str

    def handle(self, agent: ChatAgent) -> str:
        said = agent.llm_response_forget(self.text)
        return f"{said.metadata.recipient if said else ''}: {said.content if said else ''}"


@scenario(
    "MSG-11 HIST-12",
    """
    Boss LLM: {ask_model text=TO[Bob]: well?}
    Boss Agent: Eve: I heard well?
    Boss LLM -> Eve: I heard Eve: I heard well?
    Boss Agent: Invalid recipient: Eve
    Boss = FIXED_TURNS
    => Invalid recipient: Eve
    """,
    sent={
        "Boss": """
        user: go
        assistant: ...
        user: Eve: I heard well?
        """
    },
    turns=4,
)
def a_text_given_to_a_model_is_read_for_a_recipient(cast: Cast) -> Task:
    return cast.task(
        "Boss", tool("ask_model", text="TO[Bob]: well?"), lambda text: f"TO[Eve]: I heard {text}", tools=[AskOwnModel]
    )
