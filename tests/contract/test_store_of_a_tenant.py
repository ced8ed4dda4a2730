"""The record as one tenant has it: what is another's is not there, and there is only so much of its own."""

from __future__ import annotations

import inspect
import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.databases import fresh_sqlite
from tests.support.schedule_parts import run_of, terms
from tests.support.services import migrated_postgres
from tests.support.store_parts import asked_run, begun_run, new_queue, new_run, new_worker
from tests.support.webhook_parts import new_webhook

from turnwise.base.ids import new_id
from turnwise.base.waits import ProviderLimitWait
from turnwise.errors import InvalidRequestError, NotFoundError, QuotaExceededError, TurnwiseError
from turnwise.models.limits.provider import Provider, ProviderWait, Target
from turnwise.models.limits.window import Caps
from turnwise.record.batches.batch_record import NewBatch, NewItem
from turnwise.record.database.database import Database
from turnwise.record.database.sample_tables import samples
from turnwise.record.database.webhook_tables import webhook_deliveries
from turnwise.record.roles.batches import BatchRole
from turnwise.record.roles.schedules import ScheduleRole
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.roles.webhooks import WebhookRole
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.transaction.idempotency import Once
from turnwise.record.upkeep.sampling import FLEET
from turnwise.record.values.outcomes import Deferral, Parking, Resolution
from turnwise.record.values.records import NewDocument, NewFork, RunFilter, Usage

SECRET = "the secret of the owner"


@dataclass(frozen=True, kw_only=True)
class Possessions:
    """The possessions of a tenant: one thing of each kind."""

    tenant: str
    queue: str
    session: str
    asking: str
    failed: str
    parked: str
    schedule: str
    batch: str
    webhook: str
    delivery: str
    parked_ask: str = "ask-1-1"

    @property
    def marks(self) -> tuple[str, ...]:
        """Return the parts of it that another tenant must not see."""
        things = (
            self.queue,
            self.session,
            self.asking,
            self.failed,
            self.parked,
            self.webhook,
            self.delivery,
            self.schedule,
            self.batch,
        )
        return (self.tenant, *things, SECRET)


# Nothing of this is there.
MISSING = Possessions(
    tenant="nobody",
    queue="no-queue",
    session="no-session",
    asking="run_0",
    failed="run_1",
    parked="run_2",
    schedule="no-schedule",
    batch="bat_0",
    webhook="hook_0",
    delivery="msg_0",
)
# Calls a method about what `its` names, as the tenant of that name.
Case = Callable[[Store, str, Possessions], object]


def _once(store: Store, tenant: str) -> TenantRole:
    return store.tenant(tenant, once=Once(tenant=tenant, key="k", digest="d"))


def _fork(run: str) -> NewFork:
    return NewFork(id=new_id("run"), at=1, version="1", idempotency_key="forked", body_hash="h")


def _restarted(store: Store, me: str, its: Possessions) -> object:
    batches = store.tenant(me).batches
    return batches.restart_items(its.batch, {1: its.asking}), batches.batch(its.batch)


def _batch() -> NewBatch:
    return NewBatch(id=new_id("bat"), task="support", concurrency=5, key="own")


def _unfinished(store: Store, me: str, its: Possessions) -> list[str]:
    return [its.batch for _ in store.tenant(me).batches.unfinished_of_batch(its.batch)]


def _today() -> date:
    return datetime.now(UTC).date()


def _worked(store: Store, tenant: str) -> int:
    return sum(step.turns for step in store.tenant(tenant).series(0, 2**40, 2**39))


CASES: dict[str, Case] = {
    "add_items": lambda store, me, its: store.tenant(me).batches.add_items(its.batch, 3, [NewItem(run=new_run())]),
    "change_webhook": lambda store, me, its: store.tenant(me).webhooks.change_webhook(its.webhook, active=False),
    "create_webhook": lambda store, me, its: store.tenant(me).webhooks.create_webhook(new_webhook()),
    "delete_webhook": lambda store, me, its: store.tenant(me).webhooks.delete_webhook(its.webhook),
    "deliveries": lambda store, me, its: store.tenant(me).webhooks.deliveries(webhook_id=its.webhook),
    "replay_delivery": lambda store, me, its: store.tenant(me).webhooks.replay_delivery(its.webhook, its.delivery),
    "replay_parked": lambda store, me, its: [its.webhook] * store.tenant(me).webhooks.replay_parked(its.webhook),
    "rotate_webhook": lambda store, me, its: store.tenant(me).webhooks.rotate_webhook(its.webhook, SECRET, overlap=0.0),
    "test_webhook": lambda store, me, its: store.tenant(me).webhooks.test_webhook(its.webhook),
    "webhook": lambda store, me, its: store.tenant(me).webhooks.webhook(its.webhook),
    "webhooks": lambda store, me, its: store.tenant(me).webhooks.webhooks(),
    "answer": lambda store, me, its: store.tenant(me).answer(its.asking, NewDocument(id="d", body={})),
    "ask_of_run": lambda store, me, its: store.tenant(me).ask_of_run(its.asking, "ask-1-1"),
    "batch": lambda store, me, its: store.tenant(me).batches.batch(its.batch),
    "batch_items": lambda store, me, its: store.tenant(me).batches.batch_items(its.batch),
    "batch_progress": lambda store, me, its: store.tenant(me).batches.batch_progress(its.batch),
    "batches": lambda store, me, its: store.tenant(me).batches.batches(),
    "batches_progress": lambda store, me, its: store.tenant(me).batches.batches_progress(),
    "cancel_batch": lambda store, me, its: store.tenant(me).batches.cancel_batch(its.batch),
    "change_limits": lambda store, me, its: store.tenant(me).change_limits(its.asking, max_tokens=5),
    "change_schedule": lambda store, me, its: store.tenant(me).schedules.change_schedule(
        its.schedule, lambda one: terms()
    ),
    "check_not_done": lambda store, me, its: _once(store, me).check_not_done(),
    "create_schedule": lambda store, me, its: store.tenant(me).schedules.create_schedule(new_id("n"), terms(), me),
    "delete_session": lambda store, me, its: store.tenant(me).delete_session(its.session),
    "document": lambda store, me, its: store.tenant(me).document(its.asking, "doc-2"),
    "events": lambda store, me, its: store.tenant(me).events(its.asking),
    "events_of": lambda store, me, its: store.tenant(me).events_of(its.asking, ["turn.asked"]),
    "feed_batch": lambda store, me, its: store.tenant(me).batches.feed_batch(its.batch),
    "for_part": lambda store, me, its: _once(store, me).for_part("x").check_not_done(),
    "fork": lambda store, me, its: store.tenant(me).fork(its.failed, _fork(its.failed)),
    "frames_of": lambda store, me, its: store.tenant(me).frames_of(its.asking),
    "inbox_count": lambda store, me, its: [its.asking] * store.tenant(me).inbox_count().questions,
    "keep_choice": lambda store, me, its: _once(store, me).keep_choice("mine"),
    "last_ticks": lambda store, me, its: store.tenant(me).schedules.last_ticks([its.schedule]),
    "now": lambda store, me, its: store.tenant(me).now(),
    "open_batch": lambda store, me, its: store.tenant(me).batches.open_batch(_batch()),
    "open_questions": lambda store, me, its: store.tenant(me).open_questions(),
    "parked_ask": lambda store, me, its: store.tenant(me).parked_ask(its.parked, its.parked_ask),
    "parked_asks": lambda store, me, its: store.tenant(me).parked_asks(),
    "pause_schedule": lambda store, me, its: store.tenant(me).schedules.pause_schedule(its.schedule, None, me),
    "paused_queues": lambda store, me, its: store.tenant(me).paused_queues() - {its.queue},
    "provider_states": lambda store, me, its: [state.waiting for state in store.tenant(me).provider_states()],
    "queue_stats": lambda store, me, its: store.tenant(me).queue_stats(),
    "remove_schedule": lambda store, me, its: store.tenant(me).schedules.remove_schedule(its.schedule),
    "request_cancel": lambda store, me, its: store.tenant(me).request_cancel(its.asking),
    "resolve": lambda store, me, its: store.tenant(me).resolve(its.parked, "ask-1-1", Resolution(outcome="fail")),
    "restart_items": lambda store, me, its: _restarted(store, me, its),
    "resume_batch": lambda store, me, its: store.tenant(me).batches.resume_batch(its.batch),
    "resume_schedule": lambda store, me, its: store.tenant(me).schedules.resume_schedule(its.schedule),
    "retry": lambda store, me, its: store.tenant(me).retry(its.failed),
    "run": lambda store, me, its: store.tenant(me).run(its.asking),
    "runs": lambda store, me, its: store.tenant(me).runs(RunFilter(tenant=its.tenant)),
    "schedule": lambda store, me, its: store.tenant(me).schedules.schedule(its.schedule),
    "schedules": lambda store, me, its: store.tenant(me).schedules.schedules(),
    "seal_batch": lambda store, me, its: store.tenant(me).batches.seal_batch(its.batch),
    "series": lambda store, me, its: me if _worked(store, me) else None,
    "serving_workers": lambda store, me, its: store.tenant(me).serving_workers() - Counter([its.queue]),
    "session": lambda store, me, its: store.tenant(me).session(its.session),
    "situation": lambda store, me, its: store.tenant(me).situation(its.asking),
    "situations": lambda store, me, its: store.tenant(me).situations([its.asking, its.failed]),
    "spenders": lambda store, me, its: store.tenant(me).spenders("model", _today(), _today(), 10),
    "submit": lambda store, me, its: store.tenant(me).submit(new_run(idempotency_key="own", body_hash="h")),
    "submitted": lambda store, me, its: store.tenant(me).submitted("own", "h"),
    "submit_all": lambda store, me, its: _once(store, me).submit_all([new_run()]),
    "ticks": lambda store, me, its: store.tenant(me).schedules.ticks(its.schedule),
    "trigger_schedule": lambda store, me, its: store.tenant(me).schedules.trigger_schedule(its.schedule, run_of, me),
    "unfinished_of_batch": lambda store, me, its: _unfinished(store, me, its),
    "usage": lambda store, me, its: store.tenant(me).usage(_today() - timedelta(days=1), _today() + timedelta(days=1)),
}
# They tell of the installation, and the same to everyone.
OF_THE_INSTALLATION = {"now", "paused_queues", "serving_workers"}


@pytest.fixture
def owned(store: Store) -> Iterator[Possessions]:
    with possessing(store) as its:
        yield its


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def kept(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Store, Possessions]]:
    """A record with a tenant's possessions, for tests that change nothing of them."""
    with ExitStack() as stack:
        if request.param == "postgres":
            database = Database(stack.enter_context(migrated_postgres()))
        else:
            database = fresh_sqlite(tmp_path_factory.mktemp("kept") / "turnwise.db")
        stack.callback(database.close)
        store = Store(database)
        yield store, stack.enter_context(possessing(store))


@contextmanager
def possessing(store: Store) -> Iterator[Possessions]:
    """Give a new tenant one thing of each kind. Its pause ends with the block: claims look at pauses of any tenant."""
    tenant, queue, session = new_id("tenant"), new_queue(), new_id("session")
    role, worker = store.tenant(tenant), new_worker(store, queue)
    asking = asked_run(store, None, run={"tenant": tenant, "session_id": session, "metadata": {"about": SECRET}})
    with store.coordinator.locked(asking.id) as transaction:
        transaction.put_document("doc-2", {"content": SECRET})
        transaction.save_frame(1, {"step": SECRET})
    hook = role.webhooks.create_webhook(new_webhook()).id
    delivery = role.webhooks.test_webhook(hook).id
    with store.database.begin() as connection:
        connection.execute(
            sa.update(webhook_deliveries).where(webhook_deliveries.c.id == delivery).values(state="parked")
        )
    failed, _ = role.submit(new_run(idempotency_key="own", body_hash="h", webhook=new_webhook()))
    with store.coordinator.locked(failed.id) as transaction:
        transaction.finish(RunStatus.FAILED, "ERROR")
    parked = asked_run(store, queue, run={"tenant": tenant})
    claim = store.worker.claim(queue, worker)
    assert claim is not None
    store.worker.park(claim, Parking(reason="unknown_outcome", usage=Usage(model=SECRET)))
    asked_run(store, queue, run={"tenant": tenant})
    in_line = store.worker.claim(queue, worker)
    assert in_line is not None
    provider = Target(provider=Provider(server="http://models", model=new_id("model"), account="k"), caps=Caps())
    room = ProviderLimitWait(model="m", limit="requests")
    wait = ProviderWait(target=provider, tokens=1)
    assert store.worker.defer(in_line, Deferral(seconds=60.0, waiting_for=room, provider=wait))
    asked_run(store, queue, run={"tenant": tenant})
    once = _once(store, tenant)
    once.keep_choice(asking.id)
    once.for_part("x").request_cancel(asking.id)
    with store.coordinator.locked(asking.id) as transaction:
        transaction.change(cancel_requested_at=None)
    store.operator().pause("tenant", tenant)
    sample = {"at": random.randrange(10**9), "until": 0.0, "seconds": 1.0}
    with store.database.begin() as connection:
        connection.execute(sa.insert(samples), [{"tenant": one, **sample, "turns": 1} for one in (FLEET, tenant)])
    schedule = role.schedules.create_schedule(new_id("name"), terms(), SECRET)
    role.schedules.trigger_schedule(schedule.id, run_of, SECRET)
    role.schedules.pause_schedule(schedule.id, None, SECRET)
    batch, _ = role.batches.open_batch(_batch())
    role.batches.add_items(batch.id, 1, [NewItem(run=new_run(metadata={"about": SECRET}), key="own")])
    role.batches.feed_batch(batch.id)
    role.batches.add_items(batch.id, 2, [NewItem(run=new_run())])
    yield Possessions(
        tenant=tenant,
        queue=queue,
        session=session,
        asking=asking.id,
        failed=failed.id,
        parked=parked.id,
        schedule=schedule.id,
        batch=batch.id,
        webhook=hook,
        delivery=delivery,
    )
    with suppress(NotFoundError):  # a test may have
        role.webhooks.delete_webhook(hook)
    store.operator().resume("tenant", tenant)


def outcome(store: Store, case: Case, me: str, its: Possessions) -> str:
    """Return the result of a call, or its refusal, as text."""
    try:
        return repr(case(store, me, its))
    except TurnwiseError as error:
        return f"{type(error).__name__}: {error}"


def possessions(store: Store, its: Possessions) -> list[str]:
    """All rows that say that they are of one of the owner's things."""
    rows = [row for table in store.inspector.everything().values() for row in table]
    return [text for text in map(repr, rows) if any(mark in text for mark in its.marks)]


def test_every_method_of_the_tenant_s_role_has_a_case() -> None:
    roles = (TenantRole, BatchRole, ScheduleRole, WebhookRole)
    methods = {name for role in roles for name, _ in inspect.getmembers(role, callable) if not name.startswith("_")}

    assert set(CASES) == methods


@pytest.mark.parametrize("name", CASES)
def test_nothing_of_another_tenant_is_seen_or_changed(kept: tuple[Store, Possessions], name: str) -> None:
    store, owned = kept
    before, stranger = possessions(store, owned), new_id("stranger")

    refused = outcome(store, CASES[name], stranger, owned)
    missing = outcome(store, CASES[name], new_id("stranger"), MISSING)

    if refused.startswith("NotFoundError"):
        # It is told the same as of a thing that there is not.
        for field in fields(Possessions):
            refused = refused.replace(getattr(owned, field.name), getattr(MISSING, field.name))
        assert refused == missing
    else:
        assert [mark for mark in owned.marks if mark in refused] == []
    assert possessions(store, owned) == before


@pytest.mark.parametrize("name", sorted(set(CASES) - OF_THE_INSTALLATION))
def test_the_owner_gets_what_the_other_does_not(store: Store, owned: Possessions, name: str) -> None:
    before = possessions(store, owned)

    told = outcome(store, CASES[name], owned.tenant, owned)

    assert not told.startswith("NotFoundError")
    assert any(mark in told for mark in owned.marks) or possessions(store, owned) != before


@pytest.mark.parametrize("name", [None, "", "a/b", " "])
def test_no_role_is_made_without_a_tenant(store: Store, name: Any) -> None:
    with pytest.raises(InvalidRequestError):
        store.tenant(name)


def test_lists_have_the_tenant_s_own_things_only(store: Store) -> None:
    tenant, queue = new_id("tenant"), new_queue()
    mine, theirs = store.tenant(tenant), store.tenant(new_id("tenant"))
    asking = asked_run(store, None, run={"tenant": tenant})
    waiting = asked_run(store, queue, run={"tenant": tenant})

    assert {run.id for run in mine.runs()[0]} == {asking.id, waiting.id}
    assert [ask.run_id for ask in mine.open_questions()] == [asking.id]
    assert [stat.queue for stat in mine.queue_stats()] == [queue]
    assert [len(mine.events(asking.id)), len(mine.frames_of(asking.id))] == [2, 1]
    assert mine.document(asking.id, "doc-1") is not None

    assert theirs.runs(RunFilter(tenant=tenant))[0] == []
    assert (theirs.open_questions(), theirs.queue_stats()) == ([], [])
    assert (mine.inbox_count().questions, theirs.inbox_count().questions) == (1, 0)
    assert (theirs.events(asking.id), theirs.frames_of(asking.id), theirs.situations([asking.id])) == ([], [], [])
    assert theirs.document(asking.id, "doc-1") is None


def test_the_same_session_id_is_another_session_for_another_tenant(store: Store) -> None:
    session, one, other = new_id("session"), new_id("tenant"), new_id("tenant")
    begun_run(store, session, tenant=one)

    with pytest.raises(NotFoundError):
        store.tenant(other).session(session)
    with pytest.raises(NotFoundError):
        store.tenant(other).delete_session(session)
    assert store.tenant(one).session(session).unfinished == 1


def test_so_many_runs_at_a_time_however_many_are_submitted_at_once(database: Database) -> None:
    tenant = new_id("tenant")
    store = Store(database).tenant(tenant, max_unfinished_runs=3)

    def submit(_: int) -> bool:
        try:
            return store.submit(new_run())[1]
        except QuotaExceededError as error:
            assert error.code == "too_many_runs"
            return False

    with ThreadPoolExecutor(8) as pool:
        accepted = sum(pool.map(submit, range(16)))

    assert accepted == 3


def test_who_is_at_the_limit_may_repeat_a_request_and_go_on_after_an_end(store: Store) -> None:
    mine = store.tenant(new_id("tenant"), max_unfinished_runs=1)
    run, _ = mine.submit(new_run(idempotency_key="k", body_hash="h"))

    assert mine.submit(new_run(idempotency_key="k", body_hash="h")) == (run, False)
    with pytest.raises(QuotaExceededError, match="it may have 1 at a time"):
        mine.fork(run.id, NewFork(id=new_id("run"), at=1, version="1"))
    with store.coordinator.locked(run.id) as transaction:
        transaction.finish(RunStatus.COMPLETED, "DONE")
    assert mine.submit(new_run())[1]
