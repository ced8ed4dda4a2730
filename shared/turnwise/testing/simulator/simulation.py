"""One schedule: an installation, its clients, what goes wrong, and what is on record in the end."""

from __future__ import annotations

import itertools
import logging
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from prometheus_client import CollectorRegistry

from turnwise.app import App
from turnwise.base.ids import ids_from
from turnwise.errors import EnvironmentFault
from turnwise.processes.metrics import Metrics
from turnwise.processes.settings import ServiceSettings
from turnwise.record.database.database import Database
from turnwise.record.database.database_url import file_url
from turnwise.record.roles.inspector import InspectorRole
from turnwise.record.store import Store
from turnwise.testing.models import Pacing, ProviderStandIn, copy_of
from turnwise.testing.simulator.clients import Clients, Conversation, Human, Operator
from turnwise.testing.simulator.faults import Faults
from turnwise.testing.simulator.fleet import Fleet
from turnwise.testing.simulator.limits import LimitsWatch
from turnwise.testing.simulator.promises import Violation
from turnwise.testing.simulator.record_copy import History
from turnwise.testing.simulator.webhooks import delivered
from turnwise.testing.simulator.world import EPOCH, World

# Simulated seconds within which all has to be at rest once nothing goes wrong.
_PATIENCE = 400.0
_LOOK = 0.5
# Lines of errors that the application raised: they are on record, and a part of its scenario.
_OF_APPLICATION = ("handler_failed", "application_failed")
_PROCESSES = ("gateway-1", "coordinator-1", "coordinator-2", "worker-1", "worker-2")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a schedule."""

    seed: int
    history: History
    accepted: dict[int, str]
    violations: list[Violation] = field(default_factory=list)
    story: list[tuple[float, str, str]] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    killed_at: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


class Installation:
    """The parts that schedules share: an empty record to copy, connections, and each process's copy of the
    application.
    """

    def __init__(self, app: App, directory: Path, provider: ProviderStandIn | None = None) -> None:
        self.provider = provider
        self._time: Callable[[], float] = lambda: EPOCH
        self._empty, self._file = directory / "empty.db", directory / "record.db"
        template = Database(file_url(self._empty))
        template.migrate()
        template.close()
        self.database = Database(file_url(self._file), clock=lambda: self._time())
        # A process makes a few agents only once, when it makes its first: they must take none of the ids that follow.
        copy_of(app)
        with ids_from(_counted()):
            self.apps = {name: copy_of(app) for name in _PROCESSES}
        self.apis: dict[str, Any] = {}
        # No one reads them, and they take long to make.
        self.metrics = Metrics(CollectorRegistry())
        self.pacings = [Pacing(copied, provider) for name, copied in self.apps.items() if name.startswith("worker")]

    def begin(self, world: World) -> None:
        """An empty record, in the time of `world`."""
        self.database.close()
        for end in ("", "-wal", "-shm"):
            self._file.with_name(self._file.name + end).unlink(missing_ok=True)
        shutil.copyfile(self._empty, self._file)
        self._time = world.time_of_day
        for pacing in self.pacings:
            pacing.world = world
        if self.provider is not None:
            self.provider.begin(world)

    def close(self) -> None:
        """Let go of the record."""
        self.database.close()


def simulate(
    installation: Installation,
    conversations: Mapping[int, Conversation],
    settings: ServiceSettings,
    human: Human,
    operator: Operator,
    faults: Callable[[Random], Faults],
    seed: int,
) -> Outcome:
    """Run one schedule to its end; the promises are the caller's to check."""
    random = Random(seed)
    world = World(random, faults(random))
    installation.begin(world)
    fleet = Fleet(world, installation.database, installation.apps, installation.apis, settings, installation.metrics)
    clients = Clients(world, fleet, conversations, human, operator)
    store = Store(installation.database)
    record = store.inspector
    with _listening() as logged, ids_from(world.new_id), world.schedule.directed():
        limits = LimitsWatch(record)
        if _limited(conversations, settings):
            world.after_each_commit = limits.look
        fleet.start()
        clients.start()
        stuck = _direct(world, fleet, clients, record)
    history = History.of(store)
    errors = [*fleet.errors, *(error for _, error in world.schedule.failures)]
    violations = [
        *stuck,
        *delivered(history, fleet.receiver.received),
        *limits.found,
        *(installation.provider.broken_promises() if installation.provider is not None else ()),
        *(Violation(promise="no surprise", sentence=f"a process failed with {error!r}") for error in errors),
        *(Violation(promise="no surprise", sentence=f"a process logged an error: {text}") for text in logged),
        *(Violation(promise="commit first", sentence=text) for text in world.faulty),
        *(Violation(promise="no surprise", sentence=f"a client was refused: {text}") for text in clients.refused),
    ]
    return Outcome(
        seed=seed,
        history=history,
        accepted=clients.accepted,
        violations=violations,
        story=world.story,
        faults=world.counts,
        killed_at=world.killed_at,
        seconds=world.schedule.now,
    )


def _direct(world: World, fleet: Fleet, clients: Clients, record: InspectorRole) -> list[Violation]:
    """Let time go by until everything is at rest; what is wrong if it never is."""
    schedule = world.schedule
    asked = False
    while schedule.now < world.faults.until + _PATIENCE:
        schedule.wait(_LOOK)
        if not clients.done or fleet.working:
            continue
        counts = record.run_counts()
        if not any(counts.get(status) for status in ("queued", "running", "waiting")):
            world.calm()
            if fleet.at_rest and _all_given_back(record):
                return []
        elif record.open_question_count():
            if not asked:
                clients.answer_questions()
            asked = not asked
    return [Violation(promise="accepted is kept", sentence=f"nothing came to rest within {schedule.now:.0f} s")]


def _limited(conversations: Mapping[int, Conversation], settings: ServiceSettings) -> bool:
    """Return whether anyone has a limit of cost or tokens."""
    shared = (settings.session_max_cost, settings.session_max_tokens, settings.max_cost, settings.max_tokens)
    of_tenants = (
        settings.tenant_day_max_cost,
        settings.tenant_day_max_tokens,
        settings.tenant_month_max_cost,
        settings.tenant_month_max_tokens,
    )
    own = any({"max_cost", "max_tokens"} & set(each.limits or ()) for each in conversations.values())
    return own or any(limit is not None for limit in (*shared, *of_tenants))


def _all_given_back(record: InspectorRole) -> bool:
    """Return whether no ask is leased, no call waits for a batch, and nothing is reserved; leases run out before."""
    held = any(stat.leased for stat in record.queue_stats())
    held = held or any(row["state"] == "pending" for row in record.table("webhook_deliveries"))
    held = held or bool(record.table("provider_batches") or record.table("collected_asks"))
    return not held and all(row["settled_at"] is not None for row in record.table("reservations"))


def _counted() -> Callable[[], str]:
    """Ids for what lives longer than a schedule: older than all that a schedule makes, and the same each time."""
    numbers = itertools.count()
    return lambda: f"{next(numbers):032x}"


@contextmanager
def _listening() -> Iterator[list[str]]:
    """Return what the services log as an error, while nothing of what they log is shown."""
    heard: list[str] = []

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            error = record.exc_info[1] if record.exc_info else None
            # What comes without an exception is meant for an operator: that the broker is away, for instance.
            of_application = getattr(record, "action", "") in _OF_APPLICATION
            if error is not None and not of_application and not isinstance(error, EnvironmentFault):
                heard.append(f"{record.getMessage()} ({error!r})")

    names = ("turnwise", "turnwise_gateway", "turnwise_coordinator", "turnwise_responders")
    loggers = [logging.getLogger(name) for name in names]
    before = [(logger.level, logger.propagate) for logger in loggers]
    handler = Heard(logging.ERROR)
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.ERROR)
        logger.propagate = False
    try:
        yield heard
    finally:
        for logger, (level, propagate) in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate
