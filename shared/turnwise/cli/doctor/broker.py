"""The broker: does it answer, and does what is published reach a queue that someone reads?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from turnwise.app import App
from turnwise.bus.broker.checkup import QueueState, look
from turnwise.bus.envelope import PROBE_RUN, AskEnvelope, MoveEnvelope, Work
from turnwise.bus.routing import COORDINATOR_QUEUE, LLM_QUEUE, all_queues, lane
from turnwise.cli.doctor.finding import Finding, fault, note, ok, warning
from turnwise.processes.bootstrap import tls_files, wire_keys
from turnwise.processes.moves import pinned_version
from turnwise.processes.settings import ServiceSettings
from turnwise.record.roles.monitor import MonitorRole


def check(settings: ServiceSettings, app: App | None, store: MonitorRole | None) -> Iterator[Finding]:
    """Every queue of the settings; raises `BrokerUnavailableError`, `ConfigurationError`."""
    if settings.broker_url is None:
        yield note("broker", "TURNWISE_BROKER_URL is not set: only `turnwise up` works, with queues in its process")
        return
    if settings.pinned and app is None:
        yield note("broker", "queues are not looked at: their names need the application's version")
        return
    version = pinned_version(settings, app) if app is not None else None
    probes = {
        lane(queue, version): _probe(queue, store) for queue in all_queues(settings.llm_queues, settings.agent_queues)
    }
    url = settings.broker_url.get_secret_value()
    safe, states = look(url, tls_files(settings), wire_keys(settings), probes)
    yield ok("broker", f"{safe} answers, and confirms what it is given")
    served = _served(store, version) if store is not None else None
    for state in states:
        yield _queue(state, None if served is None else served[state.name])


def _served(store: MonitorRole, version: str | None) -> Counter[str]:
    """Return how many processes serve each queue of the broker, by the record."""
    alive = [worker for worker in store.workers("alive") if version is None or worker.version == version]
    return Counter(lane(queue, version) for worker in alive for queue in worker.queues)


def _probe(queue: str, store: MonitorRole | None) -> Work | None:
    """A message that does nothing: a permit, or a move of a run that is where it can be. None if there is no run."""
    if queue != COORDINATOR_QUEUE:
        responder: Literal["llm", "agent"] = "llm" if queue.startswith(LLM_QUEUE) else "agent"
        return AskEnvelope(
            run=PROBE_RUN, ask=PROBE_RUN, agent=PROBE_RUN, queue=queue, responder=responder, task="", turn=0
        )
    newest = store.newest_run_id() if store is not None else None
    return MoveEnvelope(run=newest) if newest is not None else None


def _queue(state: QueueState, served: int | None) -> Finding:
    """The finding of a queue; `served` is by how many processes of the record, None if no one can say."""
    check = f"queue {state.name}"
    if state.other_kind:
        return fault(
            check,
            f"it was declared by another program, and otherwise than Turnwise does: {state.other_kind}",
            "stop the processes, delete the queue (what it holds is in the database), and start them again",
        )
    if not state.exists:
        mend = "start a process that serves it; it declares the queue"
        return warning(check, "the broker has no such queue, so no one has ever served it", mend)
    if state.bound is False:
        return fault(
            check,
            "a message for it came back: it is not bound to the exchange `turnwise`",
            "restart a process that serves it, which binds it again",
        )
    if state.consumers == 0:
        return warning(check, "no one reads it", "start a process that serves it")
    if served is not None and state.consumers is not None and state.consumers > served:
        return warning(
            check,
            f"{state.consumers} consumers read it, and the database knows {served} processes that serve it",
            "if this does not pass, another installation may use the same broker, and take this one's messages: give "
            "each database a virtual host of its own",
        )
    return ok(check, f"{state.kind}, {state.waiting} messages wait" + (", bound" if state.bound else ""))
