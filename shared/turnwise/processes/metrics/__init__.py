"""Every Prometheus metric of Turnwise: names, labels, and where the values come from.

Labels are bounded (task, responder, agent, model, queue, status, type), never an id. A process counts its own work in
`Metrics`. What the record knows is read from it by `RecordCollector` (runs, queues, workers, questions) and
`TaskCollector` (what takes long or fails, by task, and the tenants' budgets); processes of one installation give the
same values there, so aggregate them with max, not with sum.
"""

from collections.abc import Sequence

from prometheus_client import CollectorRegistry

from turnwise.processes.metrics.connections import watch_broker, watch_database
from turnwise.processes.metrics.counters import PREFIX, Metrics, watch_process
from turnwise.processes.metrics.record import RecordCollector, RecordReader
from turnwise.processes.metrics.server import MetricsServer, exposition, serve_metrics
from turnwise.processes.metrics.tasks import TaskCollector, TaskReader
from turnwise.record.roles.monitor import MonitorRole

__all__ = [
    "PREFIX",
    "Metrics",
    "MetricsServer",
    "RecordCollector",
    "RecordReader",
    "TaskCollector",
    "TaskReader",
    "exposition",
    "serve_metrics",
    "watch_broker",
    "watch_database",
    "watch_process",
    "watch_record",
]


def watch_record(registry: CollectorRegistry, record: MonitorRole, queues: Sequence[str]) -> None:
    """Add what the record of the installation tells."""
    registry.register(RecordCollector(record, queues=queues))
    registry.register(TaskCollector(record))
