"""The processes: is someone there for all that waits?"""

from __future__ import annotations

from collections.abc import Iterator

from turnwise.bus.routing import COORDINATOR_QUEUE
from turnwise.cli.doctor.finding import Finding, fault, note, ok, warning
from turnwise.processes.settings import ServiceSettings
from turnwise.record.asks.worker_records import WorkerRecord
from turnwise.record.roles.monitor import MonitorRole
from turnwise.record.runs.wait_facts import COORDINATOR


def check(store: MonitorRole, settings: ServiceSettings) -> Iterator[Finding]:
    """Coordinators, workers, and the leases that they hold; raises `DatabaseUnavailableError`."""
    at = store.now()
    alive = [worker for worker in store.workers("alive") if worker.lease_until >= at]
    yield _coordinator(alive, settings)
    yield from _workers(store, alive)
    yield _pauses(store)
    yield _deaf(alive)
    yield _leases(store)


def _coordinator(alive: list[WorkerRecord], settings: ServiceSettings) -> Finding:
    there = [worker for worker in alive if worker.kind == COORDINATOR]
    if not there and settings.broker_url is None:
        return warning("coordinator", "no server is running on this database", "start `turnwise up`")
    if not there:
        return fault("coordinator", "no coordinator is running, so no run moves", "start `turnwise coordinator`")
    return ok("coordinator", f"{len(there)} running")


def _workers(store: MonitorRole, alive: list[WorkerRecord]) -> Iterator[Finding]:
    served = {queue for worker in alive for queue in worker.queues}
    # What a pause holds needs no worker yet.
    stats = [stat for stat in store.queue_stats() if stat.runnable + stat.leased + stat.delayed]
    for stat in stats:
        if stat.queue not in served:
            yield fault(
                "workers",
                f"{stat.runnable + stat.leased + stat.delayed} asks are in the queue {stat.queue}, which no process "
                "serves",
                f"start `turnwise worker -Q {stat.queue}`",
            )
    if all(stat.queue in served for stat in stats):
        queues = ", ".join(sorted(served - {COORDINATOR_QUEUE})) or "none"
        yield ok("workers", f"every queue with asks is served; served are: {queues}")


def _pauses(store: MonitorRole) -> Finding:
    found = store.pauses()
    if not found:
        return ok("pauses", "nothing is paused")
    names = ", ".join(f"{one.kind} {one.name}" + (f" ({one.reason})" if one.reason else "") for one in found)
    return note("pauses", f"paused, until somebody resumes it: {names}")


def _deaf(alive: list[WorkerRecord]) -> Finding:
    deaf = [worker for worker in alive if worker.deaf_since is not None]
    if deaf:
        names = ", ".join(f"{worker.kind} {worker.pid} on {worker.host}" for worker in deaf)
        return warning(
            "hearing",
            f"deaf, because the broker brings them nothing: {names}",
            "look at their connection to the broker, and restart them if it is good",
        )
    return ok("hearing", "no process is deaf")


def _leases(store: MonitorRole) -> Finding:
    silent, lost = store.count_silent(), store.count_held_by_nobody()
    if silent or lost:
        return fault(
            "leases",
            f"{silent} processes have fallen silent, and {lost} asks are held by processes that are gone, and "
            "no one has taken them over",
            "start a coordinator; if one is running, look at its log for sweeps that fail",
        )
    return ok("leases", "all are renewed or taken over")
