"""The example of a nightly report: a schedule starts it, a webhook delivers it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from examples.nightly_report import report
from tests.support.examples import output, served, started


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripted model answers."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_a_nightly_report_comes_by_webhook(tmp_path: Path) -> None:
    networks = {"webhook_allow_http": True, "webhook_allowed_networks": ["127.0.0.0/8"]}
    with served(report.app, tmp_path, **networks) as client:
        receiver = started("nightly_report/receiver.py", url=client.base_url)
        assert receiver.stdout is not None
        assert receiver.stdout.readline().startswith("Waiting for reports at http://127.0.0.1:")
        (schedule,) = client.schedules().items
        run = client.trigger_schedule(schedule.id)

        assert receiver.stdout.readline() == (
            f"run.completed {run.id}: Good evening. Today's total 1015.00 EUR in 4 sales; the best: 8 x chair.\n"
        )
        receiver.send_signal(signal.SIGINT)
        assert output(receiver) == ""
        assert client.webhooks().items == []

    assert (schedule.name, schedule.cron, schedule.timezone) == ("nightly", "0 2 * * *", "Europe/Berlin")
