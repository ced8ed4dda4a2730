"""A batch where it is served by one process and by several: begun in order, read out, seen by its tenant alone."""

from __future__ import annotations

from tests.e2e.expected import scenario_named
from tests.e2e.waiting import until

from turnwise.client import Client

_ONE = scenario_named("tool_loop")


def test_a_batch_is_worked_through_a_few_runs_at_a_time(anywhere: Client) -> None:
    batch = anywhere.open_batch(_ONE.task, concurrency=2, max_tokens=10_000_000)
    for first in (1, 3):
        part = [{"message": _ONE.message, "id": f"item-{no}"} for no in (first, first + 1)]
        anywhere.add_batch_items(batch.id, first, part)
        anywhere.add_batch_items(batch.id, first, part)
    anywhere.seal_batch(batch.id)

    until(lambda: anywhere.batch(batch.id).finished_at is not None, "the batch to end")

    assert anywhere.batch(batch.id).counts.completed == 4
    lines = list(anywhere.all_batch_results(batch.id, limit=3))
    assert [(line.line, line.id) for line in lines] == [(no, f"item-{no}") for no in (1, 2, 3, 4)]
    assert all(_ONE.result in (line.result or "") for line in lines)
    assert len({line.run for line in lines}) == 4
    assert {run.id for run in anywhere.all_runs(batch=batch.id)} == {line.run for line in lines}
