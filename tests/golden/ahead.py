"""Playing over HTTP: an installation, its models, and several scenarios at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Protocol
from unittest import mock

from tests.e2e.installation import Embedded, distributed_on
from tests.support.brokers import fresh_rabbitmq, fresh_redis

from turnwise.client import Client
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.testing.fake_llm.server import FakeLLMServer

from .http_player import HttpPlayer
from .model import DEFAULT_TURN_LIMIT, Scenario
from .model_server import ScriptedModels
from .record import Observation

# A slow machine must not look like a dead worker, whose work another takes over: that would be another call of a model.
# And nothing is killed here, so there is little to beat and sweep for.
_SETTINGS: dict[str, Any] = {
    "lease_seconds": "60",
    "beat_seconds": "5",
    "sweep_seconds": "3",
    "max_turns": str(DEFAULT_TURN_LIMIT),
}
_AT_ONCE = 4


class Installation(Protocol):
    """The installation that serves the scenarios: its address and its record."""

    url: str
    database: str


Start = Callable[[Path], AbstractContextManager[Installation]]


@contextmanager
def embedded(folder: Path) -> Iterator[Installation]:
    """`turnwise up`."""
    installation = Embedded(folder, "tests.golden.application:everything", **_SETTINGS)
    try:
        yield installation
    finally:
        installation.stop()


def over_rabbitmq(folder: Path) -> AbstractContextManager[Installation]:
    """A gateway, a coordinator and two workers as processes, on PostgreSQL and RabbitMQ."""
    return distributed_on(fresh_rabbitmq, folder, "tests.golden.application:a_third", **_SETTINGS)


def over_redis(folder: Path) -> AbstractContextManager[Installation]:
    """The same on Redis."""
    return distributed_on(fresh_redis, folder, "tests.golden.application:a_third", **_SETTINGS)


class Ahead:
    """Plays scenarios in order, some of them before somebody asks for what came out."""

    def __init__(self, play: Callable[[Scenario], Observation], scenarios: Sequence[Scenario]) -> None:
        self._play = play
        self._scenarios = scenarios
        self._places = {scenario.id: place for place, scenario in enumerate(scenarios)}
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="golden")
        self._played: dict[str, Future[Observation]] = {}

    def play(self, scenario: Scenario) -> Observation:
        """Play the scenario once and return what was seen of it; raises what its player raised."""
        place = self._places[scenario.id]
        for one in self._scenarios[place : place + 2 * _AT_ONCE]:
            if one.id not in self._played:
                self._played[one.id] = self._threads.submit(self._play, one)
        return self._played[scenario.id].result()

    def stop(self) -> None:
        """Return when the last one that was begun is over."""
        self._threads.shutdown(cancel_futures=True)


@contextmanager
def playing(start: Start, scenarios: Sequence[Scenario], folder: Path) -> Iterator[Ahead]:
    """Start an installation and its models, from here to the end of the `with` block."""
    models = ScriptedModels(scenarios)
    with FakeLLMServer(models) as server, ExitStack() as stack:
        # The processes that start here look for their models here; others may look elsewhere.
        with mock.patch.dict(os.environ, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="none"):
            installation = stack.enter_context(start(folder))
        client = stack.enter_context(Client(installation.url))
        database = stack.enter_context(closing(Database(installation.database)))
        player = HttpPlayer(client, models, Store(database, lease_seconds=60))
        ahead = Ahead(player.play, scenarios)
        stack.callback(ahead.stop)
        yield ahead
