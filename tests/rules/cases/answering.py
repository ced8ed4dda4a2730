"""The order of responders, and what is made of the answers: steps, routing, validity."""

from __future__ import annotations

from typing import Any

from tests.rules.cast import Cast
from tests.rules.scenario import scenario
from tests.rules.tools import Add, Say
from tests.rules.words import tool

from turnwise import AT, ChatAgent, ChatDocMetaData, ChatDocument, DoneTool, Entity, Task, TaskConfig

QUIET = TaskConfig(recognize_string_signals=False)


@scenario(
    "WHO-1 STEP-4",
    """
    Boss LLM: hello
    Boss nobody
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def nobody_answers_himself(cast: Cast) -> Task:
    return cast.task("Boss", "hello", max_stalled_steps=2)


@scenario(
    "WHO-1 STEP-4",
    """
    Boss LLM: well?
    Bob <- well?
    Bob LLM: DONE from Bob
    Bob = DONE
    Boss Bob: from Bob
    Boss LLM: and?
    Bob <- and?
    Bob LLM: DONE from Bob again
    Bob = DONE
    Boss Bob: from Bob again
    Boss = FIXED_TURNS
    => from Bob again
    """,
    turns=4,
)
def a_sub_task_does_not_answer_itself_but_the_model_does(cast: Cast) -> Task:
    bob = cast.task("Bob", "DONE from Bob", "DONE from Bob again")
    return cast.task("Boss", "well?", "and?", subs=[bob])


@scenario(
    "WHO-2",
    """
    Boss LLM -> llm: me
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def an_entity_may_be_named_in_any_case(cast: Cast) -> Task:
    """The model addresses itself, so nobody else may answer, and it may not either."""
    return cast.task("Boss", "TO[llm]: me", subs=[cast.task("Bob", "never asked")], max_stalled_steps=1)


@scenario(
    "WHO-2",
    """
    Boss LLM -> BOB: hello
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def a_task_is_named_in_exactly_its_case(cast: Cast) -> Task:
    return cast.task("Boss", "TO[BOB]: hello", subs=[cast.task("Bob", "never asked")], max_stalled_steps=1)


@scenario(
    "WHO-3",
    """
    Boss LLM: {say text=__SEND__:Boss your turn}
    Boss Agent -> Boss: your turn
    Boss LLM: DONE mine
    Boss = DONE
    => mine
    """,
)
def a_tasks_own_name_is_open_to_its_own_entities(cast: Cast) -> Task:
    bob = cast.task("Bob", "never asked")
    return cast.task("Boss", tool("say", text="__SEND__:Boss your turn"), "DONE mine", tools=[Say], subs=[bob])


@scenario(
    "WHO-3",
    """
    Boss LLM -> Boss: me
    Boss nobody
    Boss = STALLED
    => nothing
    """,
)
def a_tasks_own_name_is_not_open_to_its_sub_tasks(cast: Cast) -> Task:
    return cast.task("Boss", "TO[Boss]: me", subs=[cast.task("Bob", "never asked")], max_stalled_steps=1)


@scenario(
    "WHO-5",
    """
    Boss nobody
    Boss = STALLED
    => nothing
    """,
    says=["  \n "],
)
def a_blank_message_is_not_for_the_model(cast: Cast) -> Task:
    return cast.task("Boss", "never asked", max_stalled_steps=1)


@scenario(
    "WHO-5 RESULT-8",
    """
    Boss LLM: go on
    Mute <- go on
    Mute nobody
    Mute = STALLED
    Bob <- go on
    Bob LLM: DONE yes
    Bob = DONE
    Boss Bob: yes
    Boss = FIXED_TURNS
    => yes
    """,
    turns=2,
)
def an_agent_without_a_model_lets_others_answer(cast: Cast) -> Task:
    mute = cast.task("Mute", max_stalled_steps=1)
    return cast.task("Boss", "go on", subs=[mute, cast.task("Bob", "DONE yes")])


@scenario(
    "WHO-6",
    """
    Boss LLM -> USER: what?
    Boss User: that
    Boss LLM: DONE
    Boss = DONE
    => (empty)
    """,
    answers=("that",),
)
def a_human_is_asked_by_name_in_any_case(cast: Cast) -> Task:
    return cast.task("Boss", "TO[USER]: what?", "DONE")


@scenario(
    "WHO-6 STEP-1",
    """
    Boss LLM: {add a=1}
    Boss Agent: 2
    Boss User: thanks
    Boss LLM: bye
    Boss User: q
    Boss = USER_QUIT
    => q
    """,
    answers=("thanks", "q"),
)
def a_human_is_not_asked_while_a_tool_waits(cast: Cast) -> Task:
    return cast.task("Boss", tool("add", a=1), "bye", tools=[Add], interactive=True)


@scenario(
    "WHO-7",
    """
    Boss LLM: {add a=1}
    Bob <- {add a=1}
    Bob Agent: 2
    Bob = FIXED_TURNS
    Boss Bob: 2
    Boss = FIXED_TURNS
    => 2
    """,
    turns=2,
)
def a_tool_goes_to_the_sub_task_that_handles_it(cast: Cast) -> Task:
    knows = cast.agent("Eve", "never asked")
    knows.enable_message(Add, handle=False)
    bob = cast.task("Bob", "never asked", tools=[Add], single_round=True)
    return cast.task("Boss", tool("add", a=1), subs=[cast.task(knows), bob])


@scenario(
    "WHO-8",
    """
    Boss LLM: words
    Bob <- words
    Bob LLM: DONE for me
    Bob = DONE
    Boss Bob: for me
    Boss = FIXED_TURNS
    => for me
    """,
    turns=2,
)
def a_sub_task_for_tools_only_leaves_words_to_others(cast: Cast) -> Task:
    eve = cast.task("Eve", "never asked", tools=[Add], agent={"respond_tools_only": True})
    return cast.task("Boss", "words", subs=[eve, cast.task("Bob", "DONE for me")])


# --- steps ---


@scenario(
    "STEP-1",
    """
    Boss LLM: one
    Boss User: hm
    Boss LLM: two
    Bob <- two
    Bob LLM: DONE from Bob
    Bob = DONE
    Boss Bob: from Bob
    Boss User: q
    Boss = USER_QUIT
    => q
    """,
    answers=("hm", "", "q"),
)
def the_human_comes_first_unless_he_was_the_last_one_asked(cast: Cast) -> Task:
    """Where he says nothing, the sub-task is asked; then it is his turn again."""
    return cast.task("Boss", "one", "two", subs=[cast.task("Bob", "DONE from Bob")], interactive=True)


@scenario(
    "STEP-1 STEP-3",
    """
    Boss LLM: ask
    Eve <- ask
    Eve LLM: DONE Eve
    Eve = DONE
    Boss Eve: Eve
    Boss = FIXED_TURNS
    => Eve
    """,
    turns=2,
)
def sub_tasks_are_tried_in_the_order_of_adding(cast: Cast) -> Task:
    return cast.task("Boss", "ask", subs=[cast.task("Eve", "DONE Eve"), cast.task("Bob", "never asked")])


@scenario(
    "STEP-2",
    """
    Boss LLM -> nobody here: hello
    Boss Agent: Invalid recipient: nobody here
    Boss LLM: DONE sorry
    Boss = DONE
    => sorry
    """,
)
def a_message_to_nobody_is_sent_back(cast: Cast) -> Task:
    return cast.task("Boss", "TO[nobody here]: hello", "DONE sorry", subs=[cast.task("Bob", "never asked")])


@scenario(
    "STEP-3 DONE-4",
    """
    Boss LLM: say something
    Boss nobody
    Boss User: something
    Boss LLM: more
    Boss nobody
    Boss nobody
    Boss nobody
    Boss = STALLED
    => nothing
    """,
    answers=("", "something", "", "", ""),
)
def an_answer_begins_the_count_of_stalled_steps_anew(cast: Cast) -> Task:
    options: dict[str, Any] = {"interactive": True, "only_user_quits_root": False}
    return cast.task("Boss", "say something", "more", max_stalled_steps=3, **options)


@scenario(
    "STEP-6",
    """
    Boss LLM refused: DO-NOT-KNOW
    Bob <- go
    Bob LLM refused: DO-NOT-KNOW!
    Bob LLM: DO-NOT-KNOW!
    Bob = FIXED_TURNS
    Boss Bob refused: DO-NOT-KNOW!
    Boss Bob: DO-NOT-KNOW!
    Boss = FIXED_TURNS
    => DO-NOT-KNOW!
    """,
    turns=1,
)
def the_last_do_not_know_is_taken_if_there_is_nothing_better(cast: Cast) -> Task:
    return cast.task("Boss", "DO-NOT-KNOW", subs=[cast.task("Bob", "DO-NOT-KNOW!", single_round=True)])


@scenario(
    "STEP-6 VALID-2",
    """
    Boss LLM refused: DO-NOT-KNOW
    Bob <- go
    Bob LLM: DONE I know
    Bob = DONE
    Boss Bob: I know
    Boss = FIXED_TURNS
    => I know
    """,
    turns=1,
)
def somebody_who_knows_comes_before_one_who_does_not(cast: Cast) -> Task:
    return cast.task("Boss", "DO-NOT-KNOW", subs=[cast.task("Bob", "DONE I know")])


@scenario(
    "STEP-7",
    """
    Boss LLM: hello
    Boss nobody
    Boss User: DO-NOT-KNOW
    Boss LLM: and now?
    Boss = FIXED_TURNS
    => and now?
    """,
    turns=3,
)
def a_missing_answer_to_the_model_may_be_a_do_not_know_of_the_user(cast: Cast) -> Task:
    return cast.task("Boss", "hello", "and now?", allow_null_result=True)


@scenario(
    "STEP-7",
    """
    Boss nobody
    Boss LLM: DO-NOT-KNOW
    Boss = FIXED_TURNS
    => DO-NOT-KNOW
    """,
    turns=1,
)
def a_missing_answer_to_the_user_may_be_a_do_not_know_of_the_model(cast: Cast) -> Task:
    return cast.task("Boss", allow_null_result=True)


@scenario(
    "STEP-7 ROUTE-1",
    """
    Boss LLM refused: __PASS__
    Boss nobody
    Boss LLM: mine after all
    Boss = FIXED_TURNS
    => mine after all
    """,
    turns=2,
)
def after_a_pass_the_message_stays_as_it_is(cast: Cast) -> Task:
    return cast.task("Boss", "__PASS__", "mine after all", allow_null_result=True)


@scenario(
    "STEP-8 ORCH-2",
    """
    Boss LLM: {done_tool content=finished}
    Boss Agent: finished + [done_tool content=finished]
    Boss User: no, go on
    Boss LLM: fine
    Boss User: q
    Boss = USER_QUIT
    => q
    """,
    answers=("no, go on", "q"),
)
def a_model_can_not_end_an_interactive_root(cast: Cast) -> Task:
    return cast.task("Boss", tool("done_tool", content="finished"), "fine", interactive=True)


# --- routing ---


@scenario(
    "ROUTE-1 MSG-7",
    """
    Boss LLM refused: __PASS__
    Bob <- go
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=1,
)
def a_pass_leaves_the_message_to_the_next_one(cast: Cast) -> Task:
    return cast.task("Boss", "__PASS__", subs=[cast.task("Bob", "DONE mine")])


@scenario(
    "ROUTE-2",
    """
    Boss LLM: not me __PASS__
    Boss LLM: not me __PASS__
    Boss = STALLED
    => nothing
    """,
)
def a_pass_with_words_keeps_the_message_and_counts_as_stalled(cast: Cast) -> Task:
    return cast.task("Boss", lambda _: "not me __PASS__", max_stalled_steps=2)


@scenario(
    "ROUTE-3",
    """
    Boss LLM: __PASS__:Bob
    Bob <- go
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=2,
)
def a_pass_to_somebody_gives_him_the_old_message(cast: Cast) -> Task:
    return cast.task("Boss", "__PASS__:Bob", subs=[cast.task("Eve", "never asked"), cast.task("Bob", "DONE mine")])


@scenario(
    "ROUTE-4",
    """
    Boss LLM -> Bob: and this
    Bob <- and this
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=2,
)
def the_last_send_in_a_text_counts(cast: Cast) -> Task:
    line = "I think __SEND__:Eve this, then __SEND__:Bob and this"
    return cast.task("Boss", line, subs=[cast.task("Eve", "never asked"), cast.task("Bob", "DONE mine")])


@scenario(
    "ROUTE-5",
    """
    Boss LLM refused: __PASS__
    Bob <- go
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=1,
)
def a_send_without_text_passes_the_message_on_at_once(cast: Cast) -> Task:
    return cast.task("Boss", "__SEND__:Bob", subs=[cast.task("Eve", "never asked"), cast.task("Bob", "DONE mine")])


@scenario(
    "ROUTE-6",
    """
    Boss LLM -> Bob: look here
    Bob <- look here
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=2,
)
def a_prefix_addresses_a_name(cast: Cast) -> Task:
    subs = [cast.task("Eve", "never asked"), cast.task("Bob", "DONE mine")]
    return cast.task("Boss", f"hm {AT}Bob look here", subs=subs, config=TaskConfig(addressing_prefix=AT))


@scenario(
    "ROUTE-9 ROUTE-4",
    """
    Boss LLM -> Bob: 5, please
    Bob <- 5, please
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=2,
)
def punctuation_after_the_name_is_not_sent(cast: Cast) -> Task:
    return cast.task("Boss", "__SEND__:Bob: 5, please", subs=[cast.task("Bob", "DONE mine")])


@scenario(
    "ROUTE-9 ROUTE-6",
    """
    Boss LLM -> Bob: 5
    Bob <- 5
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=2,
)
def punctuation_after_a_prefixed_name_is_not_sent(cast: Cast) -> Task:
    subs = [cast.task("Bob", "DONE mine")]
    return cast.task("Boss", f"{AT}Bob, 5", subs=subs, config=TaskConfig(addressing_prefix=AT))


@scenario(
    "ROUTE-6",
    """
    Boss LLM: we meet @ noon
    Boss = FIXED_TURNS
    => we meet @ noon
    """,
    turns=1,
)
def a_prefix_that_stands_alone_addresses_nobody(cast: Cast) -> Task:
    return cast.task("Boss", "we meet @ noon", config=TaskConfig(addressing_prefix="@"))


@scenario(
    "ROUTE-6",
    """
    Boss LLM: hm |@|Bob look here
    Eve <- hm |@|Bob look here
    Eve LLM: DONE Eve's
    Eve = DONE
    Boss Eve: Eve's
    Boss = FIXED_TURNS
    => Eve's
    """,
    turns=2,
)
def without_the_setting_a_prefix_is_text(cast: Cast) -> Task:
    return cast.task("Boss", f"hm {AT}Bob look here", subs=[cast.task("Eve", "DONE Eve's"), cast.task("Bob", "no")])


@scenario(
    "ROUTE-7",
    """
    Boss LLM: {say text=__SEND__:Bob hi}
    Boss Agent -> Bob: hi
    Bob <- hi
    Bob LLM: DONE mine
    Bob = DONE
    Boss Bob: mine
    Boss = FIXED_TURNS
    => mine
    """,
    turns=3,
)
def a_signal_in_a_field_of_a_tool_is_left_alone(cast: Cast) -> Task:
    bob = cast.task("Bob", "DONE mine")
    return cast.task("Boss", tool("say", text="__SEND__:Bob hi"), tools=[Say], subs=[bob])


@scenario(
    "ROUTE-7",
    """
    Boss LLM -> Bob: {say text=hi}
    Bob <- {say text=hi}
    Bob Agent: hi
    Bob = FIXED_TURNS
    Boss Bob: hi
    Boss = FIXED_TURNS
    => hi
    """,
    turns=2,
)
def a_signal_before_a_tool_is_followed(cast: Cast) -> Task:
    bob = cast.task("Bob", tools=[Say], single_round=True)
    return cast.task("Boss", "__SEND__:Bob " + tool("say", text="hi"), tools=[Say], subs=[bob])


@scenario(
    "ROUTE-8 VALID-5",
    """
    Boss LLM: DONE __SEND__:Bob |@|Bob __PASS__:Bob
    Eve <- DONE __SEND__:Bob |@|Bob __PASS__:Bob
    Eve LLM: all text to me DONE
    Eve = DONE
    Boss Eve: all text to me
    Boss = FIXED_TURNS
    => all text to me
    """,
    turns=2,
)
def with_signals_off_all_of_them_are_text(cast: Cast) -> Task:
    config = TaskConfig(recognize_string_signals=False, addressing_prefix=AT)
    subs = [cast.task("Eve", "all text to me DONE"), cast.task("Bob", "never asked")]
    return cast.task("Boss", "DONE __SEND__:Bob |@|Bob __PASS__:Bob", subs=subs, config=config)


@scenario(
    "ROUTE-8",
    """
    Boss LLM: hm __SEND__:Bob hello
    Eve <- hm __SEND__:Bob hello
    Eve LLM: not for me? __PASS__
    Eve = FIXED_TURNS
    Boss Eve: not for me? __PASS__
    Boss = FIXED_TURNS
    => not for me? __PASS__
    """,
    turns=2,
)
def with_signals_off_nothing_is_sent_or_passed(cast: Cast) -> Task:
    eve = cast.task("Eve", "not for me? __PASS__", single_round=True, config=QUIET)
    return cast.task("Boss", "hm __SEND__:Bob hello", subs=[eve, cast.task("Bob", "never asked")], config=QUIET)


@scenario(
    "ROUTE-8 STEP-6",
    """
    Boss LLM refused: DO-NOT-KNOW
    Boss LLM: DO-NOT-KNOW
    Boss = FIXED_TURNS
    => DO-NOT-KNOW
    """,
    turns=1,
)
def do_not_know_stays_with_signals_off(cast: Cast) -> Task:
    return cast.task("Boss", "DO-NOT-KNOW", config=QUIET)


# --- valid answers ---


@scenario(
    "VALID-1 VALID-4",
    """
    Boss LLM: (empty)
    Boss = DONE
    => (empty)
    """,
)
def a_silence_that_ends_the_task_is_a_valid_answer(cast: Cast) -> Task:
    return cast.task("Boss", "", subs=[cast.task("Bob", "never asked")], done_if_no_response=[Entity.LLM])


@scenario(
    "VALID-4 STEP-5",
    """
    Boss nobody
    Boss = DONE
    => go
    """,
)
def a_missing_answer_may_end_the_task(cast: Cast) -> Task:
    return cast.task("Boss", "never asked", done_if_no_response=["Agent"])


@scenario(
    "VALID-2",
    """
    Boss LLM refused: DO-NOT-KNOW,!?.:
    Bob <- go
    Bob LLM: I DO-NOT-KNOW
    Bob = FIXED_TURNS
    Boss Bob: I DO-NOT-KNOW
    Boss = FIXED_TURNS
    => I DO-NOT-KNOW
    """,
    turns=1,
)
def do_not_know_with_marks_is_no_answer_and_within_words_is(cast: Cast) -> Task:
    return cast.task("Boss", "DO-NOT-KNOW,!?.:", subs=[cast.task("Bob", "I DO-NOT-KNOW", single_round=True)])


@scenario(
    "VALID-3 MSG-7",
    """
    Boss LLM refused: ...
    Bob <- go
    Bob LLM: yes
    Bob = DONE
    Boss Bob: yes
    Boss LLM: mine
    Boss = DONE
    => mine
    """,
)
def done_if_response_needs_an_answer_that_is_not_empty(cast: Cast) -> Task:
    bob = cast.task("Bob", "yes", done_if_response=["LLM"])
    return cast.task("Boss", " ", "mine", subs=[bob], done_if_response=[Entity.LLM])


@scenario(
    "VALID-6 ORCH-2",
    """
    Boss LLM: hm
    Boss Agent: + [done_tool content=from the program]
    Boss = DONE
    => from the program
    """,
)
def a_done_tool_in_agents_document_ends_the_task(cast: Cast) -> Task:
    def finish(_: ChatDocument) -> ChatDocument:
        meta = ChatDocMetaData(sender=Entity.AGENT)
        return ChatDocument(tool_messages=[DoneTool(content="from the program")], metadata=meta)

    return cast.task("Boss", "hm", agent={"handle_llm_no_tool": finish})


class Odd(ChatAgent):
    """Answers as USER what the model says."""

    def handle_message_fallback(self, msg: str | ChatDocument) -> Any:
        if isinstance(msg, ChatDocument) and msg.metadata.sender == Entity.LLM:
            return ChatDocument(content="as the human", metadata=ChatDocMetaData(sender=Entity.USER))
        return None


@scenario(
    "STEP-4 WHO-1",
    """
    Boss LLM: hm
    Boss Agent (User): as the human
    Boss LLM: oh
    Boss Agent (User): as the human
    Boss = FIXED_TURNS
    => as the human
    """,
    turns=4,
)
def the_sender_of_an_answer_decides_who_may_not_answer_it(cast: Cast) -> Task:
    return cast.task(cast.agent("Boss", "hm", "oh", kind=Odd), interactive=False)
