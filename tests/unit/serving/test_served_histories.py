"""Histories of served runs: every ask is answered by a fresh agent, so what lasts is what was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from tests.support.databases import fresh_sqlite
from tests.support.served_parts import Desk

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    ChatDocument,
    LLMMessage,
    LLMResponse,
    MockLMConfig,
    Role,
    Task,
    ToolMessage,
)
from turnwise.models.language_model import LanguageModel
from turnwise.models.mock import MockLM
from turnwise.record.store import Store
from turnwise.record.values.records import AgentRecord, HistoryRow
from turnwise.serving.moves.permits import permit

LONG = "word " * 700  # 1000 tokens


class Watched(MockLM):
    """Keeps what it was sent."""

    def __init__(self, config: MockLMConfig, sent: list[list[LLMMessage]]) -> None:
        super().__init__(config)
        self._sent = sent

    def answer(self, messages: Sequence[LLMMessage], *args: Any, **more: Any) -> LLMResponse:
        self._sent.append(list(messages))
        return super().answer(messages, *args, **more)


@contextmanager
def served(make: Callable[[], Task], directory: Path) -> Iterator[Desk]:
    app = App("tests")
    app.task(name="desk")(make)
    database = fresh_sqlite(directory / "turnwise.db")
    try:
        with Desk(Store(database), app) as desk:
            yield desk
    finally:
        database.close()


def rows(desk: Desk, run: str) -> list[HistoryRow]:
    return desk.store.inspector.history(run, "desk")


def contents(desk: Desk, run: str) -> list[str]:
    return [str(row.body["content"]) for row in rows(desk, run)]


def saved(desk: Desk, run: str) -> AgentRecord:
    with desk.store.coordinator.locked(run) as transaction:
        return transaction.agent("desk")


def an_agent(model: LanguageModel, kind: type[ChatAgent] = ChatAgent, **config: Any) -> ChatAgent:
    agent = kind(ChatAgentConfig(name="desk", system_message="Be brief.", **config))
    agent.llm = model
    return agent


class Look(ToolMessage):
    request: str = "look"
    purpose: str = "To look."

    def handle(self) -> str:
        return f"seen {LONG}"


class Glance(Look):
    _max_retained_tokens: int | None = 10


LOOK = '{"request": "look"}'


def looking(
    times: int, tool: type[ToolMessage], sent: list[list[LLMMessage]], *, erase: bool = False, **config: Any
) -> Callable[[], Task]:
    """A model that looks so many times and is done."""

    def task() -> Task:
        def answer(_: str) -> str:
            return "DONE" if len(sent) > times else LOOK

        limits: dict[str, Any] = {"max_output_tokens": 400, "min_output_tokens": 100}
        agent = an_agent(Watched(MockLMConfig(response_fn=answer, **limits, **config), sent))
        agent.enable_message(tool)
        return Task(agent, interactive=False, erase_substeps=erase)

    return task


def test_a_served_conversation_goes_on_beyond_its_models_context(tmp_path: Path) -> None:
    sent: list[list[LLMMessage]] = []
    with served(looking(8, Look, sent, chat_context_length=5000), tmp_path) as desk:
        run = desk.go_on(desk.submit("desk"))

        assert (run.status, run.status_code) == ("completed", "DONE")
        stored = rows(desk, run.id)
        assert [row.body["content"] for row in stored[2::2]] == [f"seen {LONG}"] * 8
        assert len(stored) == 18
        assert [row.tokens for row in stored[2::2]] == [1006] * 8
        assert stored[-1].total == sum(row.tokens for row in stored)
        assert 0 < (saved(desk, run.id).record or {})["fitted"] < len(stored)

    shortened = [sum("truncated" in message.content for message in messages) for messages in sent]
    assert shortened[-1] > 0
    assert shortened == sorted(shortened)
    for before, after in pairwise(sent):
        old = [message.content for message in before[1:] if "truncated" in message.content]
        assert old == [message.content for message in after[1:] if "truncated" in message.content][: len(old)]


def test_a_served_conversation_that_can_not_fit_ends_with_the_reason(tmp_path: Path) -> None:
    with served(looking(8, Look, [], chat_context_length=500), tmp_path) as desk:
        run = desk.go_on(desk.submit("desk"))

        assert (run.status, run.status_code) == ("failed", "ERROR")
        assert run.error is not None
        assert run.error.code == "context_overflow"
        assert "the context takes 500" in run.error.message


def test_a_result_is_shortened_for_later_calls_in_served_runs_too(tmp_path: Path) -> None:
    sent: list[list[LLMMessage]] = []
    with served(looking(2, Glance, sent), tmp_path) as desk:
        run = desk.go_on(desk.submit("desk"))

        assert contents(desk, run.id)[2::2] == [f"seen {LONG}"] * 2
    assert [len(message.content) for message in sent[2][3::2]] == [69, 3505]


class Editor(ChatAgent):
    """Does to its history what a test wants, each time that it is to answer."""

    edit: Callable[[ChatAgent], object]

    def handle_message_fallback(self, msg: Any) -> str | None:
        del msg
        if len(self.message_history) != 3:
            return None
        type(self).edit(self)
        return "go on"


EDITS: dict[str, tuple[Callable[[ChatAgent], object], list[str]]] = {
    "replaced": (lambda agent: agent.update_last_message("HELLO"), ["HELLO", "one", "go on", "DONE"]),
    "put in": (
        lambda agent: agent.message_history.__setitem__(1, LLMMessage(role=Role.USER, content="HELLO")),
        ["HELLO", "one", "go on", "DONE"],
    ),
    "assigned": (
        lambda agent: setattr(agent, "message_history", [*agent.message_history[:1], *agent.message_history[2:]]),
        ["one", "go on", "DONE"],
    ),
    "dropped": (lambda agent: agent.delete_last_message(Role.ASSISTANT), ["hello", "go on", "DONE"]),
    "cleared": (lambda agent: agent.clear_history(0), ["go on", "DONE"]),
    "one taken out": (lambda agent: agent.clear_history(1, 1), ["one", "go on", "DONE"]),
    "truncated": (
        lambda agent: agent.truncate_message(1, 1),
        ["hel\n...[Contents truncated!]", "one", "go on", "DONE"],
    ),
    "reversed": (lambda agent: agent.message_history.reverse(), ["one", "hello", "Be brief.", "go on", "DONE"]),
    "appended": (lambda agent: agent.update_history("a", "b"), ["hello", "one", "a", "b", "go on", "DONE"]),
    "not changed": (lambda agent: agent.message_history_str(), ["hello", "one", "go on", "DONE"]),
    "asked aside": (lambda agent: agent.llm_response_forget("aside"), ["hello", "one", "go on", "DONE"]),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_a_history_lasts_in_a_served_run(tmp_path: Path, name: str) -> None:
    edit, expected = EDITS[name]

    class Now(Editor):
        pass

    Now.edit = edit

    def task() -> Task:
        model = MockLM(MockLMConfig(response_fn=lambda said: "DONE" if said == "go on" else "one"))
        return Task(an_agent(model, Now), interactive=False)

    with served(task, tmp_path) as desk:
        run = desk.go_on(desk.submit("desk"))

        assert run.status_code == "DONE"
        assert contents(desk, run.id) == expected


def test_a_history_that_is_only_added_to_is_never_written_again(tmp_path: Path) -> None:
    sent: list[list[LLMMessage]] = []
    with served(looking(3, Look, sent), tmp_path) as desk:
        run = desk.go_on(desk.submit("desk"))

        assert saved(desk, run.id).history_epoch == 0


def test_where_the_steps_of_a_task_are_erased_so_is_the_mark_on_them(tmp_path: Path) -> None:
    sent: list[list[LLMMessage]] = []
    with served(looking(8, Look, sent, erase=True, chat_context_length=5000), tmp_path) as desk:
        run = desk.go_on(desk.submit("desk"))

        assert contents(desk, run.id) == ["hello", "DONE"]
        assert saved(desk, run.id).record == {"fitted": 2}
    assert any("truncated" in message.content for message in sent[-1])


class Scored(ChatAgent):
    """Its state cannot be kept after its first answer, which has no number that JSON has."""

    class State(BaseModel):
        score: float = 0.0

    def llm_response(self, message: Any = None) -> ChatDocument | None:
        answer = super().llm_response(message)
        self.state.score = float("nan") if answer is not None and "first" in answer.content else 1.0
        return answer


def test_an_answer_that_was_refused_is_in_no_later_prompt(tmp_path: Path) -> None:
    sent: list[list[LLMMessage]] = []
    said = iter(["the first", LOOK, "DONE"])
    model = Watched(MockLMConfig(response_fn=lambda _: next(said)), sent)

    def make() -> Task:
        agent = an_agent(model, Scored)
        agent.enable_message(Glance)
        return Task(agent, interactive=False)

    with served(make, tmp_path) as desk:
        run = desk.submit("desk")
        assert desk.go_on(run).status == "failed"
        _, ask = desk.store.tenant("default").retry(run)
        assert ask is not None
        assert desk.responders.answer(permit(ask))
        assert desk.go_on(run).status == "completed"
    assert [message.content for message in sent[2][1:3]] == ["hello", LOOK]
