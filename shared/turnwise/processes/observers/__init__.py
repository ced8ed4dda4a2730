"""The observers of Turnwise: what a served run could do without, each in a file of its own."""

from __future__ import annotations

from turnwise.app import App
from turnwise.bus.base import Bus
from turnwise.processes.metrics import Metrics
from turnwise.processes.observers.callbacks import ApplicationCallbacks
from turnwise.processes.observers.log_lines import LogLines
from turnwise.processes.observers.metrics import RunMetrics
from turnwise.processes.observers.notices import MoveNotices
from turnwise.processes.observers.tracing import RunTracing
from turnwise.serving.observer import Observer, Observers


def observers_of(app: App, bus: Bus, metrics: Metrics, *more: Observer) -> Observers:
    """The observers of a process that makes moves or answers asks, in the order in which they are told."""
    return Observers(
        LogLines(), RunTracing(app), RunMetrics(metrics), MoveNotices(bus), ApplicationCallbacks(app), *more
    )
