"""Claims, replies and what repairs them, on each database."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
import sqlalchemy as sa
from tests.e2e.waiting import until
from tests.support.interruption import until_it_waits
from tests.support.kept_values import kept
from tests.support.store_parts import asked_run, claimed, lose, new_ask, new_queue, new_worker

from turnwise.base.clock import SystemClock
from turnwise.base.waits import RetryWait
from turnwise.record.database.database import Database
from turnwise.record.database.schema import events, runs
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.kept_errors import CodedError
from turnwise.record.values.outcomes import Deferral, FailedCall, Parking, Reply
from turnwise.record.values.records import NewDocument, NewHistory, Usage


def _lapse(store: Store, worker: str) -> None:
    """Wait until the worker's lease is over."""
    lease = next(found.lease_until for found in store.monitor.workers() if found.id == worker)
    until(lambda: store.process.now() > lease, "the lease to be over", every=0.01)


def _expire(store: Store) -> list[str]:
    return [ask.run_id for ask in store.coordinator.expire_leases()]


def test_the_best_ask_comes_first_with_all_that_its_responder_needs(store: Store) -> None:
    queue = new_queue()
    asked_run(store, queue)
    urgent = asked_run(store, queue, priority=5)

    claim = claimed(store, queue, new_worker(store, queue))

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
        while claim := store.worker.claim(queue, worker):
            taken.append(claim.ask.run_id)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(taken) == len(set(taken))
    assert set(taken) <= made
    while claim := store.worker.claim(queue, worker):  # a worker may give up while others hold the last runs
        taken.append(claim.ask.run_id)
    assert set(taken) == made


@pytest.mark.parametrize("changed", [False, True])
def test_a_claim_tells_enough_of_the_run_for_the_reply_and_the_move_unless_the_run_has_changed(
    store: Store, changed: bool
) -> None:
    queue = new_queue()
    run = asked_run(store, queue)
    claim = claimed(store, queue, new_worker(store, queue))
    if changed:
        store.tenant(DEFAULT_TENANT).request_cancel(run.id)
    locked: list[bool] = []

    def move(transaction: RunTransaction) -> None:
        (frame,) = transaction.frames()
        transaction.save_frame(frame.no, {"step": frame.state["step"] + 1})
        assert transaction.documents(["doc-1"]) == {"doc-1": {"content": "hello"}}
        assert transaction.agent("triage").key == "triage"
        transaction.add_ask(new_ask(queue, turn=2))
        locked.append(transaction.is_locked)

    assert store.worker.reply(claim, Reply(kind="nothing"), then=move)

    assert locked[-1] is changed
    with store.coordinator.locked(run.id) as transaction:
        assert [frame.state for frame in transaction.frames()] == [{"step": 1}]
        assert (transaction.run.cancel_requested_at is not None) is changed


def test_a_run_that_was_deferred_is_known_as_it_is_after_the_claim(store: Store) -> None:
    queue = new_queue()
    run = asked_run(store, queue)
    worker = new_worker(store, queue)
    deferral = Deferral(seconds=-1.0, waiting_for=RetryWait())
    assert store.worker.defer(claimed(store, queue, worker), deferral)
    assert store.inspector.run(run.id).status == "waiting"

    claim = claimed(store, queue, worker)
    seen: list[tuple[str, bool]] = []
    reply = Reply(kind="nothing")
    assert store.worker.reply(claim, reply, then=lambda tx: seen.append((tx.run.status, tx.is_locked)))

    assert seen == [("running", False)]
    assert store.inspector.run(run.id).status == "running"


def test_a_reply_is_written_with_everything_that_it_changes(store: Store) -> None:
    queue = new_queue()
    run = asked_run(store, queue)
    claim = claimed(store, queue, new_worker(store, queue))
    seen: list[str | None] = []

    accepted = store.worker.reply(
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

    after = store.inspector.run(run.id)
    assert accepted
    assert seen == ["doc-2"]
    assert [event.type for event in store.inspector.events(run.id)][2:] == ["turn.replied", "usage.settled"]
    assert store.inspector.transcript_documents(run.id) == [{"content": "hello"}, {"content": "hi \ud800"}]
    assert (after.prompt_tokens, after.calls, after.cost) == (7, 1, Decimal("0.000001"))
    assert after.move_due_at is not None
    with store.coordinator.locked(run.id) as transaction:
        agent = transaction.agent("triage")
    assert (agent.record, agent.state, agent.history_len) == ({"tools": ["a"]}, {"visits": 1}, 1)
    assert store.inspector.bytes_stored(run.id) > 200


def test_a_lapsed_lease_is_retaken_and_the_late_reply_only_booked(store: Store) -> None:
    queue = new_queue()
    run = asked_run(store, queue)
    zombie = new_worker(store, queue)
    lost = claimed(store, queue, zombie)

    _lapse(store, zombie)
    until(lambda: run.id in _expire(store), "it to be found", every=0.01)
    claim = claimed(store, queue, new_worker(store, queue))
    late = Reply(kind="answer", document=NewDocument(id="late", body={}), usage=Usage(cost=Decimal("0.5")))

    assert not store.process.beat(zombie)
    assert store.worker.claim(queue, zombie) is None
    assert not store.worker.reply(lost, late)
    assert not store.worker.reply(lost, late)
    assert store.inspector.run(run.id).cost == Decimal("0.5")
    assert store.worker.reply(claim, Reply(kind="nothing"))
    assert store.worker.reply(claim, Reply(kind="nothing"))
    told = [event.type for event in store.inspector.events(run.id)][2:]
    assert told == ["ask.expired", "usage.settled", "turn.replied"]


def test_a_released_ask_is_claimed_again_at_no_cost_of_attempts(store: Store) -> None:
    queue = new_queue()
    asked_run(store, queue)
    worker = new_worker(store, queue)
    first = claimed(store, queue, worker)

    assert store.worker.release(first, "shutdown")
    assert store.worker.release(first, "shutdown")  # as after a lost connection
    again = claimed(store, queue, worker)

    assert again.ask.attempts == 1
    assert again.token > first.token


def test_ended_and_cancelled_runs_are_notclaimed(store: Store) -> None:
    queue = new_queue()
    cancelled, ended = asked_run(store, queue), asked_run(store, queue)
    store.tenant(DEFAULT_TENANT).request_cancel(cancelled.id)
    with store.coordinator.locked(ended.id) as transaction:
        transaction.finish(RunStatus.FAILED, "ERROR")

    assert store.worker.claim(queue, new_worker(store, queue)) is None


def test_asks_that_nobody_fetches_get_permits_once_in_a_while(store: Store) -> None:
    queue = new_queue()
    for _ in range(3):
        asked_run(store, queue)
    with store.database.begin() as connection:
        connection.exec_driver_sql(f"UPDATE asks SET created_at = created_at - 3 WHERE queue = '{queue}'")

    assert len(store.coordinator.permits(queue, waiting=1)) == 2
    assert len(store.coordinator.permits(queue, waiting=0)) == 1
    assert store.coordinator.permits(queue, waiting=0) == []
    stat = next(found for found in store.inspector.queue_stats() if found.queue == queue)
    assert (stat.runnable, stat.leased, stat.delayed) == (3, 0, 0)
    assert stat.oldest_age >= 3


def test_one_holder_sweeps_a_queue_at_a_time(store: Store) -> None:
    queue = new_queue()

    assert store.coordinator.sweep_lease(queue, "a", 60)
    assert not store.coordinator.sweep_lease(queue, "b", 60)
    assert store.coordinator.sweep_lease(queue, "a", -1)
    assert store.coordinator.sweep_lease(queue, "b", 60)


def test_a_run_that_nobody_moves_is_due(store: Store) -> None:
    queue = new_queue()
    run = asked_run(store, queue)
    assert store.worker.reply(claimed(store, queue, new_worker(store, queue)), Reply(kind="nothing"))

    assert run.id not in store.coordinator.due_moves(limit=1000, patience=60)
    assert run.id in store.coordinator.due_moves(limit=1000, patience=0)


def test_a_sweep_finds_what_was_due_before_the_clock_was_set_back(store: Store) -> None:
    queue, other = new_queue(), new_queue()
    asked, new, moved = asked_run(store, queue), asked_run(store, queue), asked_run(store, other)
    assert store.worker.reply(claimed(store, other, new_worker(store, other)), Reply(kind="nothing"))
    assert store.coordinator.sweep_lease(queue, "gone", 60)
    with store.database.begin() as connection:
        for change in (
            f"asks SET created_at = created_at + 3600, topup_after = created_at + 3630 WHERE run_id = '{asked.id}'",
            f"runs SET move_due_at = move_due_at + 3600 WHERE id = '{moved.id}'",
            f"sweep_leases SET lease_until = lease_until + 3600 WHERE queue = '{queue}'",
        ):
            connection.exec_driver_sql(f"UPDATE {change}")

    assert store.coordinator.sweep_lease(queue, "b", 60)
    assert not store.coordinator.sweep_lease(queue, "gone", 60)
    assert [ask.run_id for ask in store.coordinator.permits(queue, waiting=0)] == [asked.id]
    assert store.coordinator.permits(queue, waiting=0) == []
    due = store.coordinator.due_moves(limit=10_000)
    assert moved.id in due
    assert new.id not in due


def test_an_ask_that_is_put_off_is_held_by_nobody_until_it_is_due(store: Store) -> None:
    queue = new_queue()
    run = asked_run(store, queue)
    worker = new_worker(store, queue)
    claim = claimed(store, queue, worker)
    usage = Usage(prompt_tokens=3, cost=Decimal("0.25"))
    failed = FailedCall(error=CodedError(code="away", message="503"), attempt=1, wait=1.5)

    assert store.worker.defer(claim, Deferral(seconds=1.5, waiting_for=RetryWait(), usage=usage, failed=failed))

    put_off = store.inspector.run(run.id)
    assert put_off.status == "waiting"
    assert put_off.cost == Decimal("0.25")
    assert put_off.waiting_for is not None
    assert kept(put_off.waiting_for)["kind"] == "retry"
    assert kept(put_off.waiting_for)["due_at"] > put_off.created_at
    last = store.inspector.events(run.id)[-1]
    assert (last.type, (last.data or {})["error"]["message"]) == ("ask.deferred", "503")
    assert store.worker.claim(queue, worker) is None
    assert store.worker.defer(claim, Deferral(seconds=0, waiting_for=RetryWait()))  # it has been deferred, for longer
    assert store.worker.claim(queue, worker) is None
    assert not store.worker.reply(claim, Reply(kind="nothing"))

    again = until(lambda: store.worker.claim(queue, worker), "the deferral to be over", every=0.01)
    assert (again.ask.id, again.ask.attempts, again.ask.deferrals) == (claim.ask.id, 1, 1)
    assert again.token > claim.token
    assert (again.run.status, store.inspector.run(run.id).status) == ("running", "running")
    assert store.worker.reply(again, Reply(kind="nothing"))


def test_a_try_that_counts_is_one_of_the_attempts_of_an_ask_that_is_put_off(store: Store) -> None:
    queue = new_queue()
    asked_run(store, queue)
    worker = new_worker(store, queue)
    claim = claimed(store, queue, worker)

    assert store.worker.defer(claim, Deferral(seconds=0, waiting_for=RetryWait(), counts=True))

    assert claimed(store, queue, worker).ask.attempts == 2


@pytest.mark.parametrize("lost", [False, True], ids=["by its worker", "after its last attempt"])
def test_a_cancelled_run_is_due_although_its_ask_is_parked(store: Store, lost: bool) -> None:
    queue = new_queue()
    run = asked_run(store, queue, max_attempts=1)
    claim = claimed(store, queue, new_worker(store, queue))
    store.tenant(DEFAULT_TENANT).request_cancel(run.id)

    if lost:
        lose(store, claim)
    else:
        assert store.worker.park(claim, Parking(reason="unknown_outcome"))

    assert store.inspector.situation(run.id).ask.status == "parked"  # type: ignore[union-attr]
    assert run.id in store.coordinator.due_moves(limit=10_000, patience=0.0)


def test_an_ask_that_cannot_be_taken_over_leaves_the_others_alone(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    store, queue = Store(database, lease_seconds=0.5), new_queue()
    damaged, sound = asked_run(store, queue), asked_run(store, queue)
    worker = new_worker(store, queue)
    held = {claimed(store, queue, worker).ask.run_id for _ in range(2)}
    assert held == {damaged.id, sound.id}
    with database.begin() as connection:  # an event of which the run does not know
        last = connection.execute(sa.select(runs.c.last_seq).where(runs.c.id == damaged.id)).scalar_one()
        event = {"run_id": damaged.id, "seq": last + 1, "type": "turn.asked", "at": 0.0, "data": {}}
        connection.execute(sa.insert(events).values(event))
    _lapse(store, worker)

    assert sound.id in _expire(store)

    told = [(line.action, line.run) for line in caplog.records if line.levelname == "ERROR"]  # type: ignore[attr-defined]
    assert told == [("ask_not_taken_over", damaged.id)]
    with database.begin() as connection:
        connection.execute(sa.delete(events).where(events.c.run_id == damaged.id, events.c.seq > last))
    assert damaged.id in _expire(store)


class _SetBack(SystemClock):
    """A process's clock, beside which the database's seems to have been set forward by `seconds`."""

    seconds = 0.0

    def monotonic(self) -> float:
        return super().monotonic() - self.seconds


def test_leases_do_not_end_because_the_databases_clock_was_set(database: Database) -> None:
    clock = _SetBack()
    store, queue = Store(database, clock=clock, lease_seconds=0.5), new_queue()
    run = asked_run(store, queue)
    worker = new_worker(store, queue)
    claimed(store, queue, worker)
    store.coordinator.expire_leases()

    clock.seconds = 30.0
    _lapse(store, worker)

    assert run.id not in _expire(store)
    assert store.process.beat(worker)
    _lapse(store, worker)  # and here it is lost indeed
    until(lambda: run.id in _expire(store), "it to be found", every=0.01)


class _HeldUp(SystemClock):
    """A process's clock, on which `seconds` go by between the next look at it and the one after that."""

    seconds, _gone = 0.0, 0.0

    def monotonic(self) -> float:
        shown = super().monotonic() + self._gone
        self._gone, self.seconds = self._gone + self.seconds, 0.0
        return shown


def test_a_sweep_that_was_held_up_leaves_the_living_the_time_to_renew_their_leases(database: Database) -> None:
    clock = _HeldUp()
    store, queue = Store(database, clock=clock, lease_seconds=0.5), new_queue()
    run = asked_run(store, queue)
    worker = new_worker(store, queue)
    claimed(store, queue, worker)
    _lapse(store, worker)

    clock.seconds = 1.5  # as long as the database hung, or another process wrote
    assert run.id not in _expire(store)
    assert store.process.beat(worker)
    store.coordinator.wait_one_lease(0.9)  # within what a busy machine takes
    _lapse(store, worker)
    until(lambda: run.id in _expire(store), "it to be found", every=0.01)


def test_a_lock_on_the_table_of_workers_ends_no_lease(database: Database) -> None:
    if not database.is_postgres:
        pytest.skip("SQLite lets one writer in at a time")
    store, queue = Store(database, lease_seconds=0.5), new_queue()
    run = asked_run(store, queue)
    worker = new_worker(store, queue)
    claimed(store, queue, worker)
    _lapse(store, worker)

    with ThreadPoolExecutor(1) as pool:
        with database.begin() as other:  # as ALTER TABLE and VACUUM FULL have it, with all beats waiting
            other.exec_driver_sql("LOCK TABLE workers IN ACCESS EXCLUSIVE MODE")
            sweep = pool.submit(_expire, store)
            until_it_waits(store, sweep.done)
        assert run.id not in sweep.result(timeout=10)
    assert store.process.beat(worker)
    _lapse(store, worker)
    until(lambda: run.id in _expire(store), "it to be found", every=0.01)


@pytest.mark.parametrize("others", [pytest.param(0, id="a few"), pytest.param(30, id="many")])
def test_work_is_unwanted_once_its_run_ends_or_another_has_it(database: Database, others: int) -> None:
    store, queue = Store(database, lease_seconds=60), new_queue()
    for _ in range(4):
        asked_run(store, queue)
    worker, other = new_worker(store, queue), new_worker(store, queue)
    wanted, cancelled, ended, lost = (claimed(store, queue, holder) for holder in (worker, worker, worker, other))
    store.tenant(DEFAULT_TENANT).request_cancel(cancelled.ask.run_id)
    with store.coordinator.locked(ended.ask.run_id) as transaction:
        transaction.finish(RunStatus.FAILED, "TIMEOUT")
    lose(store, lost)

    found = store.worker.unwanted([*[wanted] * others, wanted, cancelled, ended, lost])

    assert {(claim.ask.run_id, why) for claim, why in found} == {
        (cancelled.ask.run_id, "ended"),
        (ended.ask.run_id, "ended"),
        (lost.ask.run_id, "lost"),
    }
    assert store.worker.unwanted([]) == []
