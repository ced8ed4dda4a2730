"""A run that is observed, an observer that writes down what it was told, and observers that fail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage
from turnwise.serving.observer import HOOKS, Observer

Calls = list[str]

# The life of a run of `observed_app`.
FIRST_MOVE = ["around_move (", "move_began", "move_made", "events_stored", "run_started", "run_moved", ")"]
LATER_MOVE = ["around_move (", "move_began", "move_made", "events_stored", "step_ended", "run_moved", ")"]
LAST_MOVE = ["around_move (", "move_began", "move_made", "events_stored", "step_ended", "run_ended", "run_moved", ")"]
ACCEPTED = ["events_stored"]
CLAIM = ["ask_claimed"]
ANSWER = ["around_attempt (", "attempt_ended", "events_stored", "reply_stored", ")"]
LIFE = [FIRST_MOVE, CLAIM, ANSWER, LATER_MOVE, CLAIM, ANSWER, LAST_MOVE]
# The same run, carried on by whoever answers: the moves are made with the replies.
_MADE = ["around_attempt (", "attempt_ended", "around_move (", "move_began", "move_made", ")", "events_stored"]
ANSWER_AND_MOVE = [*_MADE, "reply_stored", "step_ended", "run_moved", ")"]
ANSWER_AND_END = [*_MADE, "reply_stored", "step_ended", "run_ended", "run_moved", ")"]
CARRIED = [CLAIM, ANSWER_AND_MOVE, CLAIM, ANSWER_AND_END]


class Look(ToolMessage):
    request: str = "look"
    purpose: str = "To look."

    def handle(self) -> str:
        return "DONE nothing there"


def observed_app() -> App:
    """An application whose task asks its model, which calls a tool, which ends the run."""
    app = App("observed")

    @app.task
    def desk() -> Task:
        agent = ChatAgent(ChatAgentConfig(name="Desk", llm=MockLMConfig(default_response='{"request": "look"}')))
        agent.enable_message(Look)
        return Task(agent, interactive=False)

    return app


class Seen(Observer):
    """The hooks that were called: by each piece of work of one thread, in the order in which the pieces began.

    A context is there as `around_move (` and `)`, and so is what is within it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._here = threading.local()
        self.work: list[Calls] = []
        self.moments: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def note(self, call: str) -> None:
        """Add to the work of this thread; a call that is in no context is a piece of work by itself."""
        with self._lock:
            if getattr(self._here, "depth", 0) == 0:
                self._here.calls = []
                self.work.append(self._here.calls)
            self._here.calls.append(call)

    @contextmanager
    def around(self, hook: str) -> Iterator[None]:
        """The context of such a hook."""
        self.note(f"{hook} (")
        self._here.depth = getattr(self._here, "depth", 0) + 1
        try:
            yield
        finally:
            self.note(")")
            self._here.depth -= 1


class Failing(Observer):
    """Raises at each hook; of a context, at its beginning."""


class FailingLater(Observer):
    """Raises at the end of each context."""


def _seen(hook: str) -> Callable[..., Any]:
    def call(self: Seen, *given: Any, **more: Any) -> AbstractContextManager[None] | None:
        self.moments.append((hook, given, more))
        if hook.startswith("around_"):
            return self.around(hook)
        self.note(hook)
        return None

    return call


def _failing(hook: str) -> Callable[..., Any]:
    def call(self: Failing, *given: Any, **more: Any) -> None:
        raise RuntimeError(f"{hook} is of no use")

    return call


@contextmanager
def _fails_at_its_end() -> Iterator[None]:
    try:
        yield
    finally:
        raise RuntimeError("the end is of no use")


for _hook in HOOKS:
    setattr(Seen, _hook, _seen(_hook))
    setattr(Failing, _hook, _failing(_hook))
    if _hook.startswith("around_"):
        setattr(FailingLater, _hook, lambda self, *given: _fails_at_its_end())
