"""The tables of access: keys, tenants, what they have used, and who did what."""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.database.columns import Document, Money, Seconds
from turnwise.record.database.schema import metadata

api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("prefix", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),  # SHA-256 of the whole key, in hex
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("scopes", Document, nullable=False),
    sa.Column("created_at", Seconds, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("expires_at", Seconds),
    sa.Column("revoked_at", Seconds),
    sa.Column("last_used_at", Seconds),  # within the hour
    sa.Column("replaced_by", sa.Text),  # the key that it was rotated to
)
sa.Index("uq_api_keys_prefix", api_keys.c.prefix, unique=True)
sa.Index("ix_api_keys_tenant", api_keys.c.tenant, api_keys.c.id)

# Those that differ from the settings; a tenant needs no row.
tenants = sa.Table(
    "tenants",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("day_max_cost", Money),
    sa.Column("day_max_tokens", sa.BigInteger),
    sa.Column("month_max_cost", Money),
    sa.Column("month_max_tokens", sa.BigInteger),
    sa.Column("requests_per_minute", sa.Integer),
    sa.Column("max_unfinished_runs", sa.Integer),
    sa.Column("updated_at", Seconds, nullable=False),
)

# The sums of what runs have used, without the `uncounted` of those that work. Several rows (`slot`) for each tenant,
# day (UTC), root task and model, or all runs of a busy tenant that end would wait for one row.
usage_days = sa.Table(
    "usage_days",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("day", sa.Text, primary_key=True),
    sa.Column("task", sa.Text, primary_key=True),
    sa.Column("model", sa.Text, primary_key=True),  # empty where it is not known
    sa.Column("slot", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("calls", sa.BigInteger, nullable=False),
    sa.Column("unpriced_calls", sa.BigInteger, nullable=False),
    sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
    sa.Column("cached_tokens", sa.BigInteger, nullable=False),
    sa.Column("completion_tokens", sa.BigInteger, nullable=False),
    sa.Column("cost", Money, nullable=False),
)

# Of requests that make no run; a run has its key in its own row.
idempotency_keys = sa.Table(
    "idempotency_keys",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),  # of the request
    sa.Column("resource", sa.Text, nullable=False),  # the id of what it was done to, or a choice of many in JSON
    sa.Column("at", Seconds, nullable=False),
)
# What is kept no longer, the oldest first.
sa.Index("ix_idempotency_keys_at", idempotency_keys.c.at)

# Rows are only added: the database refuses to change one. Old ones may be deleted.
audit = sa.Table(
    "audit",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("at", Seconds, nullable=False),
    sa.Column("tenant", sa.Text, nullable=False),  # the caller's
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("resource", sa.Text),
    sa.Column("outcome", sa.Text, nullable=False),  # done or refused
    sa.Column("status", sa.Integer),  # of the HTTP answer, where it was refused
    sa.Column("address", sa.Text),
    sa.Column("request_id", sa.Text),
)
sa.Index("ix_audit_tenant", audit.c.tenant, audit.c.id)
# What is kept no longer, the oldest first.
sa.Index("ix_audit_at", audit.c.at)
