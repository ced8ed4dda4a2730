"""Workers follow the work, and nothing is lost, doubled or cut off while they come and go."""

from __future__ import annotations

import pytest
from bench.autoscaling import run_burst
from bench.in_flight import measure
from bench.installation import Installation

pytestmark = [pytest.mark.postgres, pytest.mark.rabbitmq]


@pytest.mark.timeout(400)  # it starts three workers and stops them, one after the other
def test_a_burst_is_followed_up_and_down_to_none_and_back(installed: Installation) -> None:
    burst = run_burst(installed, conversations=40, latency=0.3, concurrency=4, most=2, second=4, window=1.0)
    assert burst.faults == []
    assert max(look.wanted for look in burst.looks) == 2


def test_one_worker_holds_as_many_calls_as_it_has_threads(installed: Installation) -> None:
    held = measure(installed, calls=100, latency=2.0)
    assert (held.calls, held.requests, held.most_at_once) == (100, 100, 100)
    assert held.memory < 300_000_000
