"""What attempts without an answer have used, on each database."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from tests.support.store_parts import asked_run, claimed, lose, new_queue, new_worker

from turnwise.base.waits import RetryWait
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.store import Store
from turnwise.record.values.outcomes import Deferral, Parking
from turnwise.record.values.records import Claim, Usage

_USED = Usage(prompt_tokens=7, cost=Decimal("0.5"))


_WITHOUT_ANSWER = pytest.mark.parametrize(
    ("write", "told"),
    [
        (lambda worker, claim: worker.release(claim, "killed", _USED), "ask.released"),
        (
            lambda worker, claim: worker.defer(claim, Deferral(seconds=0, waiting_for=RetryWait(), usage=_USED)),
            "ask.deferred",
        ),
        (lambda worker, claim: worker.park(claim, Parking(reason="unknown_outcome", usage=_USED)), "ask.parked"),
    ],
    ids=["release", "defer", "park"],
)


@_WITHOUT_ANSWER
def test_what_an_attempt_without_an_answer_used_is_told_in_an_event(
    store: Store, write: Callable[[WorkerRole, Claim], bool], told: str
) -> None:
    queue = new_queue()
    run = asked_run(store, queue)

    assert write(store.worker, claimed(store, queue, new_worker(store, queue)))

    settled, outcome = store.inspector.events(run.id)[-2:]
    assert (settled.type, outcome.type) == ("usage.settled", told)
    assert settled.data is not None
    assert (settled.data["prompt_tokens"], settled.data["cost"]) == (7, "0.5")


@_WITHOUT_ANSWER
def test_an_outcome_that_is_written_again_after_a_lost_connection_counts_once(
    store: Store, write: Callable[[WorkerRole, Claim], bool], told: str
) -> None:
    queue = new_queue()
    run = asked_run(store, queue)
    claim = claimed(store, queue, new_worker(store, queue))

    assert write(store.worker, claim)
    events = len(store.inspector.events(run.id))
    assert write(store.worker, claim)

    assert store.inspector.events(run.id)[-1].type == told
    found = store.inspector.run(run.id)
    assert (found.prompt_tokens, found.cost, found.calls) == (7, Decimal("0.5"), 1)
    assert len(store.inspector.events(run.id)) == events


@pytest.mark.parametrize(
    "write",
    [
        lambda worker, claim: worker.defer(claim, Deferral(seconds=0, waiting_for=RetryWait(), usage=_USED)),
        lambda worker, claim: worker.park(claim, Parking(reason="unknown_outcome", usage=_USED)),
    ],
    ids=["defer", "park"],
)
def test_an_outcome_counts_although_another_has_the_ask(
    store: Store, write: Callable[[WorkerRole, Claim], bool]
) -> None:
    queue = new_queue()
    run = asked_run(store, queue)
    first = claimed(store, queue, new_worker(store, queue))
    store.worker.release(first, "killed")
    second = claimed(store, queue, new_worker(store, queue))
    lose(store, second)

    assert not write(store.worker, second)

    assert store.inspector.run(run.id).cost == Decimal("0.5")


def test_an_ask_that_is_given_back_keeps_what_it_used(store: Store) -> None:
    queue = new_queue()
    run = asked_run(store, queue)
    claim = claimed(store, queue, new_worker(store, queue))

    assert store.worker.release(claim, "killed", Usage(prompt_tokens=7, cost=Decimal("0.5")))
    assert store.worker.release(claim, "killed", Usage(prompt_tokens=7, cost=Decimal("0.5")))

    assert (store.inspector.run(run.id).prompt_tokens, store.inspector.run(run.id).cost) == (7, Decimal("0.5"))
    assert claimed(store, queue, new_worker(store, queue)).ask.attempts == 1
