"""Ages and durations in few characters."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60))


def age(seconds: float) -> str:
    """Return a length of time in its two largest units: 3d 4h, 2h 5m, 1m 30s, 12s, 0.4s."""
    if seconds < 10:
        return f"{max(seconds, 0.0):.1f}s"
    left = int(seconds)
    for at, (unit, size) in enumerate(_UNITS):
        if left >= size:
            small, smaller = _UNITS[at + 1] if at + 1 < len(_UNITS) else ("s", 1)
            return f"{left // size}{unit} {left % size // smaller}{small}"
    return f"{left}s"


def since(at: str | None, until: datetime | None = None) -> float | None:
    """Return the seconds from an RFC 3339 time to `until` (default: now); None if there is no such time."""
    if at is None:
        return None
    return ((until or datetime.now(UTC)) - datetime.fromisoformat(at)).total_seconds()


def age_of(at: str | None) -> str:
    """Return how long ago an RFC 3339 time was, or "-"."""
    seconds = since(at)
    return "-" if seconds is None else age(seconds)
