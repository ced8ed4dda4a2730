"""The tables of the record.

Rows that belong to a run carry its `run_id` and are written only under the lock of the run's row, which is what keeps
them consistent; foreign keys would check the same thing again at every insert of the hot path.
"""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.database import (  # `metadata` has to know all
    batch_tables,  # noqa: F401
    budget_tables,  # noqa: F401
    columns,
    provider_batch_tables,  # noqa: F401
    sample_tables,  # noqa: F401
    schedule_tables,  # noqa: F401
    webhook_tables,  # noqa: F401
)
from turnwise.record.database.columns import Document, Money, Seconds, Tags, status_is
from turnwise.record.states import UNFINISHED, AskStatus, RunStatus

SCHEMA_VERSION = "0022"

metadata = columns.metadata
_unfinished = sa.text(status_is(*UNFINISHED))

# One row. Programs of `oldest_program` and later may work on this schema while an installation is upgraded; each
# migration sets it.
schema_support = sa.Table(
    "schema_support",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("oldest_program", sa.Text, nullable=False),
)

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("task", sa.Text, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("status_code", sa.Text),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.Column("tags", Tags, nullable=False),
    sa.Column("metadata", Document, nullable=False),
    sa.Column("session_id", sa.Text),
    # Of a run in a session: the session's key, and its place in the order of acceptance.
    sa.Column("session_key", sa.Text),
    sa.Column("session_no", sa.Integer),
    # The session's conversation that the run continued with when it began; NULL: none, and before that.
    sa.Column("conversation_id", sa.Text),
    # Of a fork: {"run": the other one, "at": the event of it after which they part}.
    sa.Column("forked_from", Document),
    # The model that all its agents use in place of their own; NULL: their own.
    sa.Column("model", sa.Text),
    sa.Column("message", Document, nullable=False),
    sa.Column("max_cost", Money),
    sa.Column("max_tokens", sa.BigInteger),
    sa.Column("turns", sa.Integer),
    sa.Column("max_turns", sa.Integer),
    sa.Column("deadline_at", Seconds),
    sa.Column("prompt_tokens", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("cached_tokens", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("completion_tokens", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("calls", sa.Integer, nullable=False, server_default="0"),
    sa.Column("unpriced_calls", sa.Integer, nullable=False, server_default="0"),
    sa.Column("cost", Money, nullable=False, server_default="0"),
    # The part of it that no sum of a day has yet; NULL unless the run works. An index on it would end HOT updates.
    sa.Column("uncounted", Document),
    # Reserved for calls under way; with `cost` and the tokens above, the run's own budget.
    sa.Column("reserved_cost", Money, nullable=False, server_default="0"),
    sa.Column("reserved_tokens", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("on_limit", sa.Text),  # end or wait
    # Seconds that its models' calls may wait for a batch of their provider; NULL: as its tasks say.
    sa.Column("can_wait", Seconds),
    sa.Column("last_seq", sa.Integer, nullable=False, server_default="0"),
    sa.Column("last_frame", sa.Integer, nullable=False, server_default="0"),
    sa.Column("last_document", sa.Integer, nullable=False, server_default="0"),
    sa.Column("cancel_requested_at", Seconds),
    sa.Column("waiting_for", Document),
    sa.Column("result", Document),
    sa.Column("error", Document),
    sa.Column("idempotency_key", sa.Text),
    sa.Column("body_hash", sa.Text),
    sa.Column("awaiting", sa.Text),
    sa.Column("move_due_at", Seconds),
    sa.Column("created_at", Seconds, nullable=False),
    sa.Column("started_at", Seconds),
    sa.Column("finished_at", Seconds),
    # W3C trace contexts: of the submission, and, once the run continued after a wait, of what it continued with.
    sa.Column("traceparent", sa.Text),
    sa.Column("stretch", sa.Text),
    # Raised by each change of the row; what a process knows of the run is as of one revision.
    sa.Column("revision", sa.BigInteger, nullable=False, server_default="0"),
    # The batch that it is a run of; its calls are paid from the batch's budget as well, if `batch_budget`.
    sa.Column("batch_id", sa.Text),
    sa.Column("batch_budget", sa.Boolean),
    sa.CheckConstraint(status_is(*RunStatus), name="ck_runs_status"),
)
_has_key = sa.text("idempotency_key IS NOT NULL")
sa.Index(
    "uq_runs_idempotency",
    runs.c.tenant,
    runs.c.idempotency_key,
    unique=True,
    postgresql_where=_has_key,
    sqlite_where=_has_key,
)
_move_due = sa.text("move_due_at IS NOT NULL")
sa.Index("ix_runs_move_due", runs.c.move_due_at, postgresql_where=_move_due, sqlite_where=_move_due)
sa.Index("ix_runs_deadline", runs.c.deadline_at, postgresql_where=_unfinished, sqlite_where=_unfinished)
sa.Index("ix_runs_unfinished_of", runs.c.tenant, runs.c.status, postgresql_where=_unfinished, sqlite_where=_unfinished)
sa.Index("ix_runs_tenant", runs.c.tenant, runs.c.id)
_in_session = sa.text("session_id IS NOT NULL")
sa.Index("ix_runs_session", runs.c.session_id, runs.c.id, postgresql_where=_in_session, sqlite_where=_in_session)
_in_batch = sa.text("batch_id IS NOT NULL")
sa.Index("ix_runs_batch", runs.c.batch_id, runs.c.id, postgresql_where=_in_batch, sqlite_where=_in_batch)
_active = sa.text(f"batch_id IS NOT NULL AND {status_is(*UNFINISHED)}")
sa.Index("ix_runs_batch_active", runs.c.batch_id, postgresql_where=_active, sqlite_where=_active)
# Who of a session has not ended yet, in order.
_in_line = sa.text(f"session_key IS NOT NULL AND {status_is(*UNFINISHED)}")
sa.Index(
    "ix_runs_session_line", runs.c.session_key, runs.c.session_no, postgresql_where=_in_line, sqlite_where=_in_line
)

# What retention looks through, the oldest first.
_ended = sa.text("finished_at IS NOT NULL")
sa.Index("ix_runs_finished", runs.c.finished_at, runs.c.id, postgresql_where=_ended, sqlite_where=_ended)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),  # the client's
    sa.Column("key", sa.Text, nullable=False),  # ours: a session that was deleted and begun again gets another
    sa.Column("last_no", sa.Integer, nullable=False),
    sa.Column("created_at", Seconds, nullable=False),
    sa.Column("used_at", Seconds, nullable=False),
)

frames = sa.Table(
    "frames",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("no", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("state", Document, nullable=False),
)

documents = sa.Table(
    "documents",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("no", sa.Integer, nullable=False),  # the order in which the run's documents were made
    sa.Column("parent_id", sa.Text),
    sa.Column("body", Document, nullable=False),
    sa.Column("created_at", Seconds, nullable=False),
)

asks = sa.Table(
    "asks",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("frame_no", sa.Integer, nullable=False),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("responder", sa.Text, nullable=False),
    sa.Column("queue", sa.Text),
    sa.Column("turn", sa.Integer, nullable=False),
    sa.Column("try_no", sa.Integer, nullable=False),
    sa.Column("message_id", sa.Text),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("max_attempts", sa.Integer, nullable=False),
    sa.Column("token", sa.Integer, nullable=False, server_default="0"),
    sa.Column("worker_id", sa.Text),
    sa.Column("due_at", Seconds),
    sa.Column("extra", Document, nullable=False),
    sa.Column("topups", sa.Integer, nullable=False, server_default="0"),
    sa.Column("topup_after", Seconds),
    # How often it was deferred; each has an `ask.deferred` event that says why.
    sa.Column("deferrals", sa.Integer, nullable=False, server_default="0"),
    sa.Column("tenant", sa.Text, nullable=False, server_default="default"),  # its run's
    # The provider that it waits for a place with, and the tokens that its call may take; NULL: it was never deferred
    # for that.
    sa.Column("bucket", sa.Text),
    sa.Column("bucket_tokens", sa.Integer),
    # How often its calls have failed, by call and kind of error.
    sa.Column("failures", Document),
    # How often its holder was lost, or it was parked, since no one knows more of it: its first call may have begun.
    sa.Column("lost", sa.Integer, nullable=False, server_default="0"),
    # Why a person has to decide, and what he has decided.
    sa.Column("parked", Document),
    sa.Column("parked_at", Seconds),
    sa.Column("created_at", Seconds, nullable=False),
    sa.Column("claimed_at", Seconds),
    sa.Column("closed_at", Seconds),
    sa.Column("traceparent", sa.Text),  # of the move that asked, or of who had it asked again
    sa.CheckConstraint(status_is(*AskStatus), name="ck_asks_status"),
)
_runnable = sa.text(status_is(AskStatus.RUNNABLE))
sa.Index(
    "ix_asks_runnable",
    asks.c.queue,
    asks.c.priority.desc(),
    asks.c.created_at,
    postgresql_where=_runnable,
    sqlite_where=_runnable,
)
sa.Index(  # the line of each tenant
    "ix_asks_tenant",
    asks.c.queue,
    asks.c.tenant,
    asks.c.priority.desc(),
    asks.c.created_at,
    postgresql_where=_runnable,
    sqlite_where=_runnable,
)
_for_provider = sa.text(f"{status_is(AskStatus.RUNNABLE)} AND bucket IS NOT NULL")
sa.Index(
    "ix_asks_bucket",
    asks.c.bucket,
    asks.c.queue,
    asks.c.priority.desc(),
    asks.c.created_at,
    postgresql_where=_for_provider,
    sqlite_where=_for_provider,
)
_delayed = sa.text(f"{status_is(AskStatus.RUNNABLE, AskStatus.OPEN)} AND due_at IS NOT NULL")
sa.Index("ix_asks_due", asks.c.due_at, postgresql_where=_delayed, sqlite_where=_delayed)
_leased = sa.text(status_is(AskStatus.LEASED))
sa.Index("ix_asks_leased", asks.c.worker_id, postgresql_where=_leased, sqlite_where=_leased)
_open = sa.text(status_is(AskStatus.OPEN))
sa.Index("ix_asks_open", asks.c.created_at, postgresql_where=_open, sqlite_where=_open)

_parked = sa.text(status_is(AskStatus.PARKED))
sa.Index("ix_asks_parked", asks.c.parked_at, postgresql_where=_parked, sqlite_where=_parked)

replies = sa.Table(
    "replies",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("ask_id", sa.Text, primary_key=True),
    sa.Column("token", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("accepted", sa.Boolean, nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("document_id", sa.Text),
    sa.Column("error", Document),
    sa.Column("usage", Document),
    sa.Column("cost", Money),
    sa.Column("worker_id", sa.Text),
    sa.Column("at", Seconds, nullable=False),
    sa.Column("traceparent", sa.Text),  # of the answering
)
_accepted = sa.text("accepted")
sa.Index(  # one ask, one reply, whatever the code above it does
    "uq_replies_accepted",
    replies.c.run_id,
    replies.c.ask_id,
    unique=True,
    postgresql_where=_accepted,
    sqlite_where=_accepted,
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("at", Seconds, nullable=False),
    sa.Column("path", sa.Text),
    sa.Column("turn", sa.Integer),
    sa.Column("try_no", sa.Integer),
    sa.Column("ask_id", sa.Text),
    sa.Column("data", Document),
    sa.Column("document_id", sa.Text),
    # What had changed, since the last event that has this, of what is replaced; see `run_changes.py`.
    sa.Column("changes", Document),
)


def _owner() -> sa.Column[str]:
    """Return whose rows these are: a run's, or those of a session's conversation (`runs.conversation_id`).

    The name in the database is from before there were sessions; with it, programs of that time continue working
    while an installation is upgraded.
    """
    return sa.Column("run_id", sa.Text, key="owner", primary_key=True)


agent_states = sa.Table(
    "agent_states",
    metadata,
    _owner(),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("record", Document),
    sa.Column("state", Document),
    sa.Column("history_len", sa.Integer, nullable=False),
    sa.Column("history_epoch", sa.Integer, nullable=False),
    sa.Column("history_tokens", sa.BigInteger, nullable=False),
    # Of a run in a session: so many messages of its history are the conversation's, as they were in that epoch of it.
    sa.Column("base_len", sa.Integer, nullable=False, server_default="0"),
    sa.Column("base_epoch", sa.Integer, nullable=False, server_default="0"),
)

histories = sa.Table(
    "histories",
    metadata,
    _owner(),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("idx", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("body", Document, nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("total", sa.BigInteger, nullable=False),
    sa.Column("document_id", sa.Text),
)

loop_counts = sa.Table(
    "loop_counts",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("frame_no", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("n", sa.Integer, nullable=False),
)
sa.Index("ix_loop_counts_n", loop_counts.c.run_id, loop_counts.c.frame_no, loop_counts.c.n.desc())

workers = sa.Table(
    "workers",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("queues", Document, nullable=False),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("lease_until", Seconds, nullable=False),
    sa.Column("started_at", Seconds, nullable=False),
    sa.Column("beat_at", Seconds, nullable=False),
    # It beats, but its broker brings it nothing.
    sa.Column("deaf_since", Seconds),
    # It was told to end, and claims nothing more.
    sa.Column("draining_since", Seconds),
)

sweep_leases = sa.Table(
    "sweep_leases",
    metadata,
    sa.Column("queue", sa.Text, primary_key=True),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("lease_until", Seconds, nullable=False),
)

receipts = sa.Table(
    "receipts",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("ask_id", sa.Text, primary_key=True),
    sa.Column("call_no", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("token", sa.Integer, nullable=False),
    sa.Column("tool", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("result", Document),
    sa.Column("state", Document),
    sa.Column("at", Seconds, nullable=False),
    sa.Column("key", sa.Text),
    sa.Column("effect", sa.Text),
    sa.Column("arguments", Document),
    sa.Column("record", Document),
    sa.Column("begun_at", Seconds),
    sa.Column("worker_id", sa.Text),
)

tenant_shares = sa.Table(
    "tenant_shares",
    metadata,
    sa.Column("queue", sa.Text, primary_key=True),
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("began", sa.Double, nullable=False),  # the queue's virtual time when its last claim began
    sa.Column("ends", sa.Double, nullable=False),  # and when that is over: the more weight, the sooner
)
