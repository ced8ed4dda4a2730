"""Every Prometheus metric of Turnwise: names, labels, and where the values come from.

Labels are bounded (task, responder, agent, model, queue, status, type), never an id. A process counts its own work in
`Metrics`. What the record knows (runs, queues, workers, questions) is read from it by `RecordCollector`; processes of
one installation give the same values there, so aggregate them with max, not with sum.
"""

from turnwise.metrics.counters import PREFIX, Metrics, watch_process
from turnwise.metrics.record import RecordCollector, RecordReader
from turnwise.metrics.server import MetricsServer, serve_metrics

__all__ = ["PREFIX", "Metrics", "MetricsServer", "RecordCollector", "RecordReader", "serve_metrics", "watch_process"]
