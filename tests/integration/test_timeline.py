"""A served run's timeline: its spans neither overlap nor leave a gap, and say who did what, however the run went."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import sqlalchemy as sa
from tests.e2e.waiting import until
from tests.support.either_database import database, postgres_url  # noqa: F401
from tests.support.served_parts import Desk
from tests.support.store_parts import new_worker

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, RetryPolicy, Task, ToolMessage
from turnwise.api.timeline import TimelineView
from turnwise.errors import ModelUnavailableError
from turnwise.record.database.database import Database
from turnwise.record.database.schema import events, runs
from turnwise.record.past.retrying import RetryLimits
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import NewDocument, NewFork
from turnwise.timeline.run_timeline import timeline


class LookUp(ToolMessage):
    request: str = "look_up"
    purpose: str = "To look something up."
    _effect = "idempotent"

    def handle(self) -> str:
        return "found it"


class Model:
    """Says one thing after the other; an error is raised."""

    def __init__(self, *says: str | Exception) -> None:
        self._says = iter(says)

    def __call__(self, message: str) -> str:
        said = next(self._says)
        if isinstance(said, Exception):
            raise said
        return said


CALL = '{"request": "look_up"}'


def app_of(*says: str | Exception, human: bool = False) -> App:
    app, model = App("tests"), Model(*says)

    @app.task
    def desk() -> Task:
        retry = RetryPolicy(tries=3, first_wait=0.001, longest_wait=0.002)
        llm = MockLMConfig(response_fn=model)
        agent = ChatAgent(ChatAgentConfig(name="desk", llm=llm, retry=retry))
        agent.enable_message(LookUp)
        return Task(agent, interactive=human)

    return app


@pytest.fixture
def store(database: Database) -> Iterator[Store]:  # noqa: F811
    yield Store(database, lease_seconds=60)


def seen(store: Store, run_id: str, **page: Any) -> TimelineView:
    """The run's timeline, after a look at what holds of every one."""
    view = timeline(store.inspector, store.inspector.run(run_id), **page)
    run = store.inspector.run(run_id)
    spans = [span for item in view.items for span in item.spans]
    assert all(span.seconds > 0 for span in spans)
    if view.next_after is None and not page:
        for one, other in pairwise(spans):
            assert other.start == pytest.approx(one.start + one.seconds, abs=3e-6)
        assert sum(span.seconds for span in spans) == pytest.approx(view.seconds, abs=1e-5 + 1e-6 * len(spans))
    if run.finished_at is not None:
        began = run.created_at
        assert view.seconds == pytest.approx(run.finished_at - began, abs=1e-5)
    assert sum(one.share for one in view.shares) == pytest.approx(1, abs=0.01)
    return view


def work_on(desk: Desk, run_id: str) -> None:
    """Move and answer until the run has ended, whoever makes the moves."""
    for _ in range(100):
        if desk.coordinator.move(run_id).run.ended:
            return
        for queue in (f"llm-{desk.own}", f"agent-{desk.own}"):
            desk.responders.serve(queue)
    raise AssertionError(f"{run_id} has not ended")


def kinds(view: TimelineView) -> list[list[str]]:
    return [[span.kind for span in item.spans] for item in view.items]


@pytest.mark.parametrize("moves", ["worker", "coordinator"])
def test_each_ask_says_who_claimed_it_what_was_called_and_when_the_run_moved_on(store: Store, moves: str) -> None:
    with Desk(store, app_of(CALL, "DONE well"), moves=moves) as desk:
        run_id = desk.submit("desk")
        work_on(desk, run_id)
    view = seen(store, run_id)

    assert [(item.kind, item.responder, item.turn) for item in view.items] == [
        ("begin", "", 0),
        ("ask", "llm", 0),
        ("ask", "agent", 1),
        ("ask", "llm", 2),
    ]
    for item in view.items[1:]:
        (attempt,) = item.attempts
        assert (attempt.outcome, attempt.pid) == ("answered", view.items[1].attempts[0].pid)
        assert attempt.host and attempt.claimed_at is not None
        assert item.asked_at <= attempt.claimed_at <= attempt.ended_at
        assert item.answered_at == attempt.ended_at and item.moved_at is not None
        assert (item.moved_at == item.answered_at) is (moves == "worker")
        assert [call.kind for call in attempt.calls] == [{"llm": "model", "agent": "tool"}[item.responder]]
    assert view.items[2].attempts[0].calls[0].name == "look_up"
    assert {one.kind for one in view.shares} >= {"queue", "worker", "move"}
    assert view.summary.startswith("It took ")
    assert view.ended and view.status == "completed"


def test_a_lease_that_was_lost_is_told_with_its_worker(store: Store) -> None:
    with Desk(store, app_of("DONE well")) as desk:
        run_id = desk.submit("desk")
        moved = desk.coordinator.move(run_id)
        assert moved.ask is not None
        doomed = new_worker(store, moved.ask.queue)
        assert store.worker.claim(moved.ask.queue, doomed) is not None
        working = seen(store, run_id)
        assert (working.ended, working.items[-1].attempts[-1].outcome) == (False, "working")
        store.process.retire_worker(doomed, "dead")
        assert store.coordinator.expire_leases()
        work_on(desk, run_id)
    view = seen(store, run_id)

    lost, answered = view.items[-1].attempts
    assert (lost.worker, lost.host, lost.pid, lost.outcome) == (doomed, "here", 1, "lost")
    assert (answered.outcome, answered.worker == doomed) == ("answered", False)
    assert "lost" in kinds(view)[-1]
    assert "1 attempt was lost with a worker" in view.summary


def test_a_call_that_failed_is_told_as_a_retry(store: Store) -> None:
    with Desk(store, app_of(ModelUnavailableError("503"), "DONE well")) as desk:
        run_id = desk.submit("desk")
        moved = desk.coordinator.move(run_id)
        assert moved.ask is not None
        until(partial(desk.responders.answer, moved.ask), "the first try")
        until(partial(desk.responders.answer, moved.ask), "the next try to be due")
        work_on(desk, run_id)
    view = seen(store, run_id)
    first, second = view.items[-1].attempts
    assert (first.outcome, first.reason, second.outcome) == ("deferred", "503", "answered")
    assert first.calls[0].outcome == "failed"
    assert "retry" in kinds(view)[-1]


def test_the_time_of_a_human_is_the_humans(store: Store) -> None:
    with Desk(store, app_of("Which one?", "DONE well", human=True)) as desk:
        run_id = desk.submit("desk")
        assert desk.go_on(run_id).status == "waiting"
        waiting = seen(store, run_id)
        assert [span.kind for span in waiting.items[-1].spans] == ["human"]
        store.tenant(DEFAULT_TENANT).answer(
            run_id, NewDocument(id="doc_1", body={"content": "q", "metadata": {"sender": "User"}})
        )
        work_on(desk, run_id)
    view = seen(store, run_id)
    human = next(item for item in view.items if item.responder == "human")
    assert human.spans[0].kind == "human"
    assert (human.attempts, human.answered_at is None) == ([], False)


def test_work_that_the_end_of_the_run_cut_short_counts(store: Store) -> None:
    with Desk(store, app_of("DONE well")) as desk:
        run_id = desk.submit("desk")
        moved = desk.coordinator.move(run_id)
        assert moved.ask is not None
        worker = new_worker(store, moved.ask.queue)
        assert store.worker.claim(moved.ask.queue, worker) is not None
        store.tenant(DEFAULT_TENANT).request_cancel(run_id)
        desk.coordinator.move(run_id)
    view = seen(store, run_id)
    (attempt,) = view.items[-1].attempts
    assert (attempt.worker, attempt.outcome) == (worker, "cut")
    assert "model" in kinds(view)[-1]


def test_what_a_deadline_cut_short_is_unknown_once_a_retry_has_asked_again(store: Store) -> None:
    with Desk(store, app_of("DONE well")) as desk:
        run_id = desk.submit("desk", deadline=3_600.0)
        moved = desk.coordinator.move(run_id)
        assert moved.ask is not None
        assert store.worker.claim(moved.ask.queue, new_worker(store, moved.ask.queue)) is not None
        with store.database.begin() as connection:
            connection.execute(sa.update(runs).where(runs.c.id == run_id).values(deadline_at=1.0))
        assert desk.coordinator.move(run_id).run.status_code == "TIMEOUT"
        ended = seen(store, run_id)

        store.tenant(DEFAULT_TENANT).retry(run_id, RetryLimits(deadline=3_600.0))
        retried = seen(store, run_id)
        work_on(desk, run_id)

    assert "model" in kinds(ended)[1]
    assert [kinds(view)[1] for view in (retried, seen(store, run_id))] == [["unknown"], ["unknown"]]


def test_a_retried_run_tells_the_time_between_its_ends(store: Store) -> None:
    with Desk(store, app_of(ValueError("broken"), "DONE well")) as desk:
        run_id = desk.submit("desk")
        assert desk.go_on(run_id).status == "failed"
        store.tenant(DEFAULT_TENANT).retry(run_id)
        work_on(desk, run_id)
    view = seen(store, run_id)
    assert [item.kind for item in view.items] == ["begin", "ask", "over"]
    assert kinds(view)[-1][0] == "over"
    assert view.items[-1].attempts[-1].outcome == "answered"


def test_a_fork_begins_with_the_fork(store: Store) -> None:
    with Desk(store, app_of(CALL, "DONE well", "DONE other")) as desk:
        run_id = desk.submit("desk")
        work_on(desk, run_id)
        last = [event for event in store.inspector.events(run_id) if event.type == "turn.asked"][-1]
        fork, _, _ = store.tenant(DEFAULT_TENANT).fork(run_id, NewFork(id=f"{run_id}f", at=last.seq, version="1"))
        work_on(desk, fork.id)
    view = seen(store, fork.id)
    assert [(item.no, item.kind, item.turn) for item in view.items] == [(0, "ask", 2)]
    assert view.items[0].ask == fork.awaiting


def test_a_run_of_an_older_version_shows_what_is_known(store: Store) -> None:
    with Desk(store, app_of(CALL, "DONE well"), moves="coordinator") as desk:
        run_id = desk.submit("desk")
        work_on(desk, run_id)
    _as_before(store, run_id)
    view = seen(store, run_id)
    assert kinds(view)[1:] == [["unknown", "move"]] * 3
    assert all(item.attempts == [] for item in view.items)
    assert "of which no times were kept" in view.summary


def test_pages_hold_every_item_once_and_the_sums_are_of_all(store: Store) -> None:
    with Desk(store, app_of(*[CALL] * 12, "DONE well")) as desk:
        run_id = desk.submit("desk")
        work_on(desk, run_id)
    whole = seen(store, run_id)
    assert whole.total == len(whole.items) == 26
    found, after = [], -1
    while True:
        page = seen(store, run_id, after=after, limit=5)
        assert (page.summary, page.shares, page.total) == (whole.summary, whole.shares, 26)
        found += page.items
        if page.next_after is None:
            break
        after = page.next_after
    assert found == whole.items
    assert [item.seconds for item in whole.slowest] == sorted((i.seconds for i in whole.slowest), reverse=True)


def test_a_run_that_waited_for_its_session_says_so(store: Store) -> None:
    with Desk(store, app_of("DONE one", "DONE two")) as desk:
        first = desk.submit("desk", session_id=f"s{desk.own}")
        second = desk.submit("desk", session_id=f"s{desk.own}")
        desk.coordinator.move(second)
        work_on(desk, first)
        work_on(desk, second)
    view = seen(store, second)
    assert [(span.kind, span.name) for span in view.items[0].spans][:1] == [("session", first)]


def test_a_run_that_a_pause_held_says_so(store: Store) -> None:
    with Desk(store, app_of("DONE one")) as desk:
        run_id = desk.submit("desk", tenant=desk.own)
        store.operator().pause("tenant", desk.own, "flood")
        desk.coordinator.move(run_id)
        held = seen(store, run_id)
        assert [span.kind for item in held.items for span in item.spans] == ["paused"]
        store.operator().resume("tenant", desk.own)
        work_on(desk, run_id)
    view = seen(store, run_id)
    assert [(span.kind, span.name) for span in view.items[0].spans][:1] == [("paused", f"tenant {desk.own}")]


def _as_before(store: Store, run_id: str) -> None:
    """The events as programs wrote them that knew of no times."""
    with store.database.begin() as connection:
        rows = connection.execute(sa.select(events.c.seq, events.c.data).where(events.c.run_id == run_id)).all()
        for seq, data in rows:
            kept = {key: value for key, value in (data or {}).items() if key not in ("worker", "claimed_at", "work")}
            where = sa.and_(events.c.run_id == run_id, events.c.seq == seq)
            connection.execute(sa.update(events).where(where).values(data=json.loads(json.dumps(kept))))
