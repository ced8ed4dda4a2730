"""Callbacks that an application's factory sets, in served runs."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any

import pytest
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage
from turnwise.bus.envelope import Notice, TextNotice
from turnwise.observability.display import current_settings
from turnwise.record.store import Store


class Look(ToolMessage):
    request: str = "look"
    purpose: str = "To look."

    def handle(self) -> str:
        return "nothing there"


class Breaks(Look):
    def handle(self) -> str:
        raise ValueError("my eyes!")


def desk_app(seen: list[Any], tool: type[ToolMessage] = Look) -> App:
    app = App("callbacks")

    @app.task
    def desk() -> Task:
        llm = MockLMConfig(stream=True, response_fn=_model)
        clerk, scout = (ChatAgent(ChatAgentConfig(name=name, llm=llm)) for name in ("Clerk", "Scout"))
        for agent in (clerk, scout):
            _watch(agent, seen)
        scout.enable_message(tool)
        task = Task(clerk, interactive=False)
        sub = Task(scout, interactive=False)
        task.add_sub_task(sub)
        task.callbacks.show_subtask_response = lambda task, content: seen.append(("sub-task", task.name, content))
        return task

    return app


def _model(text: str) -> str:
    answers = {"hello": "Scout, look!", "Scout, look!": '{"request": "look"}', "nothing there": "DONE Nothing."}
    return answers.get(text, "DONE So it is.")


def _watch(agent: ChatAgent, seen: list[Any]) -> None:
    name, callbacks = agent.config.name, agent.callbacks
    callbacks.start_llm_stream = lambda: lambda text: seen.append((name, "token", text))
    callbacks.finish_llm_stream = lambda content: seen.append((name, "finished", content))
    callbacks.show_agent_response = lambda content: seen.append((name, "agent", content))
    callbacks.show_error_message = lambda error: seen.append((name, "error", error))
    callbacks.set_parent_agent = lambda parent: seen.append((name, "parent", parent.config.name))


def _texts(notices: SimpleQueue[Notice], n: int) -> list[str]:
    """The first `n` pieces of text that the bus told of."""
    texts: list[str] = []
    while len(texts) < n:
        notice = notices.get(timeout=10)
        texts += [piece.text for piece in notice.pieces] if isinstance(notice, TextNotice) else []
    return texts


def test_callbacks_are_called_where_things_happen_and_watchers_hear_the_text_as_well(store: Store) -> None:
    seen: list[Any] = []
    notices: SimpleQueue[Notice] = SimpleQueue()
    with Desk(store, desk_app(seen)) as desk:
        run_id = desk.submit("desk")
        desk.watch(run_id, notices.put)

        run = desk.go_on(run_id)

        heard = _texts(notices, 4)
    assert run.status == "completed"
    assert seen == [
        ("Clerk", "token", "Scout, look!"),
        ("Clerk", "finished", "Scout, look!"),
        ("Scout", "parent", "Clerk"),
        ("Scout", "token", '{"request": "look"}'),
        ("Scout", "finished", '{"request": "look"}'),
        ("Scout", "agent", "nothing there"),
        ("Scout", "token", "DONE Nothing."),
        ("Scout", "finished", "DONE Nothing."),
        ("sub-task", "Scout", "Nothing."),
        ("Clerk", "token", "DONE So it is."),
        ("Clerk", "finished", "DONE So it is."),
    ]
    assert heard == [item[2] for item in seen if item[1] == "token"]


def test_an_error_is_told_and_ends_the_run_all_the_same(store: Store) -> None:
    seen: list[Any] = []
    with Desk(store, desk_app(seen, Breaks)) as desk:
        run = desk.go_on(desk.submit("desk"))

    assert ("Scout", "error", "my eyes!") in seen
    assert run.status == "failed"
    assert run.error is not None
    assert run.error.message == "my eyes!"


def test_a_task_callback_that_fails_is_logged_and_the_run_goes_on(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    app = desk_app([])

    def fail(**_: object) -> None:
        raise RuntimeError("the window is closed")

    app.tree("desk").tasks["Clerk"].callbacks.show_subtask_response = fail
    with Desk(store, app) as desk:
        run = desk.go_on(desk.submit("desk"))

    assert run.status == "completed"
    assert "A callback failed after a move" in caplog.text


def test_whatever_a_handler_runs_on_the_side_is_not_shown_on_a_server_s_terminal(store: Store) -> None:
    quiet: list[bool] = []

    class Ask(Look):
        def handle(self) -> str:
            quiet.append(current_settings().quiet)
            return "nothing there"

    with Desk(store, desk_app([], Ask)) as desk:
        desk.go_on(desk.submit("desk"))

    assert quiet == [True]
    assert not current_settings().quiet
