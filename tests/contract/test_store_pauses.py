"""Pauses of a queue, a task and a tenant, on each database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.kept_values import kept
from tests.support.store_parts import asked_run, new_queue, new_run, new_worker

from turnwise.base.ids import new_id
from turnwise.base.waits import ProviderLimitWait
from turnwise.errors import NotFoundError
from turnwise.models.limits.provider import Provider, ProviderWait, Target
from turnwise.models.limits.window import Caps
from turnwise.record.asks.pauses import KINDS, PauseKind
from turnwise.record.store import Store
from turnwise.record.tenants.caller import Deed
from turnwise.record.tenants.reach import OneTenant
from turnwise.record.values.outcomes import Deferral, Reply
from turnwise.record.values.records import Claim, RunRecord
from turnwise.serving.moves.pausing import hold_if_paused
from turnwise.serving.wait_reason import why_waiting


class Place:
    """A queue, a task and a tenant of a test's own, for the tests share the PostgreSQL database."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.names: dict[PauseKind, str] = {"queue": new_queue(), "task": new_id("task"), "tenant": new_id("tenant")}
        self.queue = self.names["queue"]
        self.worker = new_worker(store, self.queue)
        self.made: set[str] = set()

    def run(self) -> RunRecord:
        """A run that waits for an ask of the queue."""
        return self._asked(task=self.names["task"], tenant=self.names["tenant"])

    def new(self) -> RunRecord:
        """A run that has not begun."""
        return self._noted(self.store.tenant(self.names["tenant"]).submit(new_run(task=self.names["task"]))[0])

    def other(self) -> RunRecord:
        """A run of another task and tenant that waits for an ask of the same queue."""
        return self._asked(task=new_id("task"), tenant=new_id("tenant"))

    def claim(self) -> Claim | None:
        return self.store.worker.claim(self.queue, self.worker)

    def pause(self, kind: PauseKind, reason: str | None = None) -> None:
        self.store.operator().pause(kind, self.names[kind], reason, "key:operator")

    def resume(self, kind: PauseKind) -> tuple[list[str], list[str]]:
        """End the pause; the runs of this place to wake, and those whose asks get a permit.

        It also lets go of what other tests have left in the database.
        """
        self.store.operator().resume(kind, self.names[kind])
        runs: list[str] = []
        asks: list[str] = []
        while (freed := self.store.coordinator.let_go()) is not None:
            runs += [run.id for run in freed.runs]
            asks += [ask.run_id for ask in freed.asks]
        return [run for run in runs if run in self.made], [run for run in asks if run in self.made]

    def hold(self, run: RunRecord) -> bool:
        with self.store.coordinator.locked(run.id) as transaction:
            return hold_if_paused(transaction)

    def tenant_may_be_known(self) -> None:
        """Forget which queues have several tenants, as a process does after a second."""
        self.store.core.tenant_shares._seen.clear()

    def _asked(self, **run: str) -> RunRecord:
        return self._noted(asked_run(self.store, self.queue, run=run))

    def _noted(self, run: RunRecord) -> RunRecord:
        self.made.add(run.id)
        return run


@pytest.fixture
def place(store: Store) -> Iterator[Place]:
    made = Place(store)
    yield made
    for kind in KINDS:
        try:
            made.resume(kind)
        except NotFoundError:
            continue


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_claimed_while_it_is_paused_and_at_once_after(place: Place, kind: PauseKind) -> None:
    run = place.run()

    place.pause(kind)
    paused = place.claim()
    woken, permits = place.resume(kind)
    resumed = place.claim()

    assert paused is None
    assert (woken, permits) == ([], [run.id])
    assert resumed is not None
    assert resumed.run.id == run.id


@pytest.mark.parametrize("several", [False, True], ids=["one tenant known", "several tenants known"])
@pytest.mark.parametrize("kind", ["task", "tenant"])
def test_others_of_the_queue_go_on(place: Place, kind: PauseKind, several: bool) -> None:
    if several:
        place.run()
        place.other()
        place.tenant_may_be_known()
    else:
        place.run()
    assert place.claim() is not None
    place.pause(kind)
    place.run()
    other = place.other()

    found = []
    while (claim := place.claim()) is not None:
        found.append(claim.run.task)

    assert other.task in found
    assert place.names["task"] not in found


def test_what_is_leased_is_answered(place: Place) -> None:
    place.run()
    claim = place.claim()
    assert claim is not None

    place.pause("queue")

    assert place.store.worker.reply(claim, Reply(kind="nothing"))


@pytest.mark.parametrize("kind", KINDS)
def test_sweeps_and_idle_polls_leave_alone_what_is_paused(place: Place, kind: PauseKind) -> None:
    run = place.run()
    assert run.awaiting is not None
    _age(place.store, run, 10.0)
    place.pause(kind)

    paused = (place.store.coordinator.permits(place.queue, 0), place.store.worker.overlooked([place.queue], 5.0))
    place.store.operator().resume(kind, place.names[kind])
    resumed = (place.store.coordinator.permits(place.queue, 0), place.store.worker.overlooked([place.queue], 5.0))

    assert paused == ([], {})
    assert [ask.run_id for ask in resumed[0]] == [run.id]
    assert resumed[1] == {place.queue: 1}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_paused_is_no_backlog_and_has_no_age(place: Place, kind: PauseKind) -> None:
    run = place.run()
    _age(place.store, run, 100.0)
    place.pause(kind)

    stat = next(stat for stat in place.store.inspector.queue_stats() if stat.queue == place.queue)

    assert (stat.runnable, stat.leased, stat.delayed, stat.paused) == (0, 0, 0, 1)
    assert stat.oldest_age == 0


@pytest.mark.parametrize("kind", KINDS)
def test_an_ask_that_waits_for_a_provider_holds_up_no_other_while_it_is_paused(place: Place, kind: PauseKind) -> None:
    target = Target(
        provider=Provider(server="http://model", model=new_id("model"), account="account"), caps=Caps(requests=10)
    )
    place.run()
    first = place.claim()
    assert first is not None
    wait = ProviderWait(target=target, tokens=1)
    place.store.worker.defer(first, Deferral(seconds=0, waiting_for=ProviderLimitWait(model="m"), provider=wait))
    place.pause(kind)

    in_line = place.store.coordinator.next_in_line(place.queue, 10)
    with place.store.database.begin() as connection:
        taken = place.store.worker.take_place(connection, first, target, 1, "call", in_place=False)

    assert in_line == []
    assert type(taken).__name__ == "ProviderPlace"


@pytest.mark.parametrize("kind", ["task", "tenant"])
def test_a_new_run_stays_queued_and_is_due_again_after_the_pause(place: Place, kind: PauseKind) -> None:
    run = place.new()
    place.pause(kind, "the provider is away")

    held = place.hold(run)
    held_run = place.store.inspector.run(run.id)
    due = place.store.coordinator.due_moves(patience=0.0, limit=100_000)
    woken, permits = place.resume(kind)
    free = place.store.inspector.run(run.id)

    assert held
    assert (held_run.status, held_run.move_due_at) == ("queued", None)
    assert kept(held_run.waiting_for) == {"kind": "paused", "scope": kind, "name": place.names[kind]}
    assert run.id not in due
    assert (woken, permits) == ([run.id], [])
    assert free.move_due_at is not None
    assert not place.hold(free)


def test_a_paused_queue_lets_runs_begin(place: Place) -> None:
    place.pause("queue")

    assert not place.hold(place.new())


def test_a_run_of_a_session_that_is_held_is_not_looked_at_by_each_sweep(place: Place) -> None:
    run, _ = place.store.tenant(place.names["tenant"]).submit(
        new_run(task=place.names["task"], session_id=new_id("ses"))
    )
    place.pause("task")
    assert place.hold(run)

    assert run.id not in place.store.coordinator.due_moves(patience=0.0, limit=100_000)


def test_a_run_that_two_pauses_hold_goes_on_after_the_second(place: Place) -> None:
    run = place.new()
    place.pause("task")
    place.pause("tenant")
    assert place.hold(run)

    first, _ = place.resume("task")
    second, _ = place.resume("tenant")

    assert (first, second) == ([], [run.id])


def test_more_than_a_batch_is_let_go_and_a_process_that_died_in_between_is_made_up_for(place: Place) -> None:
    runs = [place.new() for _ in range(5)]
    place.pause("task")
    assert all(place.hold(run) for run in runs)

    place.store.operator().resume("task", place.names["task"])  # and it dies
    found: list[str] = []
    while (freed := place.store.coordinator.let_go(2)) is not None:
        assert len(freed.runs) <= 2
        found += [run.id for run in freed.runs]

    assert sorted(found) == sorted(run.id for run in runs)
    assert place.store.coordinator.let_go() is None


@pytest.mark.parametrize("kind", ["task", "tenant"])
def test_a_run_that_is_to_end_is_not_held(place: Place, kind: PauseKind) -> None:
    run = place.new()
    late, _ = place.store.tenant(place.names["tenant"]).submit(new_run(task=place.names["task"], deadline=0.0))
    place.pause(kind)
    place.store.tenant(run.tenant).request_cancel(run.id)

    assert not place.hold(place.store.inspector.run(run.id))
    assert not place.hold(late)
    assert {run.id, late.id} <= set(place.store.coordinator.due_moves(patience=0.0, limit=100_000))


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_says_what_pause_holds_it_since_when_and_why(place: Place, kind: PauseKind) -> None:
    run = place.run()
    place.pause(kind, "the provider is away")

    paused = kept(why_waiting(place.store.inspector.situation(run.id)))
    place.resume(kind)
    after = kept(why_waiting(place.store.inspector.situation(run.id)))

    assert paused is not None
    assert after is not None
    assert (paused["kind"], paused["scope"], paused["name"]) == ("paused", kind, place.names[kind])
    assert paused["reason"] == "the provider is away"
    assert paused["since"] is not None
    assert f"turnwise resume {kind} {place.names[kind]}" in paused["sentence"]
    assert after["kind"] != "paused"


def test_a_pause_is_listed_with_who_made_it_and_keeps_its_beginning(place: Place) -> None:
    name = place.names["tenant"]
    first = place.store.operator().pause("tenant", name, "flood", "key:a")
    second = place.store.operator().pause("tenant", name, "still a flood", "key:b")

    assert (second.since, second.reason, second.paused_by) == (first.since, "still a flood", "key:b")
    assert second in place.store.monitor.pauses()
    assert second in place.store.administrator(OneTenant(name)).pauses()
    assert second not in place.store.administrator(OneTenant("somebody-else")).pauses()


def test_a_pause_that_there_is_not_cannot_be_ended(place: Place) -> None:
    with pytest.raises(NotFoundError, match="is not paused"):
        place.store.operator().resume("queue", place.queue)


def test_each_change_is_in_the_audit_log(place: Place) -> None:
    name = place.names["task"]
    operator = Deed(actor="key:operator", tenant=new_id("tenant"), action="set_pause")
    place.store.operator(deed=operator).pause("task", name)
    place.store.operator(deed=operator).resume("task", name)

    found = place.store.administrator(OneTenant(operator.tenant)).audit()

    assert [(row.actor, row.resource, row.outcome) for row in found] == [("key:operator", f"task/{name}", "done")] * 2


def _age(store: Store, run: RunRecord, seconds: float) -> None:
    """Let the run's ask have waited for so long."""
    import sqlalchemy as sa

    from turnwise.record.database.schema import asks

    with store.database.begin() as connection:
        connection.execute(
            sa.update(asks).where(asks.c.run_id == run.id).values(created_at=asks.c.created_at - seconds)
        )
