"""The part of an agent that holds its messages, and finds the documents that they came from."""

from __future__ import annotations

import copy
from threading import Lock

import pytest

from turnwise import ChatAgent, ChatAgentConfig, ChatDocument, LLMMessage, MockLMConfig, Role
from turnwise.agents.history.agent_history import AgentHistory
from turnwise.agents.history.history import MessageHistory


def said(content: str) -> LLMMessage:
    return LLMMessage(role=Role.USER, content=content)


def reply_to(parent: ChatDocument, content: str) -> ChatDocument:
    document = ChatDocument.from_str(content)
    document.answers(parent)
    return document


def test_messages_are_read_from_the_source_when_someone_looks_and_only_once() -> None:
    looks: list[str] = []

    def source() -> MessageHistory:
        looks.append("look")
        return MessageHistory([said("stored")])

    conversation = AgentHistory(source)
    assert conversation.held is None
    assert looks == []

    conversation.messages.append(said("new"))
    assert [m.content for m in conversation.messages] == ["stored", "new"]
    assert looks == ["look"]

    conversation.reread()
    assert [m.content for m in conversation.messages] == ["stored"]
    conversation.forget()
    assert conversation.messages == []
    assert looks == ["look", "look"]


def test_messages_that_are_replaced_keep_what_was_known_of_the_same_leading_ones() -> None:
    first, second = said("a"), said("b")
    conversation = AgentHistory(lambda: MessageHistory([first, second], unchanged=2))

    conversation.replace([first, said("c")])

    assert conversation.messages.unchanged == 1


def test_a_continued_conversation_goes_on_by_itself() -> None:
    conversation = AgentHistory()
    conversation.messages.append(said("both"))

    other = conversation.continued()
    other.messages.append(said("the other's"))

    assert [m.content for m in conversation.messages] == ["both"]
    assert [m.content for m in other.messages] == ["both", "the other's"]


def test_documents_are_found_back_from_the_last_one_and_each_once() -> None:
    question = ChatDocument.from_str("question")
    reply = reply_to(question, "reply")
    conversation = AgentHistory()
    assert list(conversation.documents()) == []

    conversation.ends_with(reply)

    assert list(conversation.documents()) == [reply, question]
    assert conversation.find(question.id()) is question
    assert list(conversation.documents({id(reply)})) == []


def test_a_document_is_found_whose_copy_was_answered_or_that_another_one_stood_behind() -> None:
    question = ChatDocument.from_str("question")
    told = reply_to(question, "told")
    reply = reply_to(ChatDocument.deepcopy(told), "reply")
    passing = reply_to(reply, "passing")
    passed = ChatDocument.deepcopy(reply).following(passing)
    conversation = AgentHistory()

    conversation.ends_with(passed)

    assert conversation.find(told.id()) is told
    assert conversation.find(passing.id()) is passing
    found = list(conversation.documents())
    assert len(found) == len({id(document) for document in found}) == 6


def test_a_finder_is_asked_in_the_place_of_this_process() -> None:
    here, elsewhere = ChatDocument.from_str("here"), ChatDocument.from_str("elsewhere")
    conversation = AgentHistory()
    conversation.ends_with(here)

    conversation.finder = {elsewhere.id(): elsewhere}.get

    assert conversation.find(elsewhere.id()) is elsewhere
    assert conversation.find(here.id()) is None


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_an_agent_has_a_conversation_of_its_own(copied: object) -> None:
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response="ok")))
    agent.llm_response("hello")
    before = agent.message_history_str()

    other = copied(agent)  # type: ignore[operator]
    other.message_history = []
    other.init_state()

    assert other.message_history == []
    assert agent.message_history_str() == before


def test_documents_of_messages_are_kept_where_they_are_wanted_and_as_long_as_the_messages() -> None:
    conversation = AgentHistory()
    conversation.keep_documents()
    spoken = [ChatDocument.from_str(f"message {n}") for n in range(4)]

    for document in spoken:
        conversation.messages.append(*ChatDocument.to_LLMMessage(document))
        conversation.ends_with(document)
    assert [conversation.find(document.id()) for document in spoken] == spoken

    del conversation.messages[1:]
    for n in range(3):
        del conversation.messages[1:]
        document = ChatDocument.from_str(f"another {n}")
        conversation.messages.append(*ChatDocument.to_LLMMessage(document))
        conversation.comes_from(document)
    assert conversation.find(spoken[0].id()) is spoken[0]
    assert conversation.find(spoken[1].id()) is None

    conversation.forget()
    assert conversation.find(spoken[0].id()) is None


def test_a_deep_copy_of_a_conversation_has_the_same_documents() -> None:
    conversation = AgentHistory()
    conversation.keep_documents()
    document = ChatDocument(content="hello", attachment=Lock())
    conversation.messages.append(*ChatDocument.to_LLMMessage(document))
    conversation.ends_with(document)

    other = copy.deepcopy(conversation)

    assert other.find(document.id()) is document
    other.forget()
    assert conversation.find(document.id()) is document
