from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from turnwise import (
    ChatAgent,
    ChatAgentConfig,
    ChatDocMetaData,
    ChatDocument,
    Entity,
    LLMMessage,
    MockLMConfig,
    OpenAIToolCall,
    RewindTool,
    Role,
    Task,
    ToolMessage,
)
from turnwise.agents.history.history import MessageHistory, between
from turnwise.models.base import LLMFunctionCall, LLMResponse
from turnwise.models.mock import MockLM
from turnwise.models.tokens.estimate import message_tokens


def said(content: str, role: Role = Role.USER) -> LLMMessage:
    return LLMMessage(role=role, content=content)


SYSTEM = said("Be brief.", Role.SYSTEM)
CALL = OpenAIToolCall(id="c1", function=LLMFunctionCall(name="look", arguments={"at": "it"}))


def agent_with(*messages: LLMMessage) -> ChatAgent:
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_fn=lambda text: f"<{text}>")))
    if messages:
        agent.message_history = [agent.system_and_tools_message(), *messages]
    return agent


def contents(agent: ChatAgent) -> list[str]:
    return [message.content for message in agent.message_history[1:]]


Edit = Callable[[list[LLMMessage]], object]
INDEX = st.integers(-12, 12)
MESSAGE = st.text(max_size=8).map(said)
EDITS: st.SearchStrategy[Edit] = st.one_of(
    st.builds(lambda m: lambda h: h.append(m), MESSAGE),
    st.builds(lambda ms: lambda h: h.extend(ms), st.lists(MESSAGE, max_size=3)),
    st.builds(lambda i, m: lambda h: h.insert(i, m), INDEX, MESSAGE),
    st.builds(lambda i, m: lambda h: h.__setitem__(i, m), INDEX, MESSAGE),
    st.builds(lambda i, j, ms: lambda h: h.__setitem__(slice(i, j), ms), INDEX, INDEX, st.lists(MESSAGE, max_size=3)),
    st.builds(lambda i: lambda h: h.__delitem__(i), INDEX),
    st.builds(lambda i, j, k: lambda h: h.__delitem__(slice(i, j, k)), INDEX, INDEX, st.sampled_from([-2, -1, 1, 2])),
    st.builds(lambda i: lambda h: h.pop(i), INDEX),
    st.builds(lambda i: lambda h: h.remove(h[i]), INDEX),
    st.just(lambda h: h.clear()),
    st.just(lambda h: h.reverse()),
    st.just(lambda h: h.sort(key=lambda m: m.content)),
    st.just(lambda h: h.__imul__(2)),
)


@given(begun=st.lists(MESSAGE, max_size=8), edits=st.lists(st.tuples(EDITS, st.booleans()), max_size=6))
def test_whatever_is_done_to_a_history_its_marks_and_its_count_stay_right(
    begun: list[LLMMessage], edits: list[tuple[Edit, bool]]
) -> None:
    before = [SYSTEM, *begun]
    history = MessageHistory(before, unchanged=len(before), fitted=len(before), tokens=sum(map(message_tokens, begun)))
    plain = list(before)
    for edit, counted in edits:
        assert _outcome(edit, history) == _outcome(edit, plain)
        assert list(history) == plain
        if counted:
            history.tokens()
    assert all(old is new for old, new in zip(before, history[: history.unchanged], strict=False))
    assert history.unchanged <= min(len(history), len(before))
    assert history.fitted <= history.unchanged
    assert history.tokens() == sum(map(message_tokens, history[1:]))


def _outcome(edit: Edit, messages: list[LLMMessage]) -> object:
    try:
        returned = edit(messages)
    except (IndexError, ValueError) as error:
        return type(error)
    return list(returned) if isinstance(returned, list) else returned


def test_a_new_system_message_changes_nothing_else() -> None:
    history = MessageHistory([SYSTEM, said("a")], unchanged=2, fitted=2, tokens=5)
    history.begin_with(said("Be kind.", Role.SYSTEM))
    assert history == [said("Be kind.", Role.SYSTEM), said("a")]
    assert (history.unchanged, history.fitted, history.tokens()) == (2, 2, 5)


def test_a_history_that_replaces_another_remembers_what_both_begin_with() -> None:
    first, second = said("a"), said("b")
    history = MessageHistory([SYSTEM, first, second], unchanged=3, fitted=2)
    other = history.replaced_by([SYSTEM, first, said("c"), second])
    assert (other.unchanged, other.fitted) == (2, 2)
    assert history.replaced_by([]).unchanged == 0
    assert history.replaced_by([said("Be kind.", Role.SYSTEM), first]).unchanged == 2


def test_a_history_that_begins_with_another_message_is_another() -> None:
    first, second = said("a"), said("b")
    history = MessageHistory([SYSTEM, first, second], unchanged=3, fitted=2)
    for messages in ([said("c"), first], [first, second], [said("c", Role.ASSISTANT), first, second]):
        other = history.replaced_by(messages)
        assert (other.unchanged, other.fitted) == (0, 0)
    assert MessageHistory([first], unchanged=1).replaced_by([SYSTEM, first]).unchanged == 0


def test_a_history_is_a_list_to_whoever_holds_it() -> None:
    history = MessageHistory([SYSTEM, said("a")])
    assert history == [SYSTEM, said("a")]
    assert copy.deepcopy(history) == pickle.loads(pickle.dumps(history)) == history  # noqa: S301 - our own
    assert isinstance(agent_with().message_history, list)


def test_a_message_is_a_value_and_is_changed_by_putting_another_in_its_place() -> None:
    agent = agent_with(said("a"))
    with pytest.raises(ValidationError, match="frozen"):
        agent.message_history[1].content = "b"  # type: ignore[misc]
    agent.message_history[1] = agent.message_history[1].model_copy(update={"content": "b"})
    assert contents(agent) == ["b"]


def test_messages_are_found_by_role() -> None:
    agent = agent_with(said("a"), said("b", Role.ASSISTANT), said("c"))
    assert agent.nth_message_idx_with_role(Role.USER, 2) == 3
    assert agent.nth_message_idx_with_role(Role.USER, 3) == -1
    assert agent.last_message_idx_with_role(Role.ASSISTANT) == 2
    assert agent.last_message_idx_with_role(Role.TOOL) == -1
    assert agent.last_message_with_role(Role.USER) == said("c")
    assert agent.last_message_with_role(Role.TOOL) is None


def test_the_last_message_of_a_role_is_replaced_or_dropped() -> None:
    agent = agent_with(said("passages and question"), said("b", Role.ASSISTANT))
    agent.update_last_message("question")
    assert contents(agent) == ["question", "b"]
    agent.update_last_message("B", role="assistant")
    assert contents(agent) == ["question", "B"]
    agent.delete_last_message()
    assert contents(agent) == ["B"]
    agent.delete_last_message()
    agent.update_last_message("nobody said this")
    assert contents(agent) == ["B"]


def test_two_messages_are_dropped_unless_told_from_where() -> None:
    agent = agent_with(said("a"), said("b"), said("c"))
    agent.clear_history()
    assert contents(agent) == ["a"]
    agent.update_history("question", "answer")
    assert contents(agent) == ["a", "question", "answer"]
    agent.clear_history(0)
    assert agent.message_history == []


@pytest.mark.parametrize(
    ("start", "end", "left"),
    [
        (-2, -1, "SUA"),
        (-1, -1, "SUAU"),
        (-9, -1, ""),
        (0, -1, ""),
        (1, -1, "S"),
        (1, 1, "SAUA"),
        (1, 2, "SUA"),
        (0, 0, "UAUA"),
        (-3, -2, "SUA"),
        (-4, 3, "SA"),
        (3, 1, "SUAUA"),
        (9, -1, "SUAUA"),
    ],
)
def test_messages_are_dropped_from_one_index_to_another(start: int, end: int, left: str) -> None:
    roles = {"S": Role.SYSTEM, "U": Role.USER, "A": Role.ASSISTANT}
    agent = agent_with()
    agent.message_history = [said(letter, roles[letter]) for letter in "SUAUA"]
    agent.clear_history(start, end)
    assert "".join(message.content for message in agent.message_history) == left


def test_a_program_may_say_which_calls_are_open() -> None:
    agent = agent_with(said("look"), LLMMessage(role=Role.ASSISTANT, tool_calls=[CALL]))
    agent.oai_tool_calls = [CALL]

    agent.llm_response("found")

    assert [(m.role, m.content) for m in agent.message_history[3:]] == [
        (Role.TOOL, "found"),
        (Role.ASSISTANT, "<found>"),
    ]
    assert agent.oai_tool_calls == []


def test_a_message_of_calls_alone_has_no_text_to_cut_and_stays_without() -> None:
    calls = LLMMessage(role=Role.ASSISTANT, tool_calls=[CALL])
    agent = agent_with(calls)

    assert agent.truncate_message(1) is calls
    assert ChatDocument.from_LLMMessage(calls).content_is_none
    assert not ChatDocument.from_LLMMessage(said("")).content_is_none
    assert not ChatDocument.from_LLMMessage(said("hi", Role.ASSISTANT)).content_is_none


def test_a_message_may_be_made_without_content() -> None:
    assert LLMMessage(role=Role.USER).content == ""
    silent = LLMMessage(role=Role.ASSISTANT, content=None, tool_calls=[CALL])  # type: ignore[arg-type]
    assert silent.content == ""
    assert silent.api_dict()["content"] is None
    assert LLMMessage(role=Role.ASSISTANT, content=None).api_dict()["content"] == " "  # type: ignore[arg-type]


def test_a_conversation_goes_on_from_a_history_that_a_program_made_or_kept() -> None:
    sent: list[list[str]] = []

    class Listening(MockLM):
        def answer(self, messages: Sequence[LLMMessage], *args: Any, **more: Any) -> LLMResponse:
            sent.append([message.content for message in messages])
            return super().answer(messages, *args, **more)

    def asking(history: list[LLMMessage], question: str | None) -> ChatAgent:
        agent = ChatAgent(ChatAgentConfig(llm=None, system_message="Be brief."))
        agent.llm = Listening(MockLMConfig(response_fn=lambda text: f"<{text}>"))
        agent.message_history = history
        Task(agent, restart=False, interactive=False, single_round=True).run(question)
        return agent

    mine = [SYSTEM, said("one"), LLMMessage(role=Role.ASSISTANT, content=None, tool_calls=[CALL])]  # type: ignore[arg-type]
    result = LLMMessage(role=Role.TOOL, tool_call_id="c1", content="found")
    agent = asking([*mine, result, said("done", Role.ASSISTANT)], "two")
    assert sent[-1] == ["Be brief.", "one", "", "found", "done", "two"]

    kept = pickle.loads(pickle.dumps(agent.message_history))  # noqa: S301 - our own
    again = asking(kept, "three")
    assert sent[-1] == ["Be brief.", "one", "", "found", "done", "two", "<two>", "three"]
    assert contents(again)[-1] == "<three>"


def test_a_message_is_truncated_in_the_history_or_beside_it() -> None:
    agent = agent_with(said("x" * 700))
    beside = agent.truncate_message(1, tokens=30, inplace=False)
    assert beside.content == "x" * 105 + "\n...[Contents truncated!]"
    assert contents(agent) == ["x" * 700]
    agent.truncate_message(1, tokens=2, warning="(cut)")
    assert contents(agent) == ["x" * 7 + "\n(cut)"]


def test_tokens_are_counted_of_the_history_or_of_given_messages() -> None:
    agent = agent_with(said("x" * 35))
    of_one = agent.chat_num_tokens([said("x" * 35)])
    assert of_one == 10 + 4
    assert agent.chat_num_tokens() == of_one + agent.chat_num_tokens([agent.message_history[0]])
    assert agent.chat_num_tokens([LLMMessage(role=Role.ASSISTANT, tool_calls=[CALL])]) > 4 + 4


def test_the_history_is_shown_whole_or_in_part() -> None:
    agent = agent_with(said("a"), said("b", Role.ASSISTANT))
    assert agent.message_history_str().endswith("user: a\nassistant: b")
    assert agent.message_history_str(1) == "user: a"
    assert agent.message_history_str(-1) == "assistant: b"


def test_the_system_message_is_changed_where_it_stands() -> None:
    agent = agent_with(said("a"))
    agent.set_system_message("Be kind.")
    agent.augment_system_message("Be brief.")
    assert agent.message_history[0].content == "Be kind.\n\nBe brief."
    assert contents(agent) == ["a"]


def test_a_history_without_a_system_message_loses_nothing_when_the_model_is_asked() -> None:
    agent = agent_with()
    agent.message_history = [said("a")]
    agent.llm_response("b")
    assert contents(agent) == ["a", "b", "<b>"]


def test_an_answer_is_forgotten_with_its_question() -> None:
    agent = agent_with(said("a"))
    answer = agent.llm_response_forget("b")
    assert answer is not None
    assert answer.content == "<b>"
    assert asyncio.run(agent.llm_response_forget_async("c")) is not None
    assert contents(agent) == ["a"]
    assert agent.usage.calls == 2


def test_an_edit_closes_the_calls_that_it_takes_away_and_opens_those_it_lays_bare() -> None:
    call = LLMMessage(role=Role.ASSISTANT, tool_calls=[CALL])
    result = LLMMessage(role=Role.TOOL, tool_call_id="c1", content="there")
    agent = agent_with(said("a"), call, result, said("done", Role.ASSISTANT))
    agent.clear_history(-2)
    assert agent.oai_tool_calls == [CALL]
    agent.delete_last_message(Role.ASSISTANT)
    assert agent.oai_tool_calls == []


def test_after_a_rewind_no_call_waits_that_was_taken_back() -> None:
    answers = iter([LLMResponse(message=None, oai_tool_calls=[CALL]), LLMResponse(message="fine")])
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_fn=lambda _: next(answers))))
    agent.llm_response("a")
    RewindTool(n=1, content="else").response(agent)
    agent.llm_response("b")
    assert [m.role for m in agent.message_history[1:]] == [Role.USER, Role.ASSISTANT, Role.USER, Role.ASSISTANT]


def test_a_message_without_text_is_sent_without_one_beside_calls_and_as_a_blank_elsewhere() -> None:
    call = OpenAIToolCall(id="c1", function=LLMFunctionCall(name="add", arguments={}))
    said = ChatDocument(
        content_is_none=True,
        content_any={"parsed": 1},
        oai_tool_calls=[call],
        metadata=ChatDocMetaData(sender=Entity.LLM),
    )
    [message] = ChatDocument.to_LLMMessage(said)
    assert message.api_dict()["content"] is None
    assert [LLMMessage(role=role).api_dict()["content"] for role in (Role.USER, Role.ASSISTANT, Role.TOOL)] == [" "] * 3


def test_a_text_that_holds_a_tool_of_the_agents_own_is_for_its_handler() -> None:
    class Ping(ToolMessage):
        request: str = "ping"
        purpose: str = "To ping."

    asked: list[str] = []

    def pong(text: str) -> str:
        asked.append(text)
        return "pong"

    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_fn=pong)))
    agent.enable_message(Ping)
    assert agent.llm_response('{"request": "ping"}') is None
    assert asked == []
    assert agent.llm_response("hello") is not None
    assert asked == ["hello"]


def test_answers_that_leave_nothing_may_be_made_at_once_and_beside_one_that_stays() -> None:
    prompts: list[list[str]] = []

    class Noting(MockLM):
        async def answer_async(self, messages: Sequence[LLMMessage], *args: Any, **more: Any) -> LLMResponse:
            prompts.append([message.content for message in messages if message.role is Role.USER])
            await asyncio.sleep(0)
            return await super().answer_async(messages, *args, **more)

    agent = ChatAgent(ChatAgentConfig())
    agent.llm = Noting(MockLMConfig(response_fn=lambda text: f"re {text}"))

    async def ask() -> None:
        await asyncio.gather(
            agent.llm_response_forget_async("a"), agent.llm_response_async("kept"), agent.llm_response_forget_async("b")
        )

    asyncio.run(ask())
    # The last began when the second was asked already.
    assert sorted(prompts) == [["a"], ["kept"], ["kept", "b"]]
    assert [message.content for message in agent.message_history[1:]] == ["kept", "re kept"]
    assert agent.usage.calls == 3


def as_letters(layout: str) -> list[LLMMessage]:
    """Messages by the letters of their roles, with the number of their document: `u1 a2 t3 t`."""
    roles = {"u": Role.USER, "a": Role.ASSISTANT, "t": Role.TOOL, "f": Role.FUNCTION}
    return [LLMMessage(role=roles[word[0]], content=word, chat_document_id=word[1:]) for word in layout.split()]


@pytest.mark.parametrize(
    "layout, left",
    [
        ("u1 a2 u3 a4", "u1 a4"),
        ("u1 a2", "u1 a2"),
        ("u1", "u1"),
        ("t1 t1 t a2 t3 a4", "t1 t1 t a4"),
        ("t1 t u1 a2 t3 a4", "t1 t u1 a4"),
        ("u1 a2 t3 a4 t5 t", "u1 a4 t5 t"),
        ("u1 a2 t3 a4 t5 t u5", "u1 a4 t5 t u5"),
        ("u1 a2 t3 u3", "u1 a2 t3 u3"),
        ("u1 a2 t3 u4", "u1 u4"),
        ("u1 a2 f3 a4 f5", "u1 a4 f5"),
        ("a1 t2 a3 t4 a5", "a1 t2 a5"),
        ("u1 u2 a3", "u1 a3"),
    ],
)
def test_what_lies_between_two_messages_leaves_each_call_with_its_results(layout: str, left: str) -> None:
    messages = as_letters(layout)

    dropped = between(messages.__getitem__, 0, len(messages) - 1)

    del messages[dropped.start : dropped.stop]
    assert " ".join(message.content for message in messages) == left
