"""The observers of Turnwise: what a served run could do without, each in a file of its own."""

from __future__ import annotations

from turnwise.app import App
from turnwise.base.clock import SYSTEM_CLOCK, Clock
from turnwise.bus.base import Bus
from turnwise.processes.metrics import Metrics
from turnwise.processes.observers.callbacks import ApplicationCallbacks
from turnwise.processes.observers.log_lines import LogLines
from turnwise.processes.observers.metrics import RunMetrics
from turnwise.processes.observers.notices import RunNotices
from turnwise.processes.observers.tracing import RunTracing
from turnwise.serving.observer import Observer, Observers


def observers_of(app: App, bus: Bus, metrics: Metrics, *more: Observer, clock: Clock = SYSTEM_CLOCK) -> Observers:
    """The observers of a process that makes moves or answers asks, in the order in which they are told."""
    notices = RunNotices(bus, clock)
    return Observers(LogLines(), RunTracing(app), RunMetrics(metrics), notices, ApplicationCallbacks(app), *more)
