"""Batches as people see them on the terminal."""

from __future__ import annotations

import pytest

from turnwise.api.batches import BatchView
from turnwise.cli.batch.batch_run import sentence
from turnwise.cli.text.batches import print_batch, print_batches

_COUNTS = ("not_started", "queued", "running", "waiting", "completed", "limited", "failed", "cancelled", "deleted")


def batch(cost: str, max_cost: str | None = None) -> BatchView:
    """A batch of one item, whose run has cost so much."""
    tokens = {"prompt_tokens": 1, "cached_tokens": 0, "completion_tokens": 1}
    return BatchView.model_validate(
        {
            "id": "bat_1",
            "name": None,
            "task": "desk",
            "status": "completed",
            "key": None,
            "total": 1,
            "counts": {name: int(name == "completed") for name in _COUNTS},
            "concurrency": 1,
            "budget": {"max_cost": max_cost, "max_tokens": None},
            "usage": tokens | {"calls": 1, "unpriced_calls": 0, "cost": cost},
            "stopped": None,
            "created_at": "2026-01-01T00:00:00Z",
            "sealed_at": None,
            "cancel_requested_at": None,
            "finished_at": None,
            "expired_at": None,
        }
    )


def test_the_cost_of_a_batch_is_shown_as_that_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    costly = batch("1234.5", max_cost="2000")
    print_batch(costly)
    print_batches([costly])

    assert capsys.readouterr().out.count("$1,234.5000 of $2,000.0000") == 2
    assert sentence(costly) == "bat_1 completed: 1 completed; $1,234.5000, 2 tokens."
