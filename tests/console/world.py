"""A server of the shop's desk with runs of every status, for tests of the console and for its pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

from tests.console.office import answer, app
from tests.e2e.waiting import until

from turnwise import App
from turnwise.api.runs import RunView
from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.errors import ConflictError
from turnwise.processes.settings import load_settings
from turnwise.testing.fake_llm.script import Answerer
from turnwise.testing.fake_llm.server import FakeLLMServer

UNFINISHED = ("queued", "running", "waiting")


@dataclass(kw_only=True)
class Shop:
    """The server, a client of it, and the ids of the runs that `fill` has made, by what became of them."""

    url: str
    client: Client
    folder: Path
    runs: dict[str, str] = field(default_factory=dict)

    def submit(self, name: str, task: str, message: str, **more: Any) -> str:
        """A new run, which is kept under that name."""
        run = self.client.submit(task, message, **more)
        self.runs[name] = run.id
        return run.id

    def batch(self, name: str, *messages: str) -> str:
        """The id of a new batch of the task support with these items, sealed."""
        batch = self.client.open_batch("support", name=name, max_cost=Decimal(5))
        self.client.add_batch_items(batch.id, 1, [{"message": text} for text in messages])
        self.client.seal_batch(batch.id)
        return batch.id

    def reaches(self, name: str, is_there: Callable[[RunView], bool]) -> None:
        """Wait until the run of that name has come so far."""
        until(lambda: is_there(self.client.run(self.runs[name])), f"the run {name}")

    def fill(self) -> None:
        """Make runs of every status."""
        self._ended()
        self._waiting()
        self.submit("running", "newsletter", "Write the newsletter, slow and with care", tags=["marketing"])
        self.reaches("running", lambda run: run.status == "running")

    def _ended(self) -> None:
        self.submit("completed", "handbook", "How do I descale the kettle?", tags=["question"])
        self.submit("rejected", "support", "Take a guess about order 4713, where is it?", tags=["email"])
        self.submit("failed", "support", "See the unreadable picture of order 4711", tags=["email", "picture"])
        self.submit("refused", "support", "I want a refund for order 4711", session_id="customer-17", tags=["email"])
        self.reaches("refused", is_asked)
        self.client.answer(self.runs["refused"], "no, it was returned unused")
        for name in ("completed", "rejected", "failed", "refused"):
            self.reaches(name, has_ended)

    def _waiting(self) -> None:
        self.submit(
            "question",
            "support",
            "Please refund order 4711, the kettle leaks",
            session_id="customer-18",
            tags=["email"],
        )
        self.submit("parked", "support", "Please refund order 4712, both lamps are broken", tags=["phone"])
        self.submit(
            "budget", "handbook", "Is the kettle safe?", max_cost=Decimal("0.001"), on_limit="wait", tags=["question"]
        )
        self.submit("cancelled", "concierge", "I only wanted to look around", tags=["chat"])
        self.submit("chat", "concierge", "Hello, where is my order 4713?", session_id="chat-3", tags=["chat"])
        for name in ("question", "parked", "budget", "cancelled", "chat"):
            self.reaches(name, lambda run: run.status == "waiting")
        self.submit("queued", "support", "And refund order 4713 as well", session_id="customer-18", tags=["email"])
        self.client.cancel(self.runs["cancelled"])
        self.reaches("cancelled", has_ended)

    def empty(self) -> None:
        """End what is still going on, so that the server stops at once."""
        for status in UNFINISHED:
            for run in self.client.runs(status=status).items:
                try:
                    self.client.cancel(run.id)
                except ConflictError:
                    continue


def has_ended(run: RunView) -> bool:
    return run.status not in UNFINISHED


def is_asked(run: RunView) -> bool:
    return run.status == "waiting"


@contextmanager
def shop(
    folder: Path, *, application: App = app, model: Answerer = answer, token: str | None = None, **settings: Any
) -> Iterator[Shop]:
    """The shop's desk, or another application with its `model`, served in this process for the time of the `with`
    block; `token` is that of its client.
    """
    with (
        FakeLLMServer(model) as llm,
        mock.patch.dict(os.environ, {"OPENAI_BASE_URL": llm.base_url, "OPENAI_API_KEY": "none"}),
    ):
        made = load_settings(**{"database_url": f"sqlite:///{folder / 'shop.db'}", "bind": "127.0.0.1:0"} | settings)
        with EmbeddedServer(made, application) as server, Client(server.url, token=token) as client:
            here = Shop(url=server.url, client=client, folder=folder)
            try:
                yield here
            finally:
                here.empty()
