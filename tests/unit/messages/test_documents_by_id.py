"""Messages are found by what holds them: a reference, or their conversation; by no table of the process."""

from __future__ import annotations

import gc
from weakref import ref

import pytest

from turnwise import ChatAgent, ChatAgentConfig, ChatDocument, Entity, MockLMConfig, Task, ToolMessage
from turnwise.machine import machine
from turnwise.machine.facts import Facts
from turnwise.messages.wire import decode_document, encode_document


class Look(ToolMessage):
    request: str = "look"
    purpose: str = "To look around."

    def handle(self, chat_doc: ChatDocument) -> str:
        question = chat_doc.parent
        assert question is not None
        assert ChatDocument.from_id(chat_doc.id()) == chat_doc
        return f"DONE after {question.content}"


def looking() -> Task:
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response='{"request": "look"}')))
    agent.enable_message(Look)
    return Task(agent, name="look", interactive=False)


def test_the_messages_of_a_script_are_linked_and_found() -> None:
    task = looking()
    result = task.run("hello")

    assert result is not None
    assert result.content == "after hello"
    answer = result.parent
    assert answer is not None
    call = answer.parent
    assert call is not None
    assert (call.metadata.sender, call.child, ChatDocument.from_id(call.id())) == (Entity.LLM, answer, call)
    assert call.parent is not None
    assert call.parent.child is call


def test_a_message_of_no_conversation_is_found_by_no_id() -> None:
    message = ChatDocument(content="alone")

    assert ChatDocument.from_id(message.id()) is None
    assert ChatDocument.from_id(ChatDocument.deepcopy(message).id()) is None
    assert (message.parent, message.child) == (None, None)


def test_an_id_that_was_deleted_is_not_found_and_the_message_stays() -> None:
    result = looking().run("hello")
    assert result is not None
    answer = result.parent
    assert answer is not None

    ChatDocument.delete_id(answer.id())

    assert ChatDocument.from_id(answer.id()) is None
    assert result.parent is answer


def test_ids_keep_no_conversation_in_memory() -> None:
    task = looking()
    result = task.run("hello")
    assert result is not None
    gone, known = ref(result.parent), result.metadata.parent_id
    task._view = None

    del result
    gc.collect()

    assert gone() is None
    assert ChatDocument.from_id(known) is None


def test_a_message_of_another_process_is_linked_by_its_resolver_alone() -> None:
    question, answer = ChatDocument(content="?"), ChatDocument(content="!")
    answer.answers(question)
    read = decode_document(encode_document(answer), {}, {question.id(): question}.get)

    assert read.parent is question
    assert decode_document(encode_document(answer), {}).parent is None


def test_a_move_leaves_nothing_behind_in_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    task = looking()
    tree = task.tree()
    known = ref(ChatDocument(content="x"))
    facts = Facts(agent=lambda key: tree.agents[key].facts(), new_id=iter(f"doc_{n}" for n in range(9)).__next__)
    move = machine.start(tree.root, ChatDocument(content="go"), facts)

    pending = move.state.pending
    assert pending is not None
    assert ChatDocument.from_id(pending.id()) is None
    assert known() is None
