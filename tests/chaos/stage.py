"""Servers, model, processes and people of one chaos run, from its beginning to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.chaos import faults, inbox, ledgers, model, webhooks
from tests.chaos.conversations import Conversation
from tests.chaos.fake_model import FakeModel
from tests.chaos.faults import Fault, Trouble
from tests.chaos.fleet import Fleet
from tests.chaos.people import People
from tests.chaos.record import Record
from tests.chaos.servers import Postgres, RabbitMQ, Redis, Server
from tests.e2e.processes import environment, run_command

from turnwise.client import Client

Broker = Literal["rabbitmq", "redis"]
# Workers that serve both kinds of queue carry runs on; the others hand them over.
SIZES = {"gateway": 1, "coordinator": 2, "llm": 1, "agent": 1, "worker": 2}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How a run is played: `gap` is the least number of seconds between two faults, `pace` 1 for tools and a model
    that take their time, `requests` is how many calls the provider lets through in a minute; `settings` are TURNWISE_*
    variables of all processes, in lower case.
    """

    broker: Broker
    seed: int
    at_once: int = 30
    gap: float = 3.0
    pace: float = 1.0
    requests: int = 150
    kinds: Sequence[faults.Kind] = (*faults.KILLS, *faults.FREEZES, *faults.OUTAGES, *faults.CONNECTIONS)
    sizes: Mapping[str, int] = field(default_factory=lambda: SIZES)
    settings: Mapping[str, str] = field(default_factory=dict)


class Stage:
    """Everything that runs; `with` starts and ends it."""

    def __init__(self, setting: Setting, folder: Path) -> None:
        self.setting = setting
        self.folder = folder
        self.tool_log = folder / "tools.jsonl"
        self._end = ExitStack()

    def __enter__(self) -> Stage:
        try:
            self._start()
        except BaseException:
            self._end.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end.close()

    def _start(self) -> None:
        folder = self.folder
        broker = RabbitMQ(folder / "rabbitmq") if self.setting.broker == "rabbitmq" else Redis(folder / "redis")
        self.database, self.broker = Postgres(folder / "postgres"), broker
        for server in (self.database, self.broker):
            self._end.callback(server.close)
            server.start()
        self._await_servers(self.database, self.broker)
        migrated = run_command(["migrate"], environment(database_url=self.database.url), folder)
        if migrated.returncode:
            raise RuntimeError(f"turnwise migrate failed: {migrated.stderr}")
        provider = FakeModel(folder / "model", pace=self.setting.pace, requests=self.setting.requests)
        self.model = self._end.enter_context(provider)
        self.receivers = self._end.enter_context(webhooks.Receivers())
        extra = {
            **webhooks.SETTINGS,
            "OPENAI_BASE_URL": self.model.base_url,
            "OPENAI_API_KEY": "none",
            ledgers.TOOL_LOG: str(self.tool_log),
            model.PACE: str(self.setting.pace),
            **{f"TURNWISE_{name.upper()}": value for name, value in self.setting.settings.items()},
        }
        self.fleet = Fleet(self.database, self.broker, folder, self.setting.sizes, extra)
        self._end.callback(self.fleet.stop)
        self.fleet.start()
        self.client = self._end.enter_context(Client(self.fleet.url))
        self.record = Record(self.database.url)

    def _await_servers(self, *servers: Server) -> None:
        for server in servers:
            server.await_answer()

    def people(self, conversations: Sequence[Conversation]) -> People:
        """Those who have these conversations."""
        resolve = inbox.Resolver(self.tool_log)
        webhook_of = self.receivers.of_case
        return People(self.client, self.record, conversations, resolve, webhook_of, at_once=self.setting.at_once)

    def trouble(self, tell: Callable[[str], None], planned: Iterator[Fault] | None = None) -> Trouble:
        """The faults `planned`, else those of the setting's seed."""
        if planned is None:
            planned = faults.plan(self.setting.seed, self.fleet.names, len(self.fleet.lanes), self.setting.kinds)
        servers = self.database, self.broker
        return Trouble(planned, self.fleet, *servers, self.record, tell, gap=self.setting.gap)
