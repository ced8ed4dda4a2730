"""Taking an ask from a queue, and giving it back."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.runs import direct
from turnwise.runs.base import StoreBase
from turnwise.runs.columns import now, word
from turnwise.runs.records import UNFINISHED, AgentRecord, Claim
from turnwise.runs.rows import AGENT, ASK, RUN, agent_of, ask_of, run_of
from turnwise.runs.schema import agent_states, asks, documents, runs, workers

# How often a claim looks for another candidate when others were faster.
_LOOKS = 8

_TAKE = (
    sa.update(asks)
    .where(
        asks.c.run_id == sa.bindparam("of_run"),
        asks.c.id == sa.bindparam("of_ask"),
        asks.c.status == word("runnable"),
    )
    .values(
        status="leased",
        attempts=asks.c.attempts + 1,
        token=asks.c.token + 1,
        worker_id=sa.bindparam("by_worker"),
        claimed_at=now(),
    )
    .returning(asks.c.attempts, asks.c.token, asks.c.claimed_at)
)
_GIVE_BACK = (
    sa.update(asks)
    .where(asks.c.run_id == sa.bindparam("of_run"), asks.c.id == sa.bindparam("of_ask"))
    .values(
        status="runnable",
        attempts=asks.c.attempts - 1,
        token=asks.c.token + 1,
        worker_id=None,
        topups=0,
        topup_after=None,
    )
)


@cache
def _candidate(with_version: bool) -> sa.Select[Any]:
    """The best runnable ask whose run nobody holds, locking that run; with its message and its agent.

    These two are read before the lock, but nothing changes them while the ask is runnable.
    """
    conditions = [
        asks.c.queue == sa.bindparam("queue"),
        asks.c.status == word("runnable"),
        sa.or_(asks.c.due_at.is_(None), asks.c.due_at <= now()),
        runs.c.status.in_([word(status) for status in UNFINISHED]),
        runs.c.cancel_requested_at.is_(None),
        sa.exists().where(workers.c.id == sa.bindparam("worker_id"), workers.c.state == word("alive")),
    ]
    if with_version:
        conditions.append(runs.c.version == sa.bindparam("version"))
    return (
        sa.select(*RUN, *ASK, documents.c.body, *AGENT)
        .select_from(
            asks.join(runs, runs.c.id == asks.c.run_id)
            .outerjoin(documents, sa.and_(documents.c.run_id == asks.c.run_id, documents.c.id == asks.c.message_id))
            .outerjoin(agent_states, sa.and_(agent_states.c.owner == asks.c.run_id, agent_states.c.key == asks.c.agent))
        )
        .where(*conditions)
        .order_by(asks.c.priority.desc(), asks.c.created_at)
        .limit(1)
        .with_for_update(of=runs, skip_locked=True)
    )


class Claims(StoreBase):
    """A delivery is a permit to claim one ask of its queue, and this is the claim."""

    def claim(self, queue: str, worker_id: str, version: str | None = None) -> Claim | None:
        """Lease the best runnable ask of `queue` (of runs of `version`, if given), or None.

        A worker that was declared dead, and a run that has ended or is being cancelled, get none.
        """
        for _ in range(_LOOKS):
            with self.database.begin() as connection:
                claim, looked = self._try(connection, queue, worker_id, version)
            if not looked:
                return claim
        return None

    def release(self, claim: Claim, reason: str) -> bool:
        """Give an ask back unanswered, as if never claimed; False if the claim was no longer held."""
        with self.locked(claim.ask.run_id) as transaction:
            ask = transaction.ask(claim.ask.id)
            if ask is None or ask.status != "leased" or ask.token != claim.token:
                return False
            transaction.connection.execute(_GIVE_BACK, {"of_run": ask.run_id, "of_ask": ask.id})
            transaction.event(
                "ask.released", path=ask.path, turn=ask.turn, try_no=ask.try_no, ask_id=ask.id, data={"reason": reason}
            )
        return True

    def _try(
        self, connection: Connection, queue: str, worker_id: str, version: str | None
    ) -> tuple[Claim | None, bool]:
        """A claim if one was made, and whether it is worth to look again."""
        given = {"queue": queue, "worker_id": worker_id, "version": version}
        if version is None:
            del given["version"]
        candidates = direct.fetch(connection, _candidate(version is not None), given)
        if not candidates:
            return None, False
        found = candidates[0]
        ask_at, body_at = len(RUN), len(RUN) + len(ASK)
        run, ask = run_of(found[:ask_at]), ask_of(found[ask_at:body_at])
        # The candidate was read before the run was locked: the ask may be gone by now, which only this can see.
        taken = direct.fetch(connection, _TAKE, {"of_run": run.id, "of_ask": ask.id, "by_worker": worker_id})
        if not taken:
            return None, True
        attempts, token, claimed_at = taken[0]
        ask = replace(ask, status="leased", attempts=attempts, token=token, worker_id=worker_id, claimed_at=claimed_at)
        saved = found[body_at + 1 :]
        agent = agent_of(saved) if saved[0] is not None else AgentRecord(key=ask.agent)
        claim = Claim(ask=ask, token=token, worker_id=worker_id, run=run, document=found[body_at], agent=agent)
        return claim, False
