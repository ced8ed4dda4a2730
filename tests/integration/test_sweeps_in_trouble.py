"""Sweeps while something is wrong that is not theirs: what else there is to do is done."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url
from tests.e2e.waiting import until
from tests.support.either_database import postgres_url  # noqa: F401 - a fixture
from tests.support.served_parts import Desk

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, StatusCode, Task
from turnwise.base.clock import Event, SystemClock
from turnwise.base.ids import new_id
from turnwise.bus.in_process import InProcessBus
from turnwise.errors import BrokerUnavailableError, DatabaseUnavailableError, RunChangedError
from turnwise.messages.document import ChatDocument
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.batches.batch_record import NewBatch
from turnwise.record.database.database import Database
from turnwise.record.store import Store
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


def _app(kind: type[Task] = Task) -> App:
    app = App("sweeps")

    def made() -> Task:
        model = MockLMConfig(response_fn=lambda _: "DONE well")
        return kind(ChatAgent(ChatAgentConfig(name="desk", llm=model)), interactive=False)

    app.task(name="desk")(made)
    return app


def test_a_sweep_without_a_broker_does_what_needs_none(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'runs.db'}")
    database.migrate()
    with Desk(Store(database), _app(), bus=_AwayBus(), batch_expiry=0.001) as desk:
        batches = desk.store.tenant("acme").batches
        batch, _ = batches.open_batch(NewBatch(id=new_id("bat"), task="desk", concurrency=1))
        until(lambda: desk.store.coordinator.now() > batch.created_at + 0.001, "the batch to be too old")

        with pytest.raises(BrokerUnavailableError):
            desk.coordinator._sweeper.sweep()

        assert batches.batch(batch.id).expired_at is not None
    database.close()


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

        desk.coordinator._sweeper._move = move
        desk.coordinator._sweeper.sweep()
        assert sorted(moves) == sorted(runs)

        moves.clear()
        failing.update(runs)
        desk.coordinator._sweeper.sweep()
        assert sorted(moves) == sorted(runs)

        moves.clear()

        def away() -> float:
            raise DatabaseUnavailableError("the database is gone")

        monkeypatch.setattr(desk.coordinator._sweeper._record, "now", away)
        with pytest.raises(DatabaseUnavailableError, match="the database is gone"):
            desk.coordinator._sweeper.sweep()
        assert len(moves) == 1
    database.close()


@pytest.mark.postgres
def test_an_answer_is_kept_though_the_move_after_it_takes_too_long(
    postgres_url: str,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reply_writer, "_LONGEST_MOVE", _LIMIT)
    options = {"options": f"-c idle_in_transaction_session_timeout={_LIMIT * 1000:.0f}ms"}
    database = Database(make_url(postgres_url).update_query_dict(options).render_as_string(hide_password=False))
    with Desk(Store(database), _app(_Hesitating)) as desk:
        run = desk.submit("desk", max_tokens=1_000)

        assert desk.answer(desk.coordinator.move(run))

        assert desk.events(run)[-2:] == ["turn.replied", "usage.settled"]
        assert not desk.store.inspector.run(run).ended
    database.close()


@pytest.mark.postgres
def test_a_sweep_waits_for_no_run_that_another_has(postgres_url: str) -> None:  # noqa: F811
    database = Database(postgres_url)
    with Desk(Store(database), _app()) as desk:
        held, free = desk.submit("desk", deadline=0.001), desk.submit("desk", deadline=0.001)
        with desk.store.coordinator.locked(held):
            desk.coordinator._sweeper.sweep()

            assert desk.store.inspector.run(free).ended
            with (
                pytest.raises(RunChangedError, match="another transaction is changing"),
                desk.store.coordinator.locked(held, wait=False),
            ):
                pass
        assert not desk.store.inspector.run(held).ended
        desk.coordinator._sweeper.sweep()

        assert desk.store.inspector.run(held).ended
    database.close()


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

    assert not desk.coordinator._sweeper._slept(1.0)
    assert store.coordinator.expire_leases() == []
    clock.gone += 5.0  # and then it does
    assert len(store.coordinator.expire_leases()) == 1
    database.close()
