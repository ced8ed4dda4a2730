"""The cause of a wait that is told is the true one: doing what it names makes the run continue.

A walk of random steps over a real record with a clock of its own: runs of a session and others are submitted, moved,
claimed, answered, put off and cancelled; workers fall silent; time passes. After each step every unfinished run says
why it waits, and then one of them gets just what it says that it waits for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.databases import fresh_sqlite
from tests.support.kept_values import kept

from turnwise import App, ChatAgent, ChatAgentConfig, Entity, MockLMConfig, Task, ToolMessage
from turnwise.base.clock import SystemClock
from turnwise.base.ids import new_id
from turnwise.base.waits import BudgetWait, DeferralWait, ProviderLimitWait, RetryWait
from turnwise.messages.document import ChatDocument
from turnwise.messages.document_metadata import ChatDocMetaData
from turnwise.messages.wire import encode_document
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.runs.wait_facts import COORDINATOR
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.outcomes import Deferral, Reply
from turnwise.record.values.records import Claim, Json, NewDocument, NewRun, RunRecord
from turnwise.serving.attempts.answering import Answering
from turnwise.serving.moves.move import Mover
from turnwise.serving.moves.moved import Moved
from turnwise.serving.wait_reason import why_waiting

LEASE = 5.0
QUEUES = ("llm", "agent")
PUT_OFF: list[DeferralWait] = [
    RetryWait(agent="desk", error={"type": "TimeoutError", "message": "too late"}, attempt=1),
    ProviderLimitWait(model="m", limit="requests"),
    BudgetWait(scope="session", limit="tokens"),
]


class Look(ToolMessage):
    request: str = "look"
    _effect = "read_only"
    purpose: str = "To look something up."

    def handle(self) -> str:
        return "found"


def _app() -> App:
    app = App("walk")

    @app.task
    def desk() -> Task:
        def answer(said: str) -> str:
            if "found" in said:
                return "And you?"
            return "DONE" if "yes" in said else '{"request": "look"}'

        agent = ChatAgent(ChatAgentConfig(name="desk", llm=MockLMConfig(response_fn=answer)))
        agent.enable_message(Look)
        return Task(agent, interactive=True)

    return app


class _ClockOf(SystemClock):
    """The clock of a process of the walk: what it knows of a run, it dates by its own time since then."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk

    def monotonic(self) -> float:
        return self._walk.now


class Walk:
    """An installation of one coordinator and a few workers, taken step by step; `now` is its clock."""

    def __init__(self, file: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.now = 1_000_000.0
        self.database = fresh_sqlite(file, self.clock)
        self.store = Store(self.database, lease_seconds=LEASE, clock=_ClockOf(self))
        app = _app()
        self.mover = Mover(app=app, llm_queues={}, agent_queues={}, max_attempts=100)
        self.answering = Answering(self.store.worker, app)
        self.runs: list[str] = []
        self.claims: dict[str, Claim] = {}  # by run
        self.coordinator = self._register(COORDINATOR, (COORDINATOR,))
        self.workers = [self._register("responders", QUEUES) for _ in range(2)]

    def clock(self) -> float:
        """No two things happen at the same time."""
        self.now += 1e-6
        return self.now

    # What may happen

    def submit(self) -> None:
        metadata = ChatDocMetaData(source=Entity.USER, sender=Entity.USER)
        message = encode_document(ChatDocument(content="hello", metadata=metadata))
        session = self.chance.choice([None, "a", "b"])
        deadline = self.chance.choice([None, None, 40.0])
        new = NewRun(id=new_id("run"), task="desk", version="1", message=message, session_id=session, deadline=deadline)
        self.runs.append(self.store.tenant(DEFAULT_TENANT).submit(new)[0].id)

    def move_some(self) -> None:
        for run_id in self.store.coordinator.due_moves(patience=0):
            self.move(run_id)

    def claim_some(self) -> None:
        self.claim(self.chance.choice(QUEUES))

    def give_back(self) -> None:
        for claim in self._some_claim():
            self.store.worker.release(claim, "a test")
            del self.claims[claim.run.id]

    def put_off(self) -> None:
        for claim in self._some_claim():
            seconds = self.chance.choice([0.0, 3.0, 30.0])
            self.store.worker.defer(claim, Deferral(seconds=seconds, waiting_for=self.chance.choice(PUT_OFF)))
            del self.claims[claim.run.id]

    def fall_silent(self) -> None:
        """A worker is gone, its lease runs out; another one takes its place."""
        gone = self.workers.pop(0)
        self.pass_time(LEASE + 1)
        self.claims = {run_id: claim for run_id, claim in self.claims.items() if claim.worker_id != gone}
        self.workers.append(self._register("responders", QUEUES))

    def pass_time(self, seconds: float = 2.0) -> None:
        self.now += seconds
        for worker in (*self.workers, self.coordinator):
            assert self.store.process.beat(worker)

    def cancel(self) -> None:
        for run in self.unfinished()[:1]:
            self.store.tenant(DEFAULT_TENANT).request_cancel(run.id)

    # What a cause names

    def move(self, run_id: str) -> Moved:
        with self.store.coordinator.locked(run_id) as transaction:
            return self.mover.move(transaction)

    def claim(self, queue: str) -> Claim | None:
        claim = self.store.worker.claim(queue, self.chance.choice(self.workers))
        if claim is not None:
            self.claims[claim.run.id] = claim
        return claim

    def reply(self, run_id: str) -> bool:
        claim = self.claims.pop(run_id)
        reply = self.answering.answer(claim)
        assert isinstance(reply, Reply)
        return self.store.worker.reply(claim, reply)

    def unfinished(self) -> list[RunRecord]:
        return [run for run in map(self.store.inspector.run, self.runs) if not run.ended]

    def why(self, run_id: str) -> Json:
        why = kept(why_waiting(self.store.inspector.situation(run_id)))
        assert why, f"{run_id} does not say why it waits"
        assert why["sentence"].strip()
        assert why.get("since") is None or why["since"] <= self.now
        return why

    def _register(self, kind: str, queues: tuple[str, ...]) -> str:
        return self.store.process.register_worker(WorkerInfo(kind=kind, queues=queues, host="here", pid=1, version="1"))

    def _some_claim(self) -> list[Claim]:
        held = [claim for claim in self.claims.values() if not self.store.inspector.run(claim.run.id).ended]
        return held[:1]


def _does_what_it_waits_for(walk: Walk, run_id: str) -> str:
    """Give the run what it says that it waits for, and see that it takes it; what was done."""
    why, before = walk.why(run_id), walk.store.inspector.run(run_id)
    kind, state = why["kind"], why.get("state")
    if kind == "move":
        moved = walk.move(run_id).run
        assert (moved.ended, moved.awaiting, moved.waiting_for) != (False, before.awaiting, before.waiting_for)
        return f"{kind} {why['reason']}"
    if kind == "session":
        assert walk.move(run_id).run.started_at is None
        assert not walk.store.inspector.run(why["run"]).ended
    elif kind == "human":
        answer = ChatDocument(content="yes", metadata=ChatDocMetaData(source=Entity.USER, sender=Entity.USER))
        said = NewDocument(id=answer.metadata.id, body=encode_document(answer))
        walk.store.tenant(DEFAULT_TENANT).answer(run_id, said, why["question"])
        assert walk.why(run_id)["reason"] == "answered"
    elif state == "queued":
        assert why["workers"] == len(walk.workers)
        claimed = [walk.claim(why["queue"]) for _ in range(why["ahead"] + 1)]
        assert run_id in {claim.run.id for claim in claimed if claim is not None}
    elif state == "claimed":
        assert walk.claims[run_id].worker_id == why["worker"]["id"]
        assert walk.reply(run_id)
    elif state == "lapsed":
        assert run_id in {ask.run_id for ask in walk.store.coordinator.expire_leases()}
        assert walk.why(run_id)["state"] == "queued"
    else:
        assert walk.store.inspector.run(run_id).status == "waiting"
        walk.now = why["due_at"] - 0.001
        assert walk.why(run_id)["kind"] in (kind, "move")  # its deadline may be before that
        walk.pass_time(0.001)
        assert walk.why(run_id).get("state") == "queued" or walk.why(run_id)["kind"] == "move"
        return str(kind)
    return f"{kind} {state or ''}".strip()


@pytest.fixture(scope="module")
def seen() -> Iterator[set[str]]:
    """Return the causes that the walks met; together they meet every cause without versions and parked calls."""
    causes: set[str] = set()
    yield causes
    assert causes == {
        "move accepted", "move answered", "move cancelled", "move deadline", "move turn", "session", "human",
        "llm queued", "llm claimed", "llm lapsed", "agent queued", "agent claimed", "agent lapsed",
        "retry", "provider", "budget",
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_a_run_goes_on_when_it_gets_what_it_waits_for(tmp_path: Path, seed: int, seen: set[str]) -> None:
    walk = Walk(tmp_path / "walk.db", seed)
    steps = [walk.submit, walk.move_some, walk.claim_some, walk.claim_some, walk.pass_time]
    seldom = [walk.give_back, walk.put_off, walk.put_off, walk.fall_silent, walk.cancel]
    for _ in range(60):
        walk.chance.choice(steps if walk.chance.random() < 0.7 else seldom)()
        unfinished = [run.id for run in walk.unfinished()]
        for run_id in unfinished:
            walk.why(run_id)
        if unfinished:
            seen.add(_does_what_it_waits_for(walk, walk.chance.choice(unfinished)))
    for _ in range(2):  # every claim lapses in the end, so that no seed has to come by a lapse of each kind
        walk.claim_some()
        walk.fall_silent()
    for run in walk.unfinished():
        if walk.why(run.id).get("state") == "lapsed":
            seen.add(_does_what_it_waits_for(walk, run.id))
    walk.database.close()
