"""The text of a stream: what may be shown of an answer in progress."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise import ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage
from turnwise.bus.envelope import TokenNotice
from turnwise_gateway.openai_door.shown_text import ShownText


def piece(text: str, offset: int = 0, *, ask: str = "run_1.1.1.2", attempt: int = 1) -> TokenNotice:
    return TokenNotice(run="run_1", ask=ask, attempt=attempt, offset=offset, text=text)


def written(shown: ShownText, text: str, *, ask: str = "run_1.1.1.2", attempt: int = 1, size: int = 3) -> str:
    """What is added while a model writes the text, a few characters at a time."""
    parts = [piece(text[at : at + size], at, ask=ask, attempt=attempt) for at in range(0, len(text), size)]
    return "".join(shown.hear(part) for part in parts)


@pytest.mark.parametrize(
    ("said", "before", "result"),
    [
        ("The answer is 42.", "The answer is 42.", "The answer is 42."),
        ("DONE The answer is 42.", "The answer is 42.", "The answer is 42."),
        ("The answer is 42. DONE", "The answer is 42.", "The answer is 42."),
        ('Let me see: {"request": "fare"}', "Let me see:", "It is 84 EUR."),
        ("__SEND__:User Shall I book?", "", "Shall I book?"),
        ("TO[User]: Shall I book?", "", "Shall I book?"),
        ("DON'T PANIC", "DON'T PANIC", "DON'T PANIC"),
    ],
)
def test_what_is_not_part_of_the_answer_is_never_shown(said: str, before: str, result: str) -> None:
    shown = ShownText()

    begun = written(shown, said)
    rest = shown.finish(result)

    assert begun == before
    assert (begun + rest).endswith(result)
    assert "DONE" not in begun + rest


@given(st.text(alphabet="DONE_ {<a\n|T[", max_size=30), st.integers(1, 5))
def test_the_text_ends_with_the_answer_whatever_was_written(said: str, size: int) -> None:
    shown = ShownText(prefix="|@|")
    result = said.replace("DONE", "").strip() if "DONE" in said else said

    text = written(shown, said, size=size) + shown.finish(result)

    assert text.rstrip().endswith(result.strip())


class Fare(ToolMessage):
    request: str = "fare"
    purpose: str = "To look up the fare to <city>."
    city: str


@pytest.mark.parametrize("functions", [False, True])
@pytest.mark.parametrize("enabled", [False, True])
def test_a_call_in_the_text_is_not_shown_however_the_model_is_given_its_tools(functions: bool, enabled: bool) -> None:
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(), use_tools=not functions, use_functions_api=functions))
    if enabled:
        agent.enable_message(Fare)
    shown = ShownText.of(Task(agent).tree())

    text = written(shown, 'Let me see: {"request": "fare", "city": "Lyon"}')

    assert text == ("Let me see:" if enabled else 'Let me see: {"request": "fare", "city": "Lyon"}')


def test_a_model_of_a_sub_task_is_not_shown() -> None:
    assert written(ShownText(), "Between us", ask="run_1.2.1.2") == ""


def test_each_answer_is_a_paragraph() -> None:
    shown = ShownText()

    text = written(shown, "Let me see.") + written(shown, "It is 42.", ask="run_1.1.3.2") + shown.finish("It is 42.")

    assert text == "Let me see.\n\nIt is 42."


def test_another_attempt_goes_on_where_it_says_the_same_and_is_a_paragraph_where_not() -> None:
    same, other = ShownText(), ShownText()
    begun = [written(one, "It is") for one in (same, other)]

    assert begun == ["It is", "It is"]
    assert written(same, "It is 42.", attempt=2) + same.finish("It is 42.") == " 42."
    assert written(other, "I say 42.", attempt=2) + other.finish("I say 42.") == "\n\nI say 42."


def test_after_a_lost_piece_the_rest_comes_with_the_answer() -> None:
    shown = ShownText()

    pieces = [shown.hear(piece("It is")), shown.hear(piece("of course", 9))]

    assert [*pieces, shown.finish("It is, of course, 42.")] == ["It is", "", ", of course, 42."]
