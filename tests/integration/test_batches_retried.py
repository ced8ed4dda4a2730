"""Batches that two requests take up again at the same time: no item runs twice at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.gateway_parts import Served, served
from tests.support.kept_values import happen

from turnwise.bus.in_process import InProcessBus
from turnwise.client import Client
from turnwise.record.states import RunStatus
from turnwise.record.values.kept_errors import RaisedError
from turnwise.serving.moves.move import fail


class Interrupted(InProcessBus):
    """Has `meanwhile` happen once a run is woken: in the middle of a request that continues several."""

    meanwhile: Callable[[], object] | None = None

    def wake(self, run: str, version: str | None = None) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        super().wake(run, version)


@contextmanager
def two_items(directory: Path) -> Iterator[tuple[Served, Client, Interrupted, str, list[str]]]:
    """A gateway and a batch with two items, whose runs have begun."""
    bus = Interrupted()
    with served(directory, bus=bus) as gateway, Client(gateway.base_url) as client:
        batch = client.open_batch("desk")
        client.add_batch_items(batch.id, 1, [{"message": "first"}, {"message": "charge the card"}])
        client.seal_batch(batch.id)
        yield gateway, client, bus, batch.id, runs_of(client, batch.id)


def runs_of(client: Client, batch: str) -> list[str]:
    return [item.run or "" for item in client.batch_results(batch).items]


def fail_run(gateway: Served, run: str) -> None:
    with gateway.store.coordinator.locked(run) as transaction:
        fail(transaction, RaisedError(type="Broken", message="it is broken", place="move"))
        transaction.mark()


def end_at_limit(gateway: Served, run: str) -> None:
    with gateway.store.coordinator.locked(run) as transaction:
        transaction.finish(RunStatus.COMPLETED, "MAX_TOKENS", result={"content": "half"})
        happen(transaction, "run.completed", path="desk", data={"status": "MAX_TOKENS"})


def test_an_item_that_another_request_has_begun_anew_meanwhile_is_not_begun_again(tmp_path: Path) -> None:
    with two_items(tmp_path) as (gateway, client, bus, batch, (first, second)):
        fail_run(gateway, first)
        end_at_limit(gateway, second)
        bus.meanwhile = lambda: client.retry_batch(batch, after=1, anew=True)

        done = client.retry_batch(batch, anew=True)

        assert (done.continued, done.restarted) == (1, 0)
        assert [(one.run, one.code) for one in done.refused] == [(second, "not_restarted")]
        assert {run.id for run in client.all_runs(batch=batch)} == {first, second, runs_of(client, batch)[1]}
        assert client.batch(batch).counts.queued == 2


def test_an_item_whose_run_was_retried_by_itself_meanwhile_is_not_begun_anew(tmp_path: Path) -> None:
    with two_items(tmp_path) as (gateway, client, bus, batch, runs):
        for run in runs:
            fail_run(gateway, run)
        bus.meanwhile = lambda: client.retry(runs[1])

        done = client.retry_batch(batch, anew=True)

        assert (done.continued, done.restarted) == (1, 0)
        assert [(one.run, one.code) for one in done.refused] == [(runs[1], "not_failed")]
        assert [run.id for run in client.all_runs(batch=batch)] == runs[::-1]


def test_a_batch_runs_again_with_a_run_of_it_that_is_retried_by_itself(tmp_path: Path) -> None:
    with two_items(tmp_path) as (gateway, client, _, batch, (first, second)):
        for run in (first, second):
            fail_run(gateway, run)
        gateway.store.coordinator.feed_batch(batch)
        assert client.batch(batch).status == "completed"

        client.retry(first)
        gateway.store.coordinator.feed_batch(batch)
        assert (client.batch(batch).status, client.batch(batch).counts.queued) == ("running", 1)

        fail_run(gateway, first)
        gateway.store.coordinator.feed_batch(batch)
        assert client.batch(batch).status == "completed"

        client.retry(second)
        assert client.cancel_batch(batch).status == "running"


def test_a_cancelled_batch_stays_cancelled_when_a_run_of_it_is_retried(tmp_path: Path) -> None:
    with two_items(tmp_path) as (gateway, client, _, batch, (first, second)):
        for run in (first, second):
            fail_run(gateway, run)
        client.cancel_batch(batch)
        gateway.store.coordinator.feed_batch(batch)

        client.retry(first)

        assert client.batch(batch).status == "cancelled"


def test_an_item_whose_run_no_retry_continues_begins_anew(tmp_path: Path) -> None:
    with two_items(tmp_path) as (gateway, client, _, batch, (first, second)):
        for run, code in ((first, "STALLED"), (second, "ERROR")):
            with gateway.store.coordinator.locked(run) as transaction:
                transaction.finish(RunStatus.FAILED, code)
                happen(transaction, "run.failed", path="desk", data={"status": code})

        done = client.retry_batch(batch, anew=True)

        assert (done.continued, done.restarted, done.refused) == (0, 2, [])
        assert not {first, second} & set(runs_of(client, batch))


def test_runs_that_were_submitted_together_have_no_input_to_begin_anew_with(tmp_path: Path) -> None:
    with served(tmp_path) as gateway, Client(gateway.base_url) as client:
        batch = client.submit_batch([{"task": "desk", "message": "a"}])
        end_at_limit(gateway, batch.runs[0].id)

        done = client.retry_batch(batch.id, anew=True)

        assert (done.restarted, [one.code for one in done.refused]) == (0, ["not_restarted"])
