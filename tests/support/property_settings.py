"""The number of examples that a property test of whole teams tries."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings


def examples(count: int) -> settings:
    """Settings for `count` examples, the same ones each time.

    With `EXAMPLES=20` in the environment it is twenty times as many, and other ones each time.
    """
    times = int(os.environ.get("EXAMPLES", "1"))
    return settings(
        max_examples=count * times,
        derandomize=times == 1,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
