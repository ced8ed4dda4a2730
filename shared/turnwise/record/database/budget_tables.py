"""The tables of budgets and of providers' limits: the sums, and the reservations of calls in progress.

Their rows are locked after the row of the run, in one order: budgets, then a provider's bucket.
"""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.database.columns import Document, Money, Seconds, metadata

budgets = sa.Table(
    "budgets",
    metadata,
    sa.Column("scope", sa.Text, primary_key=True),  # batch, session, tenant_day or tenant_month
    sa.Column("scope_id", sa.Text, primary_key=True),
    sa.Column("limit_cost", Money),
    sa.Column("limit_tokens", sa.BigInteger),
    sa.Column("spent_cost", Money, nullable=False, server_default="0"),
    sa.Column("spent_tokens", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("reserved_cost", Money, nullable=False, server_default="0"),
    sa.Column("reserved_tokens", sa.BigInteger, nullable=False, server_default="0"),
)

# The usage of deleted runs, for the sums that they still belong to: those of a session by task, of a tenant's present
# day and month.
purged_usage = sa.Table(
    "purged_usage",
    metadata,
    sa.Column("scope", sa.Text, primary_key=True),  # as in `budgets`
    sa.Column("scope_id", sa.Text, primary_key=True),
    sa.Column("task", sa.Text, primary_key=True),  # of a session; else empty
    sa.Column("runs", sa.BigInteger, nullable=False),
    sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
    sa.Column("cached_tokens", sa.BigInteger, nullable=False),
    sa.Column("completion_tokens", sa.BigInteger, nullable=False),
    sa.Column("calls", sa.BigInteger, nullable=False),
    sa.Column("unpriced_calls", sa.BigInteger, nullable=False),
    sa.Column("cost", Money, nullable=False),
)

reservations = sa.Table(
    "reservations",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("ask_id", sa.Text, primary_key=True),
    sa.Column("token", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("call_no", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("cost", Money),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("settled_cost", Money),
    sa.Column("settled_tokens", sa.BigInteger),
    sa.Column("created_at", Seconds, nullable=False),
    sa.Column("settled_at", Seconds),
    sa.Column("worker_id", sa.Text),
    sa.Column("budgets", Document),  # the rows of `budgets` that it is part of, [[scope, scope_id], ...]
    sa.Column("prompt_tokens", sa.BigInteger, nullable=False, server_default="0"),  # of `tokens`
    sa.Column("lost", sa.Boolean, nullable=False, server_default=sa.false()),  # settled without having been heard of
)
_unsettled = sa.text("settled_at IS NULL")
sa.Index("ix_reservations_open", reservations.c.worker_id, postgresql_where=_unsettled, sqlite_where=_unsettled)

provider_buckets = sa.Table(
    "provider_buckets",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("server", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("account", sa.Text, nullable=False),  # a fingerprint of the API key
    sa.Column("caps", Document, nullable=False),  # the limits, as they were configured for the last call
    sa.Column("window", Document, nullable=False),  # what is taken of them
    # Asks that wait for this provider are not claimed before then, because of that limit.
    sa.Column("open_at", Seconds, nullable=False, server_default="0"),
    sa.Column("open_for", sa.Text),
    # Calls that wait for it in their workers, and stand in no line (`budgets.waiting_calls`); NULL for none.
    sa.Column("waiting", Document),
)

provider_calls = sa.Table(  # those under way, where their number is limited
    "provider_calls",
    metadata,
    sa.Column("bucket", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("ask_id", sa.Text, primary_key=True),
    sa.Column("token", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("call_no", sa.Text, primary_key=True),
)
