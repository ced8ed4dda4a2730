"""Access: API keys, limits of tenants, what tenants have used, and the audit log.

Runs before the deploy. It only adds, and gives an index one more column, so programs of 0005 continue working until
they are replaced. What those count meanwhile is missing from `usage_days`.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from turnwise.record.database.columns import Money

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"

_UNFINISHED = sa.text("status IN ('queued', 'running', 'waiting')")


def upgrade() -> None:
    _keys()
    _tenants()
    _audit()
    # Counts a tenant's unfinished runs as well as all of them.
    op.create_index(
        "ix_runs_unfinished_of",
        "runs",
        ["tenant", "status"],
        postgresql_where=_UNFINISHED,
        sqlite_where=_UNFINISHED,
    )
    op.drop_index("ix_runs_unfinished", "runs")
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    op.create_index("ix_runs_unfinished", "runs", ["status"], postgresql_where=_UNFINISHED, sqlite_where=_UNFINISHED)
    op.drop_index("ix_runs_unfinished_of", "runs")
    for table in ("audit", "usage_days", "tenants", "api_keys"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION turnwise_refuse_change()")


def _keys() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("scopes", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.Double()),
        sa.Column("revoked_at", sa.Double()),
        sa.Column("last_used_at", sa.Double()),
        sa.Column("replaced_by", sa.Text()),
    )
    op.create_index("uq_api_keys_prefix", "api_keys", ["prefix"], unique=True)
    op.create_index("ix_api_keys_tenant", "api_keys", ["tenant", "id"])


def _tenants() -> None:
    op.create_table(
        "tenants",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("day_max_cost", Money()),
        sa.Column("day_max_tokens", sa.BigInteger()),
        sa.Column("month_max_cost", Money()),
        sa.Column("month_max_tokens", sa.BigInteger()),
        sa.Column("requests_per_minute", sa.Integer()),
        sa.Column("max_unfinished_runs", sa.Integer()),
        sa.Column("updated_at", sa.Double(), nullable=False),
    )
    op.create_table(
        "usage_days",
        sa.Column("tenant", sa.Text(), primary_key=True),
        sa.Column("day", sa.Text(), primary_key=True),
        sa.Column("task", sa.Text(), primary_key=True),
        sa.Column("model", sa.Text(), primary_key=True),
        sa.Column("slot", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("unpriced_calls", sa.BigInteger(), nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cached_tokens", sa.BigInteger(), nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost", Money(), nullable=False),
    )


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("resource", sa.Text()),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("address", sa.Text()),
        sa.Column("request_id", sa.Text()),
    )
    op.create_index("ix_audit_tenant", "audit", ["tenant", "id"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE FUNCTION turnwise_refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'rows of % are not changed', TG_TABLE_NAME; END $$"
        )
        op.execute(
            "CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit "
            "FOR EACH ROW EXECUTE FUNCTION turnwise_refuse_change()"
        )
    else:
        op.execute(
            "CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit "
            "BEGIN SELECT RAISE(ABORT, 'rows of audit are not changed'); END"
        )
