"""Each event that a webhook gets is sent at least once, whichever process is killed around the sending."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.simulation.team import scenario

from turnwise.testing import Conversation, Faults
from turnwise.testing.plugin import Simulate

pytestmark = pytest.mark.timeout(600)

notified = replace(
    scenario,
    conversations=[
        Conversation(task="order", message="a book", webhook=True),
        Conversation(task="trip", message="to the sea", webhook=True),
        Conversation(task="sums", message="go on", cancel=True, webhook=True),
    ],
    # Not many at a time, so that some come as late as the first webhook.
    faults=lambda random: Faults(kill=0.01, kill_after_commit=0.02, slow=0.02, most=16),
)


def test_each_webhook_is_delivered_whatever_goes_wrong(simulate: Simulate) -> None:
    report = simulate(notified, schedules=40)
    # Some died between the request and its note, and others around what they note.
    for place in ("a webhook was sent", "take_deliveries", "note_attempt"):
        assert sum(n for where, n in report.killed_at.items() if where.endswith(place)) > 0, place
