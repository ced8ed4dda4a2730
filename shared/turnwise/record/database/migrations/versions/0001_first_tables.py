"""The tables of the first version.

Runs before the deploy: there is nothing older to be compatible with.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from turnwise.record.database.columns import Money, Tags

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "agent_states",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("record", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("state", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("history_len", sa.Integer(), nullable=False),
        sa.Column("history_epoch", sa.Integer(), nullable=False),
        sa.Column("history_tokens", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "key"),
    )
    op.create_table(
        "asks",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("frame_no", sa.Integer(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("responder", sa.Text(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=True),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("try_no", sa.Integer(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=True),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("token", sa.Integer(), server_default="0", nullable=False),
        sa.Column("worker_id", sa.Text(), nullable=True),
        sa.Column("due_at", sa.Double(), nullable=True),
        sa.Column("extra", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("topups", sa.Integer(), server_default="0", nullable=False),
        sa.Column("topup_after", sa.Double(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("claimed_at", sa.Double(), nullable=True),
        sa.Column("closed_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", "id"),
        sa.UniqueConstraint("run_id", "frame_no", "turn", "try_no", name="uq_asks_place"),
    )
    op.create_index(
        "ix_asks_due",
        "asks",
        ["due_at"],
        unique=False,
        postgresql_where=sa.text("status IN ('runnable', 'open') AND due_at IS NOT NULL"),
        sqlite_where=sa.text("status IN ('runnable', 'open') AND due_at IS NOT NULL"),
    )
    op.create_index(
        "ix_asks_leased",
        "asks",
        ["worker_id"],
        unique=False,
        postgresql_where=sa.text("status = 'leased'"),
        sqlite_where=sa.text("status = 'leased'"),
    )
    op.create_index(
        "ix_asks_open",
        "asks",
        ["created_at"],
        unique=False,
        postgresql_where=sa.text("status = 'open'"),
        sqlite_where=sa.text("status = 'open'"),
    )
    op.create_index(
        "ix_asks_runnable",
        "asks",
        ["queue", sa.literal_column("priority DESC"), "created_at"],
        unique=False,
        postgresql_where=sa.text("status = 'runnable'"),
        sqlite_where=sa.text("status = 'runnable'"),
    )
    op.create_table(
        "budgets",
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("scope_id", sa.Text(), nullable=False),
        sa.Column("limit_cost", Money(), nullable=True),
        sa.Column("limit_tokens", sa.BigInteger(), nullable=True),
        sa.Column("spent_cost", Money(), server_default="0", nullable=False),
        sa.Column("spent_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("reserved_cost", Money(), server_default="0", nullable=False),
        sa.Column("reserved_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("scope", "scope_id"),
    )
    op.create_table(
        "documents",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("no", sa.Integer(), nullable=False),
        sa.Column("parent_id", sa.Text(), nullable=True),
        sa.Column("body", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "id"),
    )
    op.create_table(
        "events",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("path", sa.Text(), nullable=True),
        sa.Column("turn", sa.Integer(), nullable=True),
        sa.Column("try_no", sa.Integer(), nullable=True),
        sa.Column("ask_id", sa.Text(), nullable=True),
        sa.Column("data", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("document_id", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", "seq"),
    )
    op.create_table(
        "frames",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("state", sa.JSON(none_as_null=True), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "no"),
    )
    op.create_table(
        "histories",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("idx", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("body", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("document_id", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", "key", "idx"),
    )
    op.create_index("ix_histories_total", "histories", ["run_id", "key", "total"], unique=False)
    op.create_table(
        "loop_counts",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("frame_no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "frame_no", "key"),
    )
    op.create_index(
        "ix_loop_counts_n", "loop_counts", ["run_id", "frame_no", sa.literal_column("n DESC")], unique=False
    )
    op.create_table(
        "receipts",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("ask_id", sa.Text(), nullable=False),
        sa.Column("call_no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("state", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "ask_id", "call_no"),
    )
    op.create_table(
        "replies",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("ask_id", sa.Text(), nullable=False),
        sa.Column("token", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("accepted", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("document_id", sa.Text(), nullable=True),
        sa.Column("error", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("usage", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("cost", Money(), nullable=True),
        sa.Column("worker_id", sa.Text(), nullable=True),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "ask_id", "token"),
    )
    op.create_index(
        "uq_replies_accepted",
        "replies",
        ["run_id", "ask_id"],
        unique=True,
        postgresql_where=sa.text("accepted"),
        sqlite_where=sa.text("accepted"),
    )
    op.create_table(
        "reservations",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("ask_id", sa.Text(), nullable=False),
        sa.Column("token", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("call_no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("cost", Money(), nullable=True),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("settled_cost", Money(), nullable=True),
        sa.Column("settled_tokens", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("settled_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", "ask_id", "token", "call_no"),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("status_code", sa.Text(), nullable=True),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("tags", Tags, nullable=False),
        sa.Column("metadata", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=True),
        sa.Column("message", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("max_cost", Money(), nullable=True),
        sa.Column("max_tokens", sa.BigInteger(), nullable=True),
        sa.Column("turns", sa.Integer(), nullable=True),
        sa.Column("max_turns", sa.Integer(), nullable=True),
        sa.Column("deadline_at", sa.Double(), nullable=True),
        sa.Column("prompt_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("cached_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("calls", sa.Integer(), server_default="0", nullable=False),
        sa.Column("unpriced_calls", sa.Integer(), server_default="0", nullable=False),
        sa.Column("cost", Money(), server_default="0", nullable=False),
        sa.Column("last_seq", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_frame", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_document", sa.Integer(), server_default="0", nullable=False),
        sa.Column("cancel_requested_at", sa.Double(), nullable=True),
        sa.Column("waiting_for", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("error", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("body_hash", sa.Text(), nullable=True),
        sa.Column("awaiting", sa.Text(), nullable=True),
        sa.Column("move_due_at", sa.Double(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("finished_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ix_runs_deadline",
        "runs",
        ["deadline_at"],
        unique=False,
        postgresql_where=sa.text("status IN ('queued', 'running', 'waiting')"),
        sqlite_where=sa.text("status IN ('queued', 'running', 'waiting')"),
    )
    op.create_index(
        "ix_runs_move_due",
        "runs",
        ["move_due_at"],
        unique=False,
        postgresql_where=sa.text("move_due_at IS NOT NULL"),
        sqlite_where=sa.text("move_due_at IS NOT NULL"),
    )
    op.create_index("ix_runs_tenant", "runs", ["tenant", "id"], unique=False)
    op.create_index(
        "ix_runs_unfinished",
        "runs",
        ["status"],
        unique=False,
        postgresql_where=sa.text("status IN ('queued', 'running', 'waiting')"),
        sqlite_where=sa.text("status IN ('queued', 'running', 'waiting')"),
    )
    op.create_index(
        "uq_runs_idempotency",
        "runs",
        ["tenant", "idempotency_key"],
        unique=True,
        postgresql_where=sa.text("idempotency_key IS NOT NULL"),
        sqlite_where=sa.text("idempotency_key IS NOT NULL"),
    )
    op.create_table(
        "sweep_leases",
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("queue"),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("queues", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("beat_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def downgrade() -> None:
    for table in (
        "agent_states",
        "asks",
        "budgets",
        "documents",
        "events",
        "frames",
        "histories",
        "loop_counts",
        "receipts",
        "replies",
        "reservations",
        "runs",
        "sweep_leases",
        "workers",
    ):
        op.drop_table(table)
