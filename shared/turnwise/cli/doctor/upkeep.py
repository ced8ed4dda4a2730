"""Checks of slow deterioration."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from turnwise.cli.doctor.finding import Finding, fault, note, ok, warning
from turnwise.processes.settings import ServiceSettings
from turnwise.record.roles.monitor import MonitorRole
from turnwise.record.upkeep.purging import Retention

# Seconds that a run may be kept longer than the retention says before someone should look.
_LATE = 86_400.0


def check_retention(store: MonitorRole, settings: ServiceSettings) -> Iterator[Finding]:
    """Check that runs are deleted when they are due; raises `DatabaseUnavailableError`."""
    if settings.retention is None:
        yield note("retention", "TURNWISE_RETENTION is not set: runs are kept until `turnwise purge` deletes them")
        return
    old = Retention(older_than=settings.retention + _LATE, statuses=tuple(settings.retention_statuses))
    free, kept = store.count_old_runs(old)
    late = sum(free.values())
    if late:
        yield warning(
            "retention",
            f"{late} runs should have been deleted more than a day ago",
            "see that a coordinator runs with TURNWISE_RETENTION; for a large backlog run `turnwise purge` once",
        )
    else:
        yield ok("retention", "nothing is late" + (f"; {kept} runs are kept for others" if kept else ""))


def check_metrics() -> Iterator[Finding]:
    """Check that the children of prefork workers can write their metrics."""
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    check = "prefork metrics"
    if not folder:
        yield note(check, "PROMETHEUS_MULTIPROC_DIR is not set; workers with --pool prefork need it to count")
    elif not Path(folder).is_dir() or not os.access(folder, os.W_OK):
        yield fault(
            check,
            f"PROMETHEUS_MULTIPROC_DIR is {folder}, which is no directory that can be written to",
            "make it before the worker starts, empty, one for each worker",
        )
    else:
        yield ok(check, f"{folder} can be written to")
