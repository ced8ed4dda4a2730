"""Measurements of OpenTelemetry. The metrics that Prometheus scrapes are others: `turnwise.processes.metrics`."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from turnwise.observability.telemetry.providers import meter

_instruments: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
_making = threading.Lock()


def takes() -> bool:
    """Whether anybody takes measurements."""
    return meter() is not None


def record(metric: tuple[str, str, str, tuple[float, ...]], value: float, attributes: Mapping[str, Any]) -> None:
    """Add a value to a histogram, where anybody takes it."""
    makes = meter()
    if makes is None:
        return
    name, unit, description, boundaries = metric
    with _making:
        made = _instruments.setdefault(makes, {})
        if name not in made:
            made[name] = makes.create_histogram(name, unit, description, explicit_bucket_boundaries_advisory=boundaries)
    made[name].record(value, dict(attributes))
