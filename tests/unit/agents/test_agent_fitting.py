from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise import LLMMessage, OpenAIToolCall, Role
from turnwise.agents.history.fitting import MARGIN, ContextWindow, DroppingTurns, Fit, Truncating, fit
from turnwise.agents.history.shortening import short
from turnwise.models.base import LLMFunctionCall
from turnwise.models.tokens.estimate import message_tokens

Way = type[Truncating | DroppingTurns]
SYSTEM = LLMMessage(role=Role.SYSTEM, content="Be brief.")


def said(content: str, role: Role = Role.USER) -> LLMMessage:
    return LLMMessage(role=role, content=content)


def asked(*ids: str, arguments: str = "it") -> LLMMessage:
    calls = [OpenAIToolCall(id=i, function=LLMFunctionCall(name="look", arguments={"at": arguments})) for i in ids]
    return LLMMessage(role=Role.ASSISTANT, tool_calls=calls)


def found(call: str, content: str) -> LLMMessage:
    return LLMMessage(role=Role.TOOL, tool_call_id=call, content=content)


TEXT = st.integers(0, 3000).map(lambda size: "word " * (size // 5))


@st.composite
def histories(draw: st.DrawFn) -> list[LLMMessage]:
    """Conversations that a provider takes: any speakers, and after each call its results."""
    messages = [SYSTEM]
    for number in range(draw(st.integers(1, 10))):
        kind = draw(st.sampled_from(["user", "system", "assistant", "calls", "function"]))
        if kind == "calls":
            ids = [f"c{number}.{i}" for i in range(draw(st.integers(1, 3)))]
            messages.append(asked(*ids, arguments=draw(TEXT)))
            messages.extend(found(i, draw(TEXT)) for i in ids)
        elif kind == "function":
            call = LLMFunctionCall(name="look", arguments={"at": draw(TEXT)})
            messages.append(LLMMessage(role=Role.ASSISTANT, function_call=call))
            messages.append(LLMMessage(role=Role.FUNCTION, name="look", content=draw(TEXT)))
        else:
            messages.append(said(draw(TEXT), Role(kind)))
    return messages


def fitted(messages: Sequence[LLMMessage], context: int, way: Way, mark: int = 0) -> tuple[Fit, list[LLMMessage]]:
    window = ContextWindow(context=context, most=400, least=100)
    shortening = way(messages, message_tokens)
    result = fit(messages, window, shortening, mark, 0)
    return result, shortening.sent(result.mark)


def last_of(messages: Sequence[LLMMessage], role: Role) -> LLMMessage | None:
    return next((message for message in reversed(messages) if message.role == role), None)


@settings(max_examples=300)
@given(messages=histories(), context=st.integers(600, 8000), way=st.sampled_from([Truncating, DroppingTurns]))
def test_whatever_the_history_what_is_sent_fits_and_can_be_answered(
    messages: list[LLMMessage], context: int, way: Way
) -> None:
    before = list(messages)
    result, sent = fitted(messages, context, way)
    assert result.tokens == sum(map(message_tokens, sent))
    if result.fits:
        assert result.tokens + 100 + MARGIN <= context
    assert sent[0] is SYSTEM
    assert last_of(sent, Role.USER) is last_of(messages, Role.USER)
    assert len(sent) < 2 or sent[-1].role is messages[-1].role
    assert _pairs(sent)
    assert all(old is new for old, new in zip(before, messages, strict=True))


@given(messages=histories(), way=st.sampled_from([Truncating, DroppingTurns]))
def test_nothing_is_shortened_where_all_fits(messages: list[LLMMessage], way: Way) -> None:
    result, sent = fitted(messages, 1_000_000, way)
    assert result.mark == 0
    assert all(old is new for old, new in zip(messages, sent, strict=True))


@given(
    messages=histories(),
    more=histories(),
    context=st.integers(600, 8000),
    way=st.sampled_from([Truncating, DroppingTurns]),
)
def test_what_was_shortened_stays_so(
    messages: list[LLMMessage], more: list[LLMMessage], context: int, way: Way
) -> None:
    first, sent = fitted(messages, context, way)
    longer = [*messages, *more[1:]]
    second, sent_again = fitted(longer, 1_000_000, way, mark=first.mark)
    if way is Truncating:
        assert second.mark == first.mark
        assert all(new in (old, short(old)) for old, new in zip(sent, sent_again, strict=False))
    else:
        assert second.mark >= first.mark


def _pairs(messages: list[LLMMessage]) -> bool:
    """Return whether results follow their calls, and every call has its results, as providers want it."""
    waiting: list[str | None] = []
    function = None
    for message in messages:
        if message.role == Role.TOOL:
            if message.tool_call_id not in waiting:
                return False
            waiting.remove(message.tool_call_id)
        elif message.role == Role.FUNCTION:
            if message.name != function:
                return False
            function = None
        else:
            if waiting or function:
                return False
            waiting = [call.id for call in message.tool_calls or ()]
            function = message.function_call.name if message.function_call else None
    return not waiting and not function


LONG = "word " * 700  # 1000 tokens


def test_the_oldest_messages_are_shortened_first_and_no_more_than_a_whole_answer_needs() -> None:
    messages = [SYSTEM, said(LONG), said(LONG, Role.ASSISTANT), said(LONG), said(LONG, Role.ASSISTANT), said("go on")]
    result, sent = fitted(messages, 4000, Truncating)
    assert result.mark == 2
    assert [len(message.content) < 200 for message in sent] == [True, True, False, False, False, True]
    assert sent[1].content == LONG[:105] + "\n[truncated: 3395 more characters]"


def test_where_a_whole_answer_can_not_fit_the_least_one_has_to() -> None:
    messages = [said(LONG, Role.SYSTEM), said(LONG), said("yes", Role.ASSISTANT), said("go on")]
    result, _ = fitted(messages, 1500, Truncating)
    assert result.fits
    assert (result.mark, 1500 - MARGIN - result.tokens < 400) == (2, True)


def test_the_result_that_the_model_has_not_seen_is_shortened_last() -> None:
    messages = [SYSTEM, said("go"), asked("c1"), found("c1", LONG), asked("c2"), found("c2", LONG)]
    _, sent = fitted(messages, 1800, Truncating)
    assert [len(message.content) for message in sent][3:] == [139, 0, 3500]
    _, sent = fitted(messages, 900, Truncating)
    assert len(sent[-1].content) == 139


def test_long_arguments_of_an_old_call_are_shortened_and_stay_a_call() -> None:
    call = asked("c1", arguments=LONG)
    _, sent = fitted([SYSTEM, call, found("c1", "there"), said("go on")], 900, Truncating)
    assert sent[1].tool_calls is not None
    assert sent[1].tool_calls[0].id == "c1"
    assert sent[1].api_dict()["tool_calls"][0]["function"]["arguments"].startswith('{"truncated": "{\\"at\\": \\"word')
    assert message_tokens(sent[1]) < 100


def test_whole_turns_are_dropped_and_of_the_last_one_the_oldest_calls() -> None:
    turn = [said("first"), asked("c1"), found("c1", LONG), said("so", Role.ASSISTANT)]
    now = [said("second"), asked("c2"), found("c2", LONG), asked("c3"), found("c3", LONG)]
    messages = [SYSTEM, *turn, *now]
    assert fitted(messages, 2900, DroppingTurns)[1] == [SYSTEM, *now]
    assert fitted(messages, 1800, DroppingTurns)[1] == [SYSTEM, now[0], *now[3:]]
    assert not fitted(messages, 900, DroppingTurns)[0].fits


def test_what_the_system_message_and_the_last_message_need_can_not_be_taken_from_them() -> None:
    for way in (Truncating, DroppingTurns):
        result, _ = fitted([SYSTEM, said("a"), said(LONG)], 1000, way)
        assert not result.fits
        assert result.tokens > 1000
