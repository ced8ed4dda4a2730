"""Promises: what keeps runs whole, within their limits and their deadlines, whatever fails.

Runs before the deploy. It only adds, so programs of 0002 continue working until they are replaced.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from turnwise.record.database.columns import Money

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"


def upgrade() -> None:
    _support()
    _deferrals()
    _failures()
    _past()
    _provider_limits()
    _ledger()
    _parked_calls()
    _deaf_workers()


def downgrade() -> None:
    with op.batch_alter_table("workers") as batch:
        batch.drop_column("deaf_since")
    _no_parked_calls()
    _no_ledger()
    op.drop_table("schema_support")
    _no_provider_limits()
    with op.batch_alter_table("asks") as batch:
        batch.drop_column("deferrals")
        batch.drop_column("failures")
    with op.batch_alter_table("events") as batch:
        batch.drop_column("changes")
    with op.batch_alter_table("runs") as batch:
        batch.drop_column("model")
        batch.drop_column("forked_from")


def _support() -> None:
    made = op.create_table(
        "schema_support",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("oldest_program", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.bulk_insert(made, [{"id": 1, "oldest_program": oldest_program}])


def _deferrals() -> None:
    op.add_column("asks", sa.Column("deferrals", sa.Integer(), nullable=False, server_default="0"))


def _failures() -> None:
    op.add_column("asks", sa.Column("failures", sa.JSON(none_as_null=True)))


def _past() -> None:
    op.add_column("events", sa.Column("changes", sa.JSON(none_as_null=True)))
    op.add_column("runs", sa.Column("forked_from", sa.JSON(none_as_null=True)))
    op.add_column("runs", sa.Column("model", sa.Text()))


def _provider_limits() -> None:
    with op.batch_alter_table("asks") as batch:
        batch.add_column(sa.Column("tenant", sa.Text(), nullable=False, server_default="default"))
        batch.add_column(sa.Column("bucket", sa.Text()))
        batch.add_column(sa.Column("bucket_tokens", sa.Integer()))
    op.execute(
        "UPDATE asks SET tenant = (SELECT tenant FROM runs WHERE runs.id = asks.run_id) WHERE status = 'runnable' "
        "AND EXISTS (SELECT 1 FROM runs WHERE runs.id = asks.run_id)"
    )
    runnable = sa.text("status = 'runnable'")
    op.create_index(
        "ix_asks_tenant",
        "asks",
        ["queue", "tenant", sa.text("priority DESC"), "created_at"],
        postgresql_where=runnable,
        sqlite_where=runnable,
    )
    waiting = sa.text("status = 'runnable' AND bucket IS NOT NULL")
    op.create_index(
        "ix_asks_bucket",
        "asks",
        ["bucket", "queue", sa.text("priority DESC"), "created_at"],
        postgresql_where=waiting,
        sqlite_where=waiting,
    )
    op.create_table(
        "provider_buckets",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("caps", sa.JSON(), nullable=False),
        sa.Column("window", sa.JSON(), nullable=False),
        sa.Column("open_at", sa.Double(), nullable=False, server_default="0"),
        sa.Column("open_for", sa.Text()),
    )
    op.create_table(
        "provider_calls",
        sa.Column("bucket", sa.Text(), primary_key=True),
        sa.Column("run_id", sa.Text(), primary_key=True),
        sa.Column("ask_id", sa.Text(), primary_key=True),
        sa.Column("token", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("call_no", sa.Text(), primary_key=True),
    )
    op.create_table(
        "tenant_shares",
        sa.Column("queue", sa.Text(), primary_key=True),
        sa.Column("tenant", sa.Text(), primary_key=True),
        sa.Column("began", sa.Double(), nullable=False),
        sa.Column("ends", sa.Double(), nullable=False),
    )


def _no_provider_limits() -> None:
    for table in ("tenant_shares", "provider_calls", "provider_buckets"):
        op.drop_table(table)
    for index in ("ix_asks_bucket", "ix_asks_tenant"):
        op.drop_index(index, "asks")
    with op.batch_alter_table("asks") as batch:
        for column in ("bucket_tokens", "bucket", "tenant"):
            batch.drop_column(column)


def _ledger() -> None:
    op.add_column("runs", sa.Column("reserved_cost", Money(), nullable=False, server_default="0"))
    op.add_column("runs", sa.Column("reserved_tokens", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("runs", sa.Column("on_limit", sa.Text()))
    op.add_column("reservations", sa.Column("worker_id", sa.Text()))
    op.add_column("reservations", sa.Column("budgets", sa.JSON(none_as_null=True)))
    op.add_column("reservations", sa.Column("prompt_tokens", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("reservations", sa.Column("lost", sa.Boolean(), nullable=False, server_default=sa.false()))
    open_ones = sa.text("settled_at IS NULL")
    op.create_index(
        "ix_reservations_open", "reservations", ["worker_id"], postgresql_where=open_ones, sqlite_where=open_ones
    )


def _no_ledger() -> None:
    op.drop_index("ix_reservations_open", "reservations")
    with op.batch_alter_table("reservations") as batch:
        for name in ("worker_id", "budgets", "prompt_tokens", "lost"):
            batch.drop_column(name)
    with op.batch_alter_table("runs") as batch:
        for name in ("reserved_cost", "reserved_tokens", "on_limit"):
            batch.drop_column(name)


_OF_RECEIPTS = ("key", "effect", "arguments", "record", "begun_at", "worker_id")


def _parked_calls() -> None:
    op.add_column("asks", sa.Column("lost", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("asks", sa.Column("parked", sa.JSON(none_as_null=True)))
    op.add_column("asks", sa.Column("parked_at", sa.Double()))
    where = sa.text("status = 'parked'")
    op.create_index("ix_asks_parked", "asks", ["parked_at"], postgresql_where=where, sqlite_where=where)
    kinds: tuple[Any, ...] = (
        sa.Text(),
        sa.Text(),
        sa.JSON(none_as_null=True),
        sa.JSON(none_as_null=True),
        sa.Double(),
        sa.Text(),
    )
    for name, kind in zip(_OF_RECEIPTS, kinds, strict=True):
        op.add_column("receipts", sa.Column(name, kind))


def _no_parked_calls() -> None:
    op.drop_index("ix_asks_parked", "asks")
    for table, names in (("asks", ("lost", "parked", "parked_at")), ("receipts", _OF_RECEIPTS)):
        with op.batch_alter_table(table) as batch:
            for name in names:
                batch.drop_column(name)


def _deaf_workers() -> None:
    op.add_column("workers", sa.Column("deaf_since", sa.Double()))
