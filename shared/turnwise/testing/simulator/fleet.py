"""The processes of a simulated installation: the shipped services over a simulated database and bus."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from turnwise.app import App
from turnwise.bus.envelope import AskEnvelope, MoveEnvelope
from turnwise.bus.routing import COORDINATOR_QUEUE, work_queues
from turnwise.errors import EnvironmentFault, NotFoundError
from turnwise.processes.metrics import Metrics
from turnwise.processes.observers import observers_of
from turnwise.processes.service_loading import load_service
from turnwise.processes.settings import ServiceSettings
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.testing.http import Asgi, Response, request
from turnwise.testing.simulator.actors import Host
from turnwise.testing.simulator.broker import SimulatedBroker, SimulatedBus
from turnwise.testing.simulator.database import SimulatedDatabase
from turnwise.testing.simulator.process_clock import ProcessClock
from turnwise.testing.simulator.webhooks import RULES, SimulatedReceiver
from turnwise.testing.simulator.world import World

logger = logging.getLogger(__name__)

# Seconds after which a process that ended is started again.
_RESTARTS = (0.1, 1.0, 3.0, 8.0)
# Messages that one process works on at a time.
_SLOTS = 2


@dataclass
class Slot:
    """A place for a process; another takes it when the last one is dead."""

    name: str
    kind: str
    app: App
    begun: int = 0
    host: Host | None = None
    api: Asgi | None = None
    stop: Callable[[], None] = field(default=lambda: None)


class Fleet:
    """Starts the processes, and starts them again."""

    def __init__(
        self,
        world: World,
        shared: Database,
        apps: dict[str, App],
        apis: dict[str, Any],
        settings: ServiceSettings,
        metrics: Metrics,
    ) -> None:
        self._world = world
        self._apis = apis
        self._shared = shared
        self._settings = settings
        self._metrics = metrics
        self.broker = SimulatedBroker(world)
        self.receiver = SimulatedReceiver(world)
        self.working = 0
        self.errors: list[BaseException] = []
        self.slots = [Slot(name, name.split("-")[0], app) for name, app in apps.items()]
        self._queues = work_queues(settings.llm_queues, settings.agent_queues)
        world.on_kill = self._replace
        world.on_stop = self._end

    def start(self) -> None:
        """Start a process in every slot."""
        for slot in self.slots:
            self._start(slot, 0.0)

    def call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Response:
        """A request to some gateway; `ConnectionError` if it does not answer."""
        schedule = self._world.schedule
        ready = [slot for slot in self.slots if slot.api is not None and slot.host is not None and not slot.host.dead]
        if not ready:
            raise ConnectionError("no gateway listens")
        slot = self._world.random.choice(ready)
        host, api = slot.host, slot.api
        assert host is not None
        assert api is not None
        client = schedule.here().actor.host
        try:
            with schedule.within(host):
                return request(api, method, path, body, headers)
        except BaseException as error:
            # What unwinds the request of a process that died is, to its client, a connection that broke.
            if host.dead and not client.dead:
                raise ConnectionError("the gateway died") from error
            raise

    @property
    def at_rest(self) -> bool:
        """Return whether every process is up and idle."""
        now = self._world.schedule.now
        up = all(slot.host is not None and not slot.host.dead and slot.host.frozen_until <= now for slot in self.slots)
        return up and not self.working

    # --- a process ---

    def _start(self, slot: Slot, after: float) -> None:
        world = self._world
        slot.begun += 1
        skew = world.faults.skew
        host = Host(
            f"{slot.name}.{slot.begun}",
            rate=1.0 + skew * (2 * world.random.random() - 1),
            offset=world.random.random() * 1_000,
        )
        slot.host, slot.api = host, None
        begin = {"gateway": self._gateway, "coordinator": self._coordinator, "worker": self._worker}[slot.kind]

        def main() -> None:
            try:
                begin(slot, host)
            except EnvironmentFault as error:
                world.tell(f"the process does not start: {error}")
                host.dead = True
                self._replace(host)

        world.schedule.spawn(f"{host.name} main", host, main, after)

    def _replace(self, host: Host) -> None:
        slot = next(slot for slot in self.slots if slot.host is host)
        self._start(slot, self._world.random.choice(_RESTARTS))

    def _end(self, host: Host) -> None:
        """Let the process end in good order, as after SIGTERM."""
        slot = next((slot for slot in self.slots if slot.host is host), None)
        if slot is None or slot.kind == "gateway" or host.ending:
            return
        host.ending = True
        self.broker.wake_takers()

        def end() -> None:
            while any(name.startswith(f"{host.name} slot") for name in self._world.schedule.names()):
                self._world.schedule.wait(0.1)
            slot.stop()
            self._world.tell("the process has ended")
            host.dead = True
            self._replace(host)

        self._world.schedule.spawn(f"{host.name} end", host, end)

    def _parts(self, slot: Slot, host: Host) -> tuple[Any, ...]:
        bus = SimulatedBus(self.broker, host)

        store = Store(
            SimulatedDatabase(self._shared, self._world),
            lease_seconds=self._settings.lease_seconds,
            clock=ProcessClock(self._world.schedule, host),
        )
        observers = observers_of(slot.app, bus, self._metrics, clock=store.clock)
        store.call_after_commit(observers.events_stored)
        return store, bus, slot.app, self._settings, observers

    def _gateway(self, slot: Slot, host: Host) -> None:
        store, bus, app, settings, observers = self._parts(slot, host)
        api = self._apis.get(slot.name)
        if api is None:
            given = (store, bus, app, settings, self._metrics, observers)
            api = self._apis[slot.name] = load_service("gateway", "api").create_api(*given)
        # Its routes take long to make; all that they know of this process is here.
        api.state.gateway = replace(api.state.gateway, records=store, bus=bus, observers=observers, webhook_rules=RULES)
        slot.api = api

    def _coordinator(self, slot: Slot, host: Host) -> None:
        coordinator = load_service("coordinator", "coordinator").Coordinator(
            *self._parts(slot, host), send_webhook=self.receiver
        )
        coordinator.start()
        slot.stop = coordinator.stop

        def work(envelope: Any) -> None:
            if isinstance(envelope, MoveEnvelope):
                coordinator.move(envelope.run)

        self._serve(host, [COORDINATOR_QUEUE], work)

    def _worker(self, slot: Slot, host: Host) -> None:
        parts = self._parts(slot, host)
        responders = load_service("responders", "responders").Responders(*parts, queues=self._queues)
        responders.start()
        slot.stop = responders.stop

        def work(envelope: Any) -> None:
            if isinstance(envelope, AskEnvelope):
                responders.answer(envelope)

        self._serve(host, self._queues, work)

    def _serve(self, host: Host, queues: Sequence[str], work: Callable[[Any], None]) -> None:
        def loop() -> None:
            while (envelope := self.broker.take(queues, host)) is not None:
                self._work(work, envelope)

        for number in range(_SLOTS):
            self._world.schedule.spawn(f"{host.name} slot {number}", host, loop)

    def _work(self, work: Callable[[Any], None], envelope: Any) -> None:
        """Handle a message as Celery does: a handler that raises is logged, and the message is gone."""
        self.working += 1
        try:
            work(envelope)
        except (EnvironmentFault, NotFoundError) as error:
            self._world.tell(f"a message came to nothing: {error}")
        except Exception as error:  # noqa: BLE001 - told as what it is: a fault of the services
            self._world.tell(f"FAILED with {error!r}")
            self.errors.append(error)
        finally:
            self.working -= 1
