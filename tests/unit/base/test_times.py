"""Times as text."""

from __future__ import annotations

import pytest

from turnwise.base.times import rfc3339


@pytest.mark.parametrize(
    ("at", "timespec", "expected"),
    [
        (0.0, "auto", "1970-01-01T00:00:00Z"),
        (1.25, "auto", "1970-01-01T00:00:01.250000Z"),
        (1.25, "seconds", "1970-01-01T00:00:01Z"),
        (1e300, "seconds", "9999-12-31T23:59:59Z"),
    ],
)
def test_a_time_is_text_in_utc(at: float, timespec: str, expected: str) -> None:
    assert rfc3339(at, timespec) == expected
