"""A thousand slow model calls in one worker process."""

from __future__ import annotations

from bench.in_flight import measure as hold_calls
from bench.installation import installation
from bench.peers.figures import names

_CALLS, _SECONDS, _MB = 1_000, 30.0, 1_000_000


def measure() -> dict[str, float]:
    """Return the time beyond that of one call, and the worker's greatest memory."""
    with installation() as installed:
        held = hold_calls(installed, _CALLS, _SECONDS)
    return {
        names.SLOW_CALLS_BEYOND: held.worked - held.latency,
        names.SLOW_CALLS_MEMORY: held.memory / _MB,
    }
