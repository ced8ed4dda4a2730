"""The conversation of a request, and the names by which its run is found again."""

from __future__ import annotations

import pytest

from turnwise.errors import InvalidRequestError
from turnwise.messages.given_history import GivenMessage
from turnwise_gateway.openai_door.conversation import conversation_of


def said(*texts: str) -> list[GivenMessage]:
    """A conversation that its user begins."""
    return [GivenMessage("assistant" if at % 2 else "user", text) for at, text in enumerate(texts)]


def test_a_longer_conversation_knows_its_beginnings_and_the_messages_behind_them_latest_first() -> None:
    whole = conversation_of(said("paint it", "Which colour?", "blue", "Light or dark?", "light"), "messages")
    beginnings = [("paint it", "Which colour?", "blue"), ("paint it",)]
    names = [conversation_of(said(*texts), "messages").name("painter", None) for texts in beginnings]

    behind = whole.behind_beginnings("painter", None)

    assert list(behind) == names
    assert [[message.content for message in messages] for messages in behind.values()] == [
        ["Light or dark?"],
        ["Which colour?", "blue", "Light or dark?"],
    ]


def test_a_message_that_answers_none_of_the_assistants_has_no_beginnings() -> None:
    twice = [*said("paint it", "Which colour?", "blue"), GivenMessage("user", "are you there?")]

    assert conversation_of(twice, "messages").behind_beginnings("painter", None) == {}


@pytest.mark.parametrize(("model", "user"), [("clerk", None), ("painter", "ann")])
def test_another_model_or_user_has_another_conversation(model: str, user: str | None) -> None:
    one = conversation_of(said("paint it"), "messages")

    assert one.name("painter", None) != one.name(model, user)


@pytest.mark.parametrize("messages", [[], said("hello", "Hi."), said("hello", "Hi.", "  ")])
def test_the_last_message_has_to_be_the_users_and_to_say_something(messages: list[GivenMessage]) -> None:
    with pytest.raises(InvalidRequestError, match=r"^messages: the last message"):
        conversation_of(messages, "messages")


def test_an_empty_answer_is_no_part_of_the_history() -> None:
    assert conversation_of(said("hello", "", "hello?"), "messages").history == tuple(said("hello"))
