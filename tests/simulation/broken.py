"""The protections, each taken away: what the simulator has to notice.

Not here, because one SQLite file with one writer at a time cannot show it, and left to the chaos run on real servers:

- no lock of the run's row, or locks in another order: on SQLite a transaction is alone, so nothing is missed;
- a claim that does not skip what others have locked, for the same reason;
- a pool of connections that the beat shares with the work: actors take turns, so none waits for a connection;
- publishers without confirms: the simulated broker may lose anything anyway, and the sweeper makes up for it.

And one that nothing can miss, because another stands behind it: a claim by a worker that was declared dead is refused,
but its reply would be, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import sqlalchemy as sa
from tests.simulation import team

from turnwise.agents.tools.handler_calls import Stem
from turnwise.bus.envelope import AskEnvelope
from turnwise.models.budget.budget import NOTHING
from turnwise.models.budget.call import Granted, grant
from turnwise.record.asks import lost_attempts, replies
from turnwise.record.asks.pauses import EndedPauses
from turnwise.record.asks.receipts import Receipts
from turnwise.record.asks.sweep import Sweep
from turnwise.record.budgets import reservations
from turnwise.record.budgets.settlement import count_and_tell
from turnwise.record.budgets.usage_tally import usage_rows
from turnwise.record.database.schema import runs
from turnwise.record.runs import inbox
from turnwise.record.runs.submission import Submissions
from turnwise.record.states import AskStatus
from turnwise.record.transaction import run_transaction
from turnwise.record.transaction.part import RecordPart
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.transaction.writes import Writes
from turnwise.serving.attempts.served_calls import ServedCalls
from turnwise.serving.dispatcher import Dispatcher
from turnwise.serving.moves.move import Mover
from turnwise.serving.moves.moved import Moved
from turnwise.testing import Scenario
from turnwise_responders.claimed_asks import ClaimedAsks

Break = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, kw_only=True)
class Saboteur:
    """A protection that is taken away.

    It has to be noticed within so many `schedules` from `first` on, with `faults` that reach it, as the breach of one
    of `promises`. `first` is one that notices it, where a search from the default would take long. `patience` is the
    simulated seconds within which those schedules come to rest with the protection: what is stuck without it is
    watched until then. `settings` are those of the services; `task` is the one that has to take part. `scenario` is
    played.
    """

    name: str
    takes_away: Break
    faults: Mapping[str, Any] = field(default_factory=dict)
    promises: tuple[str, ...]
    schedules: int = 30
    first: int = 1_000
    patience: float = 120.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    task: str | None = None
    scenario: Scenario = team.scenario


ZOMBIES = {"freeze": 0.1, "model_slow": 0.5, "most": 30}
KILLS = {"kill_before_commit": 0.05, "kill_after_commit": 0.05}
LOST_MESSAGES = {"message_lost": 0.5, "most": 20}
LOST_ANSWERS = {"answer_lost": 0.15}


def no_fencing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply is accepted under any token."""
    why = replies.why_stale

    def lenient(transaction: RunTransaction, ask: Any, claim: Any) -> str | None:
        found = why(transaction, ask, claim)
        return None if found == "lease_lost" else found

    monkeypatch.setattr(replies, "why_stale", lenient)


def no_single_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply is accepted whatever came before it."""
    monkeypatch.setattr(replies, "why_stale", lambda transaction, ask, claim: None)


def no_take_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the work of a dead worker with it."""
    monkeypatch.setattr(Sweep, "_retake_lost", lambda self: [])


def no_top_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A permit that got lost is gone."""
    monkeypatch.setattr(Sweep, "permits", lambda self, queue, waiting, **_: [])


def no_due_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator that was not woken makes no move."""
    monkeypatch.setattr(Sweep, "due_moves", lambda self, **_: [])


def no_letting_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell no one of the work that an ended pause held."""
    monkeypatch.setattr(EndedPauses, "let_go", lambda self: None)


def no_second_look_at_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim whose answer was lost is not looked for."""

    def forget(self: ClaimedAsks, worker: str) -> None:
        self._in_doubt = False

    monkeypatch.setattr(ClaimedAsks, "clear_up", forget)


def no_idempotency(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that asks again gets another run."""
    submit = Submissions.submit
    monkeypatch.setattr(Submissions, "submit", lambda self, new: submit(self, replace(new, idempotency_key=None)))


def a_move_that_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """A move takes the reply to the last ask again and again."""
    change = RunTransaction.change

    def keeping(self: RunTransaction, **changes: Any) -> Any:
        if self.run.awaiting and changes.get("awaiting") and self.reply() is not None:
            del changes["awaiting"]
        return change(self, **changes)

    monkeypatch.setattr(RunTransaction, "change", keeping)


def no_lock_for_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of an event is read before the run is locked."""
    locked = RecordPart._lock_run

    @contextmanager
    def early(self: Any, run_id: str, *, known: Any = None, **options: Any) -> Iterator[RunTransaction | None]:
        with self._database.read() as connection:
            seq = connection.execute(sa.select(runs.c.last_seq).where(runs.c.id == run_id)).scalar_one()
        with locked(self, run_id, **options) as transaction:
            if transaction is not None:
                transaction.amend(last_seq=seq)
            yield transaction

    monkeypatch.setattr(RecordPart, "_lock_run", early)


def published_before_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ask is published within the transaction that writes it."""
    move = Mover.move
    dispatchers: list[Dispatcher] = []
    made = Dispatcher.__init__

    def known(self: Dispatcher, *given: Any, **options: Any) -> None:
        made(self, *given, **options)
        dispatchers.append(self)

    def early(self: Mover, tx: RunTransaction) -> Moved:
        moved = move(self, tx)
        if isinstance(moved.ask, AskEnvelope):
            dispatchers[-1].publish(moved.ask)
        return moved

    monkeypatch.setattr(Dispatcher, "__init__", known)
    monkeypatch.setattr(Mover, "move", early)


def no_cost_of_discarded_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drop the cost of a reply that came too late."""

    def only_accepted(transaction: RunTransaction, ask: Any, token: int, *used: Any) -> None:
        current = transaction.ask(ask.id)
        if current is not None and current.token == token and not transaction.run.ended:
            count_and_tell(transaction, ask, token, *used)

    monkeypatch.setattr(replies, "count_and_tell", only_accepted)


def use_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what a run has used in its row although it is added to the sums of days."""
    monkeypatch.setattr(run_transaction, "counted_at_rest", lambda run: (run, usage_rows(run) if run.ended else []))


def no_reservations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is put aside for a call, so that others may spend it meanwhile."""

    def for_nothing(call: Any, budgets: Any) -> Any:
        answer = grant(call, budgets)
        return replace(answer, amount=NOTHING) if isinstance(answer, Granted) else answer

    monkeypatch.setattr(reservations, "grant", for_nothing)


def no_settling_of_lost_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the reservations of a dead worker."""
    monkeypatch.setattr(lost_attempts, "settle_lost", lambda *given: 0)
    monkeypatch.setattr(reservations, "settle_lost", lambda *given: 0)


def no_line_of_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of a session begins while the one before it goes on."""
    monkeypatch.setattr(RunTransaction, "run_before", lambda self: None)


def no_first_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question can be answered again, and neither the table of transitions nor the statement refuses it."""

    def named(transaction: RunTransaction, question_id: str) -> Any:
        return transaction.ask(question_id)

    def close(self: RunTransaction, ask_id: str, status: AskStatus) -> None:
        self._writes.closed_asks[ask_id] = status

    monkeypatch.setattr(inbox, "_named", named)
    monkeypatch.setattr(RunTransaction, "close_ask", close)
    monkeypatch.setattr(Writes, "_missed", lambda self, status, id: None)


def no_receipts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write neither that a handler begins nor that it has ended before the next one begins."""
    monkeypatch.setattr(Receipts, "keep_receipts", lambda self, claim, kept: True)


def no_parking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that may have been made is made again."""
    monkeypatch.setattr(ServedCalls, "_may_have_begun", lambda self, call: False)


def new_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of a call is another with each attempt."""
    made = ServedCalls.__init__

    def other(self: ServedCalls, claim: Any, *given: Any) -> None:
        made(self, claim, *given)
        self._stem = Stem(f"{claim.ask.id}.{claim.token}")

    monkeypatch.setattr(ServedCalls, "__init__", other)


SABOTEURS = [
    Saboteur(
        name="no fencing",
        takes_away=no_fencing,
        faults=ZOMBIES,
        promises=("no surprise", "one ask, one reply", "same transcript"),
        first=1_006,
    ),
    Saboteur(
        name="no single reply",
        takes_away=no_single_reply,
        faults=ZOMBIES,
        promises=("no surprise", "one ask, one reply", "accepted is kept"),
    ),
    Saboteur(
        name="no take-over",
        takes_away=no_take_over,
        faults=KILLS,
        promises=("accepted is kept",),
        first=1_003,
    ),
    Saboteur(name="no top-up", takes_away=no_top_up, faults=LOST_MESSAGES, promises=("accepted is kept",)),
    Saboteur(name="no due moves", takes_away=no_due_moves, faults=LOST_MESSAGES, promises=("accepted is kept",)),
    Saboteur(
        name="no letting go",
        takes_away=no_letting_go,
        faults={"pause": 1.0},
        promises=("accepted is kept",),
        first=1_006,
    ),
    Saboteur(
        name="no second look at claims",
        takes_away=no_second_look_at_claims,
        faults=LOST_ANSWERS,
        promises=("accepted is kept",),
    ),
    Saboteur(name="no idempotency", takes_away=no_idempotency, faults=LOST_ANSWERS, promises=("accepted is kept",)),
    Saboteur(
        name="a move that repeats",
        takes_away=a_move_that_repeats,
        faults={"message_doubled": 0.5, "most": 20},
        promises=("no surprise", "same transcript", "accepted is kept"),
    ),
    Saboteur(
        name="no lock for numbers",
        schedules=120,
        takes_away=no_lock_for_numbers,
        faults={"message_doubled": 0.5, "most": 20},
        promises=("no surprise", "order"),
        first=1_032,
    ),
    Saboteur(name="published before the commit", takes_away=published_before_the_commit, promises=("commit first",)),
    Saboteur(
        name="no cost of discarded replies",
        takes_away=no_cost_of_discarded_replies,
        faults=ZOMBIES,
        promises=("no overspend",),
    ),
    Saboteur(name="use counted again", takes_away=use_counted_again, promises=("no overspend",)),
    Saboteur(
        name="no reservations",
        takes_away=no_reservations,
        promises=("no overspend",),
        settings={"tenant_day_max_cost": "2.0"},
        faults={"model_slow": 0.5, "most": 20},
    ),
    Saboteur(
        name="no settling of lost calls",
        takes_away=no_settling_of_lost_calls,
        faults=KILLS,
        promises=("accepted is kept", "no overspend"),
        first=1_007,
    ),
    Saboteur(name="no line of sessions", takes_away=no_line_of_sessions, promises=("same transcript",)),
    Saboteur(
        name="no first answer",
        takes_away=no_first_answer,
        faults=LOST_ANSWERS,
        promises=("no surprise", "one ask, one reply"),
        schedules=150,
        first=1_060,
    ),
    Saboteur(
        name="no receipts",
        takes_away=no_receipts,
        faults={"kill_before_commit": 0.1, "most": 30, "until": 30.0},
        promises=("effects",),
        schedules=200,
        task="trip",
        first=1_023,
    ),
    Saboteur(
        name="no parking",
        takes_away=no_parking,
        faults={"kill_before_commit": 0.06, "most": 30, "until": 30.0},
        promises=("effects",),
        schedules=200,
        task="trip",
        first=1_019,
    ),
    Saboteur(
        name="new keys",
        takes_away=new_keys,
        faults=ZOMBIES,
        promises=("effects",),
        schedules=200,
        first=1_014,
        task="trip",
    ),
]
