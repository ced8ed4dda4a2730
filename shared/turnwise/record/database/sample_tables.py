"""The tables of samples: the work of tenants over time, as coordinators look at it every few seconds."""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.database.columns import Money, Seconds, metadata


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default="0")


# A row of the tenant "" for each sample, with the sums of all tenants, and one of each tenant that had anything.
samples = sa.Table(
    "samples",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    # The beginning of the time that only one sample is made for; whole seconds since the epoch.
    sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
    # A sample counts what happened before then, and after the sample before.
    sa.Column("until", Seconds, nullable=False),
    sa.Column("seconds", Seconds, nullable=False),
    *(_count(name) for name in ("turns", "deferrals", "ended", "failed")),
    *(_count(name) for name in ("calls", "unpriced_calls", "prompt_tokens", "cached_tokens", "completion_tokens")),
    _count("cost_nano"),  # billionths of a US dollar, which both databases add up exactly
    # As it was at that moment.
    *(_count(name) for name in ("queued", "running", "waiting", "asking", "backlog", "in_flight")),
)
# For rows that are kept no longer.
sa.Index("ix_samples_at", samples.c.at)

# The part of a tenant's use of a day (UTC) that samples have counted.
sampled_usage = sa.Table(
    "sampled_usage",
    metadata,
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("day", sa.Text, primary_key=True),
    *(_count(name) for name in ("calls", "unpriced_calls", "prompt_tokens", "cached_tokens", "completion_tokens")),
    sa.Column("cost", Money, nullable=False, server_default="0"),
)
