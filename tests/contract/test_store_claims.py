"""Claims, replies and what repairs them, on each database."""

from __future__ import annotations

import threading
import time
from decimal import Decimal

from tests.store_parts import asked_run, new_queue, new_worker

from turnwise.runs.records import Claim, NewDocument, NewHistory, Reply, Usage
from turnwise.runs.store import Store


def _claimed(store: Store, queue: str, worker: str) -> Claim:
    claim = store.claim(queue, worker)
    assert claim is not None
    return claim


def _lapse(store: Store, worker: str) -> None:
    """Wait until the worker's lease is over."""
    lease = next(found.lease_until for found in store.workers() if found.id == worker)
    while True:
        with store.database.read() as connection:
            left = lease - store.database.now(connection)
        if left < 0:
            return
        time.sleep(left + 0.001)


def _expire(store: Store) -> list[str]:
    return [ask.run_id for ask in store.expire_leases()]


def test_the_best_ask_comes_first_with_all_that_its_responder_needs(store: Store) -> None:
    queue = new_queue()
    asked_run(store, queue)
    urgent = asked_run(store, queue, priority=5)

    claim = _claimed(store, queue, new_worker(store, queue))

    assert claim.ask.run_id == urgent.id
    assert (claim.ask.status, claim.ask.attempts, claim.token) == ("leased", 1, 1)
    assert claim.document == {"content": "hello"}
    assert (claim.agent.key, claim.agent.record, claim.run.task) == ("triage", None, "triage")


def test_no_ask_is_claimed_twice_by_concurrent_workers(store: Store) -> None:
    queue = new_queue()
    made = {asked_run(store, queue).id for _ in range(30)}
    worker = new_worker(store, queue)
    taken: list[str] = []

    def work() -> None:
        while claim := store.claim(queue, worker):
            taken.append(claim.ask.run_id)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(taken) == len(set(taken))
    assert set(taken) <= made
    while claim := store.claim(queue, worker):  # a worker may give up while others hold the last runs
        taken.append(claim.ask.run_id)
    assert set(taken) == made


def test_a_reply_is_written_with_everything_that_it_changes(store: Store) -> None:
    queue = new_queue()
    run = asked_run(store, queue)
    claim = _claimed(store, queue, new_worker(store, queue))
    seen: list[str | None] = []

    accepted = store.reply(
        claim,
        Reply(
            kind="answer",
            document=NewDocument(id="doc-2", body={"content": "hi \ud800"}, parent_id="doc-1"),
            history=(NewHistory(role="assistant", body={"content": "hi"}, tokens=2, document_id="doc-2"),),
            record={"tools": ["a"]},
            state={"visits": 1},
            usage=Usage(prompt_tokens=7, completion_tokens=2, cost=Decimal("0.000001"), model="m"),
        ),
        then=lambda transaction: seen.append(getattr(transaction.reply(), "document_id", None)),
    )

    after = store.run(run.id)
    assert accepted
    assert seen == ["doc-2"]
    assert [event.type for event in store.events(run.id)][2:] == ["turn.replied", "usage.settled"]
    assert store.transcript_documents(run.id) == [{"content": "hello"}, {"content": "hi \ud800"}]
    assert (after.prompt_tokens, after.calls, after.cost) == (7, 1, Decimal("0.000001"))
    assert after.move_due_at is not None
    with store.locked(run.id) as transaction:
        agent = transaction.agent("triage")
    assert (agent.record, agent.state, agent.history_len) == ({"tools": ["a"]}, {"visits": 1}, 1)
    assert store.bytes_stored(run.id) > 200


def test_a_lapsed_lease_is_retaken_and_the_late_reply_only_booked(store: Store) -> None:
    queue = new_queue()
    run = asked_run(store, queue)
    zombie = new_worker(store, queue)
    lost = _claimed(store, queue, zombie)

    _lapse(store, zombie)
    assert run.id in _expire(store)
    claim = _claimed(store, queue, new_worker(store, queue))
    late = Reply(kind="answer", document=NewDocument(id="late", body={}), usage=Usage(cost=Decimal("0.5")))

    assert not store.beat(zombie)
    assert store.claim(queue, zombie) is None
    assert not store.reply(lost, late)
    assert not store.reply(lost, late)
    assert store.run(run.id).cost == Decimal("0.5")
    assert store.reply(claim, Reply(kind="nothing"))
    assert store.reply(claim, Reply(kind="nothing"))
    assert [event.type for event in store.events(run.id)][2:] == ["ask.expired", "turn.replied"]


def test_an_ask_that_kills_its_workers_is_parked_with_an_error(store: Store) -> None:
    queue = new_queue()
    run = asked_run(store, queue, max_attempts=1)
    worker = new_worker(store, queue)
    _claimed(store, queue, worker)

    _lapse(store, worker)
    assert run.id not in _expire(store)

    with store.locked(run.id) as transaction:
        ask, reply = transaction.open_ask(), transaction.reply()
    assert ask is not None
    assert reply is not None
    assert (ask.status, reply.kind) == ("parked", "error")
    assert store.claim(queue, new_worker(store, queue)) is None


def test_a_released_ask_is_claimed_again_at_no_cost_of_attempts(store: Store) -> None:
    queue = new_queue()
    asked_run(store, queue)
    worker = new_worker(store, queue)
    first = _claimed(store, queue, worker)

    assert store.release(first, "shutdown")
    assert not store.release(first, "shutdown")
    again = _claimed(store, queue, worker)

    assert again.ask.attempts == 1
    assert again.token > first.token


def test_ended_and_cancelled_runs_are_not_claimed(store: Store) -> None:
    queue = new_queue()
    cancelled, ended = asked_run(store, queue), asked_run(store, queue)
    store.request_cancel(cancelled.id)
    with store.locked(ended.id) as transaction:
        transaction.finish("failed", "ERROR")

    assert store.claim(queue, new_worker(store, queue)) is None


def test_asks_that_nobody_fetches_get_permits_once_in_a_while(store: Store) -> None:
    queue = new_queue()
    for _ in range(3):
        asked_run(store, queue)
    with store.database.begin() as connection:
        connection.exec_driver_sql(f"UPDATE asks SET created_at = created_at - 3 WHERE queue = '{queue}'")

    assert len(store.permits(queue, waiting=1)) == 2
    assert len(store.permits(queue, waiting=0)) == 1
    assert store.permits(queue, waiting=0) == []
    stat = next(found for found in store.queue_stats() if found.queue == queue)
    assert (stat.runnable, stat.leased, stat.delayed) == (3, 0, 0)
    assert stat.oldest_age >= 3


def test_one_holder_sweeps_a_queue_at_a_time(store: Store) -> None:
    queue = new_queue()

    assert store.sweep_lease(queue, "a", 60)
    assert not store.sweep_lease(queue, "b", 60)
    assert store.sweep_lease(queue, "a", -1)
    assert store.sweep_lease(queue, "b", 60)


def test_a_run_that_nobody_moves_is_due(store: Store) -> None:
    queue = new_queue()
    run = asked_run(store, queue)
    assert store.reply(_claimed(store, queue, new_worker(store, queue)), Reply(kind="nothing"))

    assert run.id not in store.due_moves(limit=1000, patience=60)
    assert run.id in store.due_moves(limit=1000, patience=0)
