"""Sweeps while something is wrong that is not theirs: what else there is to do is done."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url
from tests.e2e.waiting import until
from tests.support.databases import fresh_sqlite
from tests.support.either_database import postgres_url  # noqa: F401 - a fixture
from tests.support.interruption import until_it_waits
from tests.support.schedule_parts import let_pass, look_now, new_schedule, outcomes
from tests.support.served_parts import Desk
from tests.support.store_parts import new_run
from tests.support.sweep_parts import batch_sweep_of, schedule_sweep_of, sweeper_of

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, StatusCode, Task
from turnwise.base.clock import Event, SystemClock
from turnwise.base.ids import new_id
from turnwise.bus.envelope import AskEnvelope
from turnwise.bus.in_process import InProcessBus
from turnwise.errors import BrokerUnavailableError, DatabaseUnavailableError, RunChangedError
from turnwise.messages.document import ChatDocument
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.batches.batch_feeding import Fed
from turnwise.record.batches.batch_record import NewBatch, NewItem
from turnwise.record.database.database import Database
from turnwise.record.database.lock_waits import PATIENCE
from turnwise.record.database.schedule_tables import schedules
from turnwise.record.runs.submission import accept
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.admission import lock_admission
from turnwise.record.values.records import AskRecord, RunFilter
from turnwise_coordinator import schedules as schedule_sweeps
from turnwise_coordinator import slow_moves
from turnwise_responders import reply_writer

# Seconds that PostgreSQL lets a transaction rest here, and that a rule takes which takes too long.
_LIMIT, _TOO_LONG = 0.3, 1.0


class _Hesitating(Task):
    """Thinks for long about whether it is done, while its run is locked."""

    def done(self, result: ChatDocument | None = None, r: str | None = None) -> tuple[bool, StatusCode]:
        if result is not None:
            time.sleep(_TOO_LONG)
        return super().done(result, r)


class _AwayBus(InProcessBus):
    """A broker that cannot be asked."""

    def waiting(self, queue: str) -> int:
        raise BrokerUnavailableError(f"nobody answers for {queue}")


class _RefusingBus(InProcessBus):
    """A broker that takes no message for the queues of `asked`, and keeps count."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()

    def publish_ask(self, envelope: AskEnvelope) -> None:
        self.asked[envelope.queue] += 1
        raise BrokerUnavailableError(f"{envelope.queue} refuses the message")


def _app(kind: type[Task] = Task, *, said: str = "DONE well", helped: bool = False) -> App:
    """A task whose model says `said`; `helped`: it has a sub-task, which is asked where that does not end it."""
    app = App("sweeps")

    def made() -> Task:
        task = kind(_agent("desk", said), interactive=False)
        if helped:
            task.add_sub_task(Task(_agent("help", "DONE well"), interactive=False))
        return task

    app.task(name="desk")(made)
    return app


def _agent(name: str, said: str) -> ChatAgent:
    return ChatAgent(ChatAgentConfig(name=name, llm=MockLMConfig(response_fn=lambda _: said)))


def test_a_sweep_without_a_broker_does_what_needs_none(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'runs.db'}")
    database.migrate()
    with Desk(Store(database), _app(), bus=_AwayBus(), batch_expiry=0.001) as desk:
        batches = desk.store.tenant("acme").batches
        batch, _ = batches.open_batch(NewBatch(id=new_id("bat"), task="desk", concurrency=1))
        until(lambda: desk.store.coordinator.now() > batch.created_at + 0.001, "the batch to be too old")

        with pytest.raises(BrokerUnavailableError):
            desk.sweep()

        assert batches.batch(batch.id).expired_at is not None
    database.close()


def test_a_sweep_gives_up_a_queue_at_the_first_message_that_it_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, bus = Store(fresh_sqlite(tmp_path / "runs.db")), _RefusingBus()
    with Desk(store, _app(), bus=bus) as desk:
        lost: dict[str, list[AskRecord]] = {}
        for _ in range(3):
            run = desk.submit("desk")
            desk.coordinator.move(run)
            with store.coordinator.locked(run) as transaction:
                ask = transaction.open_ask()
            assert ask is not None and ask.queue is not None
            lost.setdefault(ask.queue, []).append(ask)
            lost.setdefault("other", []).append(replace(ask, queue=f"agent-{desk.own}"))
        lost[f"agent-{desk.own}"] = lost.pop("other")
        bus.asked.clear()
        monkeypatch.setattr(store.coordinator, "permits", lambda queue, *_, **__: lost.get(queue, []))

        desk.sweep()

        assert bus.asked == dict.fromkeys(lost, 1)
    store.database.close()


def test_moves_that_are_cut_off_are_not_the_end_of_a_sweep_unless_the_database_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'runs.db'}")
    database.migrate()
    with Desk(Store(database), _app()) as desk:
        runs = [desk.submit("desk", deadline=0.001) for _ in range(5)]
        until(lambda: len(desk.store.coordinator.due_moves()) == len(runs), "all deadlines to pass")
        failing, moves = {runs[0]}, []

        def move(run_id: str) -> None:
            moves.append(run_id)
            if run_id in failing:
                raise DatabaseUnavailableError("the transaction is gone")

        sweeper = sweeper_of(desk, move)
        sweeper.sweep()
        assert sorted(moves) == sorted(runs)

        moves.clear()
        failing.update(runs)
        sweeper.sweep()
        assert sorted(moves) == sorted(runs)

        moves.clear()

        def away() -> float:
            raise DatabaseUnavailableError("the database is gone")

        monkeypatch.setattr(desk.store.coordinator, "now", away)
        with pytest.raises(DatabaseUnavailableError, match="the database is gone"):
            sweeper.sweep()
        assert len(moves) == 1
    database.close()


def test_a_part_that_the_database_refuses_keeps_no_other_from_its_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'runs.db'}")
    database.migrate()
    with Desk(Store(database), _app()) as desk:
        run = desk.submit("desk", deadline=0.001)
        until(lambda: desk.store.coordinator.due_moves() == [run], "the deadline to pass")

        def refused() -> None:
            raise DatabaseUnavailableError("refuses its user a permission")

        monkeypatch.setattr(desk.store.coordinator, "count_left_usage", refused)
        with pytest.raises(DatabaseUnavailableError, match="refuses its user"):
            desk.sweep()

        assert desk.store.inspector.run(run).ended
    database.close()


def test_schedules_that_cannot_be_carried_out_do_not_keep_the_others(tmp_path: Path) -> None:
    store = Store(fresh_sqlite(tmp_path / "runs.db"))
    with Desk(store, _app()) as desk:
        # More than one look reads, and this host does not have their time zone.
        broken = [new_schedule(store, "noisy", task="desk") for _ in range(101)]
        with store.database.begin() as connection:
            connection.execute(sa.update(schedules).values(timezone="Nowhere/At_All"))
        good = new_schedule(store, "quiet", task="desk")
        for one in broken:
            let_pass(store, one, 3_602)
        let_pass(store, good, 3_601)
        sweep = schedule_sweep_of(desk)

        for _ in range(2):
            sweep.sweep()

        assert outcomes(store, good) == [("submitted", 1)]
        assert {outcome for one in broken for outcome in outcomes(store, one)} == set()
        with store.database.begin() as connection:  # what they lacked is there
            connection.execute(sa.update(schedules).values(timezone="UTC"))
        look_now(store, broken[0])
        sweep.sweep()
        assert outcomes(store, broken[0]) == [("submitted", 1)]
    store.database.close()


def test_schedules_keep_their_place_through_an_outage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(fresh_sqlite(tmp_path / "runs.db"))
    with Desk(store, _app()) as desk:
        schedule = new_schedule(store, "acme", task="desk")
        let_pass(store, schedule, 3_601)
        sweep = schedule_sweep_of(desk)

        def away(*_: object) -> None:
            raise DatabaseUnavailableError("the database is gone")

        with monkeypatch.context() as during:
            during.setattr(store.coordinator, "fire_schedule", away)
            with pytest.raises(DatabaseUnavailableError):
                sweep.sweep()
        sweep.sweep()

        assert outcomes(store, schedule) == [("submitted", 1)]
    store.database.close()


def _impatient(url: str, monkeypatch: pytest.MonkeyPatch) -> Database:
    """A PostgreSQL that lets a transaction rest for `_LIMIT` seconds, as workers and coordinators expect of it."""
    for place in (reply_writer, slow_moves):
        monkeypatch.setattr(place, "LONGEST_MOVE", _LIMIT)
    options = {"options": f"-c idle_in_transaction_session_timeout={_LIMIT * 1000:.0f}ms"}
    return Database(make_url(url).update_query_dict(options).render_as_string(hide_password=False))


@pytest.mark.postgres
def test_an_answer_is_kept_though_the_move_after_it_takes_too_long(
    postgres_url: str,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database = _impatient(postgres_url, monkeypatch)
    with Desk(Store(database), _app(_Hesitating)) as desk:
        run = desk.submit("desk", max_tokens=1_000)

        assert desk.answer(desk.coordinator.move(run))

        assert desk.events(run)[-2:] == ["turn.replied", "usage.settled"]
        assert not desk.store.inspector.run(run).ended
    database.close()


@pytest.mark.postgres
@pytest.mark.parametrize("then", ["end", "sub_task"])
def test_a_run_ends_whose_rules_take_longer_than_a_transaction_may_rest(
    postgres_url: str,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    then: str,
) -> None:
    database = _impatient(postgres_url, monkeypatch)
    # A sub-task that begins reads its agent, the end of a run only writes.
    app = _app(_Hesitating) if then == "end" else _app(_Hesitating, said="help me", helped=True)
    with Desk(Store(database), app) as desk:
        run = desk.submit("desk", max_tokens=1_000)
        assert desk.answer(desk.coordinator.move(run))

        for _ in range(2):
            with pytest.raises(DatabaseUnavailableError):
                desk.coordinator.move(run)
        assert desk.coordinator.move(run).ended

        kept = desk.store.inspector.run(run)
        assert (kept.status, kept.error is not None) == (RunStatus.FAILED, True)
        assert "3 times in turn" in str(kept.error)
    database.close()


@pytest.mark.postgres
def test_a_sweep_waits_for_no_run_that_another_has(postgres_url: str) -> None:  # noqa: F811
    database = Database(postgres_url)
    with Desk(Store(database), _app()) as desk:
        held, free = desk.submit("desk", deadline=0.001), desk.submit("desk", deadline=0.001)
        with desk.store.coordinator.locked(held):
            desk.sweep()

            assert desk.store.inspector.run(free).ended
            with (
                pytest.raises(RunChangedError, match="another transaction is changing"),
                desk.store.coordinator.locked(held, wait=False),
            ):
                pass
        assert not desk.store.inspector.run(held).ended
        desk.sweep()

        assert desk.store.inspector.run(held).ended
    database.close()


@pytest.mark.postgres
def test_a_sweep_waits_for_no_submission_of_a_tenant(postgres_url: str) -> None:  # noqa: F811
    store = Store(Database(postgres_url))
    tenants = new_id("busy"), new_id("quiet")
    with Desk(store, _app(), tenant_max_unfinished_runs=10) as desk:
        schedules, batches = [], []
        for tenant in tenants:
            for _ in range(2):
                schedules.append(new_schedule(store, tenant, task="desk"))
                let_pass(store, schedules[-1], 3_601)
                made = store.tenant(tenant).batches
                batches.append(made.open_batch(NewBatch(id=new_id("bat"), task="desk", concurrency=1))[0])
                made.add_items(batches[-1].id, 1, [NewItem(key="one", run=replace(new_run(task="desk"), id=""))])
        ticks_due, items_due = schedule_sweep_of(desk), batch_sweep_of(desk)

        def begun() -> list[int]:
            ticks = [len(outcomes(store, one)) for one in schedules]
            return ticks + [len(store.tenant(of).runs(RunFilter(batch=one.id))[0]) for of, one in work]

        def sweep() -> None:
            ticks_due.sweep()
            items_due.sweep()

        work = list(zip((tenants[0], tenants[0], tenants[1], tenants[1]), batches, strict=True))
        with ThreadPoolExecutor(1) as pool, store.database.begin() as submission:
            lock_admission(store.database, submission, tenants[0])
            pool.submit(sweep).result(timeout=30)
            assert begun() == [0, 0, 1, 1] * 2
        for one in schedules[:2]:
            look_now(store, one)
        sweep()
        assert begun() == [1] * 8
    store.database.close()


@pytest.mark.postgres
def test_each_schedule_of_a_tenant_is_waited_for_while_none_was_postponed(
    postgres_url: str,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schedule_sweeps, "PATIENCE", 30.0)
    store, tenant = Store(Database(postgres_url)), new_id("busy")
    with Desk(store, _app()) as desk, ThreadPoolExecutor(1) as pool:
        first, second = (
            new_schedule(store, tenant, task="desk", every=3_600.0, session_id=of) for of in ("ann", "bob")
        )
        let_pass(store, first, 3_602)
        let_pass(store, second, 3_601)

        with store.database.begin() as submission:
            accept(store.database, submission, tenant, new_run(session_id="bob"), None)
            swept = pool.submit(schedule_sweep_of(desk).sweep)
            until_it_waits(store, swept.done)
        swept.result(timeout=30)

        assert [outcomes(store, one) for one in (first, second)] == [[("submitted", 1)]] * 2
    store.database.close()


def test_batches_of_a_tenant_are_waited_for_until_one_was_postponed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(fresh_sqlite(tmp_path / "runs.db"))
    with Desk(store, _app(), tenant_max_unfinished_runs=10) as desk:
        made = store.tenant("acme").batches
        for _ in range(4):
            batch, _ = made.open_batch(NewBatch(id=new_id("bat"), task="desk", concurrency=1))
            made.add_items(batch.id, 1, [NewItem(key="one", run=replace(new_run(task="desk"), id=""))])
        given, slow = [], iter((False, True, False, False))

        def feed(*_: object, patience: float, **__: object) -> Fed:
            given.append(patience)
            return Fed(runs=[], postponed=next(slow))

        monkeypatch.setattr(store.coordinator, "feed_batch", feed)
        batch_sweep_of(desk).sweep()

        assert given == [PATIENCE, PATIENCE, 0.0, 0.0]
    store.database.close()


class _Stopped(SystemClock):
    """The clock of a process that is stopped for ten seconds whenever it waits."""

    gone = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.gone

    def event(self) -> Event:
        flag, clock = super().event(), self

        class Flag:
            set, clear, is_set = flag.set, flag.clear, flag.is_set

            def wait(self, timeout: float | None = None) -> bool:
                clock.gone += (timeout or 0.0) + 10.0
                return flag.is_set()

        return Flag()


def test_a_sweeper_that_was_stopped_takes_nothing_over_for_a_lease(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'runs.db'}")
    database.migrate()
    clock = _Stopped()
    store = Store(database, clock=clock, lease_seconds=5.0)
    desk = Desk(store, _app())
    desk.coordinator.move(desk.submit("desk"))
    gone = store.process.register_worker(WorkerInfo(kind="responders", queues=(), host="h", pid=1, version="1"))
    assert store.worker.claim(f"llm-{desk.own}", gone) is not None
    store.process.retire_worker(gone)

    assert not sweeper_of(desk).sleep(1.0)
    assert store.coordinator.expire_leases() == []
    clock.gone += 5.0  # and then it does
    assert len(store.coordinator.expire_leases()) == 1
    database.close()
