"""An answer that is handed over is linked to what was asked; a document that a program may hold stays as it is."""

from __future__ import annotations

import asyncio
import gc
from weakref import ref

import pytest

from turnwise import Callbacks, ChatAgent, ChatAgentConfig, ChatDocument, Entity, MockLMConfig, Task, ToolMessage

ASKED = "what is two and two?"


def test_an_answer_that_was_made_for_the_message_is_linked_as_it_is() -> None:
    asked, answer = ChatDocument(content=ASKED), ChatDocument(content="four")
    answer.made_for(asked)
    assert answer.parent is None  # until it is handed over

    linked = answer.as_answer_to(asked)

    assert linked is answer
    assert linked.metadata.parent_id == asked.id()
    assert linked.parent is asked


def test_an_answer_that_a_program_may_hold_is_linked_in_a_copy() -> None:
    asked, held = ChatDocument(content=ASKED), ChatDocument(content="four")

    linked = held.as_answer_to(asked)

    assert (linked.parent, linked.id(), linked.content) == (asked, held.id(), "four")
    assert (held.metadata.parent_id, held.parent) == ("", None)


def test_an_answer_that_was_made_for_another_message_is_linked_in_a_copy() -> None:
    asked, other, answer = (ChatDocument(content=text) for text in (ASKED, "and now?", "four"))
    answer.made_for(other)

    linked = answer.as_answer_to(asked)

    assert linked.parent is asked
    assert answer.metadata.parent_id == ""


def test_an_answer_that_is_linked_elsewhere_stays_so() -> None:
    asked, earlier = ChatDocument(content=ASKED), ChatDocument(content="and now?")
    answer = ChatDocument(content="four").answering(earlier)

    assert answer.as_answer_to(asked) is answer
    assert answer.parent is earlier


def test_the_message_itself_becomes_an_answer_of_its_own() -> None:
    asked = ChatDocument(content=ASKED)

    answer = asked.as_answer_to(asked)

    assert (answer.content, answer.parent) == (ASKED, asked)
    assert answer.id() != asked.id()
    assert asked.metadata.parent_id == ""


def test_no_message_leaves_an_answer_as_it_is() -> None:
    answer = ChatDocument(content="four")
    assert answer.as_answer_to(None) is answer
    assert answer.metadata.parent_id == ""


class Look(ToolMessage):
    request: str = "look"
    purpose: str = "To look something up."


@pytest.mark.parametrize("awaited", [False, True])
def test_a_document_that_a_handler_returns_again_and_again_is_never_changed(awaited: bool) -> None:
    kept = ChatDocument(content="nothing new")

    class Reader(ChatAgent):
        def look(self, tool: Look) -> ChatDocument:
            return kept

    agent = Reader(ChatAgentConfig(llm=MockLMConfig(response_fn=lambda text: '{"request": "look"}')))
    agent.enable_message(Look)
    before = kept.model_dump()

    task = Task(agent, interactive=False)
    result = asyncio.run(task.run_async("look", turns=6)) if awaited else task.run("look", turns=6)

    assert result is not None
    assert kept.model_dump() == before
    assert kept.parent is None


def test_answers_outside_of_a_run_hold_nothing_that_was_said_before() -> None:
    class Reader(ChatAgent):
        def look(self, tool: Look) -> str:
            return "nothing new"

    agent = Reader(ChatAgentConfig(llm=MockLMConfig(response_fn=lambda text: '{"request": "look"}')))
    agent.enable_message(Look)
    asked = ChatDocument(content=ASKED)
    seen = [ref(asked)]
    for _ in range(3):
        answer = agent.llm_response(asked)
        assert answer is not None
        found = agent.agent_response(answer)
        assert found is not None
        asked = found
        seen += [ref(answer), ref(asked)]
        del answer, found

    gc.collect()
    assert [held() for held in seen[:-1]] == [None] * 6
    assert asked.metadata.parent_id == ""


def test_a_document_that_a_program_makes_of_answers_is_never_changed() -> None:
    kept = ChatDocument(content="nothing new")

    class Reader(ChatAgent):
        def look(self, tool: Look) -> str:
            return "nothing new"

        def to_ChatDocument(self, *given: object, **named: object) -> ChatDocument:
            return kept

    agent = Reader(ChatAgentConfig(llm=MockLMConfig(response_fn=lambda text: '{"request": "look"}')))
    agent.enable_message(Look)

    Task(agent, interactive=False).run("look", turns=6)

    assert kept.metadata.parent_id == ""


def test_answers_that_a_handler_asks_for_hold_nothing_that_was_said_before() -> None:
    helper = ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_fn=lambda text: "go on")))
    seen: list[ref[ChatDocument]] = []

    class Asker(ChatAgent):
        def look(self, tool: Look) -> str:
            said = ChatDocument(content=ASKED)
            for _ in range(5):
                answer = helper.llm_response(said)
                assert answer is not None
                seen.append(ref(said))
                said = answer
            return "done"

    agent = Asker(ChatAgentConfig(llm=MockLMConfig(response_fn=lambda text: '{"request": "look"}')))
    agent.enable_message(Look)
    Task(agent, interactive=False).run("look", turns=2)

    gc.collect()
    assert [held() for held in seen] == [None] * 5


def test_a_sender_that_is_written_as_text_is_as_untrusted_as_the_entity() -> None:
    class Wipe(ToolMessage):
        request: str = "wipe"
        purpose: str = "To wipe everything."

        def handle(self) -> str:
            return "WIPED"

    agent = ChatAgent(ChatAgentConfig())
    agent.enable_message(Wipe, use=False, handle=True)
    typed = ChatDocument(content='{"request": "wipe"}')
    typed.metadata.sender = "User"  # type: ignore[assignment]

    assert agent.get_tool_messages(typed) == []
    assert agent.agent_response(typed) is None


@pytest.mark.parametrize("asked_by", ["callback", "default"])
def test_a_persons_answer_that_is_not_taken_knows_what_was_asked(asked_by: str) -> None:
    refused: list[ChatDocument] = []

    class Listening(Task):
        def log_message(self, resp: object, msg: ChatDocument | None = None, mark: bool = False) -> None:
            if resp == Entity.USER and not mark and msg is not None:
                refused.append(msg)

    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response="May I?")))
    agent.callbacks = Callbacks(get_user_response=lambda **_: "DO-NOT-KNOW")
    default = "DO-NOT-KNOW" if asked_by == "default" else None

    Listening(agent, interactive=True, only_user_quits_root=False, default_human_response=default).run("go", turns=3)

    assert [(said.content, said.parent.content if said.parent else None) for said in refused[-1:]] == [
        ("DO-NOT-KNOW", "May I?")
    ]
