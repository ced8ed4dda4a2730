"""An application whose workers end themselves with kill -9 at a point of a carried turn, when a test says which.

A test names the point in a file. The worker that comes to it for the fourth time takes the file away and dies, so that
it has carried the run over some turns before, and the next one does not.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage
from turnwise.record.values.records import Claim, RunRecord
from turnwise.serving.observer import Observer, Observers

app = App("carrier")

FOLDER = "CARRIER_FOLDER"
ACCEPTED = "accepted"
LAST = 6
_TIMES = 4
# Each is within the turn of an answer: claimed, the model thinks, the tool has had its effect, answered, the next move
# is made and not committed, the answer is on record and the worker has not gone on.
POINTS = ("claimed", "model", "effect", "answered", "moved", "stored")

_seen: Counter[str] = Counter()
_at_work: ContextVar[bool] = ContextVar("at_work", default=False)


def _folder() -> Path:
    return Path(os.environ[FOLDER])


def _wait_for_the_submitter() -> None:
    """Wait until a test has its run's id: embedded, the gateway dies with the worker, maybe before it answers."""
    while not (_folder() / ACCEPTED).exists():
        time.sleep(0.01)


def _log(what: str, key: str) -> None:
    with (_folder() / "log").open("a") as log:
        log.write(json.dumps([what, key]) + "\n")


def _reach(point: str) -> None:
    """Die here, if a test wants it and this was often enough."""
    armed = _folder() / f"kill-{point}"
    if not armed.exists():
        return
    _seen[point] += 1
    if _seen[point] == _TIMES:
        armed.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


class Killer(Observer):
    """Comes to the points that are within a worker, and in no coordinator."""

    def ask_claimed(self, claim: Claim) -> None:
        _reach("claimed")

    @contextmanager
    def around_attempt(self, claim: Claim) -> Iterator[None]:
        token = _at_work.set(True)
        try:
            yield
        finally:
            _at_work.reset(token)

    def attempt_ended(self, claim: Claim, outcome: Any) -> None:
        _reach("answered")

    def move_made(self, run: RunRecord) -> None:
        if _at_work.get():
            _reach("moved")

    def reply_stored(self, claim: Claim, *given: Any, **more: Any) -> None:
        _reach("stored")


_init = Observers.__init__


def _with_killer(self: Observers, *observers: Observer) -> None:
    _init(self, *observers, Killer())


if FOLDER in os.environ:
    setattr(Observers, "__init__", _with_killer)  # noqa: B010 - mypy refuses the assignment of a method


class Book(ToolMessage):
    """Its effect is a line in the log; called again with the same key, it changes nothing."""

    request: str = "book"
    purpose: str = "To book something."
    n: int
    _effect = "idempotent"

    def handle(self, idempotency_key: str) -> str:
        _log(f"book {self.n}", idempotency_key)
        _reach("effect")
        return f"{self.n} booked"


def _says(text: str) -> str:
    if text == "go":
        _wait_for_the_submitter()
    _log("model", text)
    _reach("model")
    n = 3 if text == "yes" else int(text.split()[0]) if text.endswith("booked") else 0
    if n == 3 and text != "yes":
        return "__SEND__:User Shall I go on?"
    return f"DONE {n} booked" if n == LAST else json.dumps({"request": "book", "n": n + 1})


@app.task
def clerk() -> Task:
    agent = ChatAgent(ChatAgentConfig(name="clerk", llm=MockLMConfig(response_fn=_says)))
    agent.enable_message(Book)
    return Task(agent, interactive=False)
