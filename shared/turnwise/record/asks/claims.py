"""Claim an ask of a queue, release it, or defer it."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.base.waits import ResponderWait, wait_of
from turnwise.errors import DatabaseUnavailableError
from turnwise.observability.redaction import redacted
from turnwise.record.asks.best_ask import CLAIMABLE_UNJOINED, Candidate, candidate, lease, lease_best
from turnwise.record.asks.late_outcomes import count_late, is_on_record
from turnwise.record.asks.lost_attempts import take_over
from turnwise.record.asks.tenant_shares import TenantShare, least_served
from turnwise.record.budgets.providers import note_failure, room_of_ask, wait_for_room
from turnwise.record.budgets.settlement import count_and_tell, release_reservations
from turnwise.record.database import driver
from turnwise.record.database.columns import Document, Seconds, word
from turnwise.record.database.rows import agent_of, ask_of, run_of
from turnwise.record.database.schema import asks, runs
from turnwise.record.database.status_statements import change_asks, change_one, change_runs, require_one
from turnwise.record.events.ask_events import AskDeferred, AskReleased, attempt_at
from turnwise.record.provider_batches.collecting import keep_request
from turnwise.record.states import AskStatus, RunStatus, passed
from turnwise.record.transaction.frame_stack import frames_of
from turnwise.record.transaction.part import RecordPart, time_of_run
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.transaction.statements import FRAMES
from turnwise.record.values.known_run import KnownRun
from turnwise.record.values.outcomes import CallUsage, Deferral
from turnwise.record.values.records import AgentRecord, AskRecord, Claim, Json, ProviderPlace, RunRecord, Usage

logger = logging.getLogger(__name__)

# The run, the id and the token of an ask that is held.
AskPlace = tuple[str, str, int]
# How often a claim looks for another candidate when others were faster.
_LOOKS = 8

_RELEASE = (
    change_asks(AskStatus.RUNNABLE, AskStatus.LEASED)
    .where(asks.c.run_id == sa.bindparam("of_run"), asks.c.id == sa.bindparam("of_ask"))
    .values(
        attempts=asks.c.attempts - 1,
        token=asks.c.token + 1,
        lost=asks.c.lost + sa.bindparam("doubts", type_=sa.Integer),
        worker_id=None,
        due_at=sa.func.coalesce(sa.bindparam("new_due_at", type_=Seconds), asks.c.due_at),
        topups=0,
        topup_after=None,
    )
)

_DEFER = (
    change_asks(AskStatus.RUNNABLE, AskStatus.LEASED)
    .where(asks.c.run_id == sa.bindparam("of_run"), asks.c.id == sa.bindparam("of_ask"))
    .values(
        attempts=asks.c.attempts - sa.bindparam("uncounted", type_=sa.Integer),
        token=asks.c.token + 1,
        worker_id=None,
        due_at=sa.bindparam("new_due_at", type_=Seconds),
        deferrals=asks.c.deferrals + 1,
        failures=sa.bindparam("new_failures", type_=Document),
        topups=0,
        topup_after=None,
        bucket=sa.func.coalesce(sa.bindparam("new_bucket", type_=sa.Text), asks.c.bucket),
        bucket_tokens=sa.func.coalesce(sa.bindparam("new_tokens", type_=sa.Integer), asks.c.bucket_tokens),
    )
)
_HELD = sa.select(asks.c.run_id, asks.c.id, asks.c.token).where(
    asks.c.status == word(AskStatus.LEASED), asks.c.worker_id == sa.bindparam("by_worker")
)
_GO_ON = (
    change_runs(RunStatus.RUNNING, RunStatus.WAITING)
    .where(runs.c.id == sa.bindparam("of_run"))
    .values(waiting_for=sa.bindparam("new_waiting_for", type_=Document))
)


class Released(NamedTuple):
    """Asks that a worker held: how many it did not know of, and of how many it could not write the outcome.

    It still holds the `stuck` ones, because the record of each led to an error.
    """

    unknown: int
    unwritten: int
    stuck: frozenset[AskPlace]


class _Look(Enum):
    """The reason why a look for an ask has not ended: another was faster, or it takes more than one statement."""

    AGAIN = auto()
    CLOSER = auto()


class Claims(RecordPart):
    """A delivery is a permit to claim one ask of its queue, and this is the claim."""

    def claim(self, queue: str, worker_id: str, version: str | None = None) -> Claim | None:
        """Lease the best runnable ask of `queue` (of runs of `version`, if given), or None.

        A worker that was declared dead, and a run that has ended, is being cancelled or is out of time, get none.
        """
        for _ in range(_LOOKS):
            claim = self._claim_at_once(queue, worker_id, version)
            if claim is _Look.CLOSER:
                with self._database.begin() as connection:
                    claim = self._claim_best(connection, queue, worker_id, version)
            if not isinstance(claim, _Look):
                return claim
        return None

    def release(
        self,
        claim: Claim,
        reason: str,
        usage: Usage | None = None,
        calls: tuple[CallUsage, ...] = (),
        *,
        work: Json | None = None,
        in_doubt: bool = False,
        pause: float = 0.0,
    ) -> bool:
        """Release an ask unanswered, as if never claimed, but for what it used.

        `work` are the times of the attempt. `in_doubt`: a handler was cancelled that may not be called twice. `pause`:
        seconds in which no one may claim it.

        False if the claim was no longer held; then nothing is written, and `reply` keeps the books. The same claim may
        be released again after a lost connection: True then, too.
        """
        with self._locked(claim.ask.run_id) as transaction:
            ask = transaction.ask(claim.ask.id)
            if ask is None or ask.status != AskStatus.LEASED or ask.token != claim.token:
                return is_on_record(transaction, claim)
            count_and_tell(transaction, ask, claim.token, usage, calls)
            _release(transaction, ask, reason, work, in_doubt=in_doubt, pause=pause)
        return True

    def release_unknown(
        self,
        worker_id: str,
        known: Collection[AskPlace],
        begun: Collection[AskPlace] = (),
        among: Collection[AskPlace] | None = None,
    ) -> Released:
        """Release the asks that `worker_id` holds, but for the `known` ones, and return how many.

        For a worker that may have claimed without being told; it must claim nothing meanwhile, unless it names the
        asks that it asks for (`among`). It knew of those in `begun`, and could not write their outcome: they are taken
        over as if it had been lost. An error of one ask leaves the others alone.
        """
        counts, stuck = {True: 0, False: 0}, set[AskPlace]()
        with self._database.read() as connection:
            held = connection.execute(_HELD, {"by_worker": worker_id}).all()
        for run_id, ask_id, token in held:
            place = (run_id, ask_id, token)
            if place in known or (among is not None and place not in among):
                continue
            has_begun = place in begun
            try:
                counts[has_begun] += self._release_unknown(worker_id, place, has_begun=has_begun)
            except DatabaseUnavailableError:
                raise
            except Exception:
                logger.exception("Ask %s stays with its worker", ask_id, extra={"action": "ask_stuck", "run": run_id})
                stuck.add(place)
        return Released(unknown=counts[False], unwritten=counts[True], stuck=frozenset(stuck))

    def _release_unknown(self, worker_id: str, place: AskPlace, *, has_begun: bool) -> bool:
        run_id, ask_id, token = place
        with self._locked(run_id) as transaction:
            ask = transaction.ask(ask_id)
            holder = (ask.status, ask.worker_id, ask.token) if ask is not None else None
            if ask is None or holder != (AskStatus.LEASED, worker_id, token):
                return False
            if has_begun:
                take_over(transaction, ask, unwritten=True)
            else:
                _release(transaction, ask, "claimed_unawares")
        return True

    def defer(self, claim: Claim, deferral: Deferral) -> bool:
        """Defer a claimed ask, holding no one; False if the claim was no longer held.

        The run is `waiting` meanwhile. What the attempt used counts either way, once: the same claim may be deferred
        again after a lost connection.
        """
        with self._locked(claim.ask.run_id) as transaction:
            ask = transaction.ask(claim.ask.id)
            if ask is None or ask.status != AskStatus.LEASED or ask.token != claim.token or transaction.run.ended:
                return count_late(transaction, claim, deferral)
            count_and_tell(transaction, claim.ask, claim.token, deferral.usage, deferral.calls)
            due_at = transaction.now + deferral.seconds
            given: Json = {"of_run": ask.run_id, "of_ask": ask.id, "uncounted": 0 if deferral.counts else 1}
            wait, down = deferral.provider, deferral.down
            given |= {"new_due_at": due_at, "new_bucket": None, "new_tokens": None}
            given["new_failures"] = ask.failures if deferral.failures is None else deferral.failures
            if wait is not None and down is not None:
                given |= {"new_bucket": wait.target.provider.id, "new_tokens": wait.tokens}
                probe_in = note_failure(self._database, transaction.connection, ask, wait, down)
                if probe_in is not None:  # no one knows for how long, so all wait together
                    due_at, given["new_due_at"] = transaction.now + probe_in, None
            elif wait is not None:  # not the time counts, but that the provider has room
                given |= {"new_due_at": None, "new_bucket": wait.target.provider.id, "new_tokens": wait.tokens}
            change_one(transaction.connection, _DEFER, given, AskStatus.RUNNABLE)
            if ask.responder == "agent":
                transaction.forget_begun(ask.id)
            waiting_for = wait_of(redacted(deferral.waiting_for.as_json()) | {"due_at": due_at})
            assert waiting_for is not None, "a deferral has a cause"
            transaction.change(status=RunStatus.WAITING, waiting_for=waiting_for)
            attempt = attempt_at(ask, ask.worker_id, deferral.work)
            told = AskDeferred(waiting_for=waiting_for, attempt=attempt, failed=deferral.failed)
            transaction.event(told, ask.place)
            if deferral.collect is not None:
                keep_request(transaction, ask, claim.token, deferral.collect)
            if wait is not None and down is None:
                wait_for_room(self._database, transaction.connection, ask, wait)
        return True

    def _claim_at_once(self, queue: str, worker_id: str, version: str | None) -> Claim | _Look | None:
        """A claim in one statement, which commits by itself; `CLOSER` where that cannot be."""
        if not self._database.is_postgres:
            return _Look.CLOSER
        with self._database.statement() as connection:
            if self._core.tenant_shares.has_several(connection, queue):
                return _Look.CLOSER
            rows = driver.fetch(connection, lease_best(version is not None), _given(queue, worker_id, version))
        if not rows:
            return None
        found = Candidate.of(rows[0])
        run, ask = run_of(found.run), ask_of(found.ask)
        if found.lease is None:
            needs_more = run.status == RunStatus.WAITING or ask.bucket is not None
            return _Look.CLOSER if needs_more else _Look.AGAIN
        return self._claim_of(found, found.lease, found.frames or (), run, ask, worker_id)

    def _best(
        self, connection: Connection, queue: str, worker_id: str, version: str | None
    ) -> tuple[Candidate, TenantShare | None] | None:
        """The ask to be claimed, with its run locked, and the share of its tenant, where there are several."""
        given, look = _given(queue, worker_id, version), (self._database.is_postgres, version is not None)
        if not self._core.tenant_shares.has_several(connection, queue):
            rows = driver.fetch(connection, candidate(*look), given)
            return (Candidate.of(rows[0]), None) if rows else None
        for share in least_served(connection, CLAIMABLE_UNJOINED, queue):
            rows = driver.fetch(connection, candidate(*look, with_tenant=True), given | {"tenant": share.tenant})
            if rows:
                return Candidate.of(rows[0]), share
        return None

    def _claim_best(
        self, connection: Connection, queue: str, worker_id: str, version: str | None
    ) -> Claim | _Look | None:
        """A claim in a transaction."""
        best = self._best(connection, queue, worker_id, version)
        if best is None:
            return None
        found, share = best
        run, ask = run_of(found.run), ask_of(found.ask)
        provider = room_of_ask(connection, ask)
        if provider is not None and provider[1].limit is not None:
            provider[0].close(provider[1])
            return _Look.AGAIN
        # The candidate was read before the run was locked: the ask may be gone by now, which only this can see.
        leased = driver.fetch(connection, *lease(found, ask, worker_id))
        if not leased:
            return _Look.AGAIN
        if run.status == RunStatus.WAITING:  # it was deferred, and continues now
            waiting_for = ResponderWait(responder=ask.responder, agent=ask.agent_name, queue=ask.queue)
            going_on = {"of_run": run.id, "new_waiting_for": waiting_for.as_json()}
            require_one(driver.run_one(connection, _GO_ON, going_on).rowcount, RunStatus.RUNNING, run.id)
            status = passed(run.status, RunStatus.RUNNING)
            run = run.changed(status=status, waiting_for=waiting_for, revision=run.revision + 1)
        place = provider[0].take(ask, leased[0][1], ask.bucket_tokens or 0, "claim") if provider is not None else None
        if share is not None:
            self._core.tenant_shares.served(connection, queue, share)
        stack = found.frames
        if stack is None:
            stack = driver.fetch(connection, FRAMES, {"run_id": run.id})
        return self._claim_of(found, leased[0], stack, run, ask, worker_id, place)

    def _claim_of(
        self,
        found: Candidate,
        lease: Sequence[Any],
        stack: Sequence[Sequence[Any]],
        run: RunRecord,
        ask: AskRecord,
        worker_id: str,
        place: ProviderPlace | None = None,
    ) -> Claim:
        """The claim of an ask that was leased, with what is known of its run by that."""
        attempts, token, claimed_at = lease
        status = passed(ask.status, AskStatus.LEASED)
        ask = ask.changed(status=status, attempts=attempts, token=token, worker_id=worker_id, claimed_at=claimed_at)
        agent = agent_of(found.agent) if found.agent[0] is not None else AgentRecord(key=ask.agent)
        known = KnownRun(
            run=run,
            time=time_of_run(found.last, claimed_at),
            read_at=self.clock.monotonic(),
            frames=frames_of(stack),
            asks={ask.id: (ask, None)},
            agents={agent.key: agent},
            stored={agent.key: agent.history_len},
        )
        if ask.message_id is not None and found.message is not None:
            known.documents[ask.message_id] = found.message
        return Claim(
            ask=ask,
            token=token,
            worker_id=worker_id,
            run=run,
            document=found.message,
            agent=agent,
            place=place,
            known=known,
        )


def _given(queue: str, worker_id: str, version: str | None) -> Json:
    given = {"queue": queue, "worker_id": worker_id}
    return given if version is None else given | {"version": version}


def _release(
    transaction: RunTransaction,
    ask: AskRecord,
    reason: str,
    work: Json | None = None,
    *,
    in_doubt: bool = False,
    pause: float = 0.0,
) -> None:
    release_reservations(transaction, ask, ask.token)
    due_at = transaction.now + pause if pause else None
    given = {"of_run": ask.run_id, "of_ask": ask.id, "doubts": int(in_doubt), "new_due_at": due_at}
    change_one(transaction.connection, _RELEASE, given, AskStatus.RUNNABLE)
    told = AskReleased(reason=reason, attempt=attempt_at(ask, ask.worker_id, work))
    transaction.event(told, ask.place)
