"""Samples of the work of tenants over time.

Runs before the deploy. It only adds tables; programs of 0002 and later go on working, and make no samples.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from turnwise.record.database.columns import Money

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"

_USAGE = ("calls", "unpriced_calls", "prompt_tokens", "cached_tokens", "completion_tokens")
_COUNTS = ("turns", "deferrals", "ended", "failed", *_USAGE, "cost_nano")
_GAUGES = ("queued", "running", "waiting", "asking", "backlog", "in_flight")


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False, server_default="0")


def upgrade() -> None:
    op.create_table(
        "samples",
        sa.Column("tenant", sa.Text(), primary_key=True),
        sa.Column("at", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        *(_number(name) for name in (*_COUNTS, *_GAUGES)),
    )
    op.create_index("ix_samples_at", "samples", ["at"])
    op.create_table(
        "sampled_usage",
        sa.Column("tenant", sa.Text(), primary_key=True),
        sa.Column("day", sa.Text(), primary_key=True),
        *(_number(name) for name in _USAGE),
        sa.Column("cost", Money(), nullable=False, server_default="0"),
    )
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    op.drop_table("sampled_usage")
    op.drop_table("samples")
