"""Calls that wait for batches of their provider, in schedules in which workers die at every point of a call's way."""

from __future__ import annotations

import pytest
from tests.simulation.patient import scenario

from turnwise.testing.plugin import Simulate

pytestmark = pytest.mark.timeout(600)


def test_no_call_is_lost_or_sent_twice_and_no_file_is_left_wherever_a_worker_dies(simulate: Simulate) -> None:
    report = simulate(scenario, schedules=60, first_seed=120)
    for request in ("a file is uploaded", "a batch is created", "results are downloaded", "a file is deleted"):
        assert report.killed_at[f"after: {request}"] > 0, request
    # It is collected, given to a batch, and answered.
    for places in (("reserve", "defer"), ("open_batch",), ("keep_response", "close_batch")):
        assert any(report.killed_at[f"{when} commit: {place}"] for when in ("before", "after") for place in places)
