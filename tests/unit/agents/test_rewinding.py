"""Messages that a model takes back after the documents of the conversation are gone."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from tests.support.databases import fresh_sqlite
from tests.support.served_parts import Desk

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    LLMMessage,
    MockLMConfig,
    RewindTool,
    Role,
    Task,
    TaskConfig,
)
from turnwise.record.store import Store

SAYS = ("start", "mid", "again")


def made(question: str) -> Task:
    """Boss asks Bob, not Eve, and takes that back in a later run."""
    lines = {
        "start": question,
        "old answer": "DONE asked",
        "mid": "DONE mid",
        "again": '{"request": "rewind_tool", "n": 1, "content": "new question"}',
        "new answer": "DONE by Bob",
    }
    boss = ChatAgent(ChatAgentConfig(name="Boss", llm=MockLMConfig(response_fn=lambda text: lines.get(text, "DONE"))))
    boss.enable_message(RewindTool)

    def sub_task(name: str, old: str, new: str) -> Task:
        model = MockLMConfig(response_fn=lambda text: old if "old" in text else new)
        return Task(ChatAgent(ChatAgentConfig(name=name, llm=model)), interactive=False)

    task = Task(boss, interactive=False, restart=False, config=TaskConfig(addressing_prefix="@"))
    task.add_sub_task(
        [sub_task("Eve", "DONE by Eve", "DONE by Eve"), sub_task("Bob", "DONE old answer", "DONE new answer")]
    )
    return task


QUESTIONS = ("TO[Bob]: old question", "@Bob old question")


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_said_in_place_of_a_message_goes_to_whom_that_went_also_when_its_document_is_gone(
    question: str,
) -> None:
    task, answers = made(question), []
    for text in SAYS:
        result = task.run(text)
        answers.append(result.content if result is not None else "")
        del result
        gc.collect()

    assert answers == ["asked", "mid", "by Bob"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_it_goes_there_in_a_served_run_as_well(question: str, tmp_path: Path) -> None:
    app = App("tests")
    app.task(name="boss")(lambda: made(question))
    database = fresh_sqlite(tmp_path / "runs.db")
    with Desk(Store(database), app) as desk:
        runs = [desk.go_on(desk.submit("boss", text, session_id="s")) for text in SAYS]
    database.close()

    assert [run.result["content"] if run.result else None for run in runs] == ["asked", "mid", "by Bob"]


def test_what_is_said_in_place_of_tainted_words_is_tainted_also_when_their_document_is_gone() -> None:
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig()))
    agent.message_history = [
        agent.system_and_tools_message(),
        LLMMessage(role=Role.ASSISTANT, content="typed", chat_document_id="doc_gone", tainted=True),
    ]

    said = RewindTool(n=1, content="else").response(agent)

    assert isinstance(said, ChatDocument)
    assert said.metadata.tainted
