"""Sums of the runs of batches that have ended, and batches that expire.

Runs before the deploy. It only adds; programs of 0002 and later go on working, and the runs that they end are counted
as well: triggers keep the sums, in the transaction of the run. A run without a batch costs one comparison for each
change of its row. Batches that are there are counted once, while changes of runs wait.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"

_SUMS = ("calls", "unpriced_calls", "prompt_tokens", "cached_tokens", "completion_tokens")
_COLUMNS = ", ".join(("batch_id", "status", "slot", "runs", *_SUMS, "cost"))
_CHANGES = ", ".join(f"{name} = batch_sums.{name} + excluded.{name}" for name in ("runs", *_SUMS))
_COUNTS = "{row}.batch_id IS NOT NULL AND {row}.finished_at IS NOT NULL"
_STATUS = (
    "CASE WHEN {row}.status = 'completed' AND {row}.status_code IN ('MAX_COST', 'MAX_TOKENS') THEN 'limited' "
    "ELSE {row}.status END"
)
_LEAVES = "OLD.run IS NOT NULL AND NEW.run IS NULL"


def upgrade() -> None:
    op.create_table(
        "batch_sums",
        sa.Column("batch_id", sa.Text(), primary_key=True),
        sa.Column("status", sa.Text(), primary_key=True),
        sa.Column("slot", sa.Integer(), primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("runs", *_SUMS)),
        sa.Column("cost", sa.Numeric() if _is_postgres() else sa.Text(), nullable=False),
    )
    op.create_table(
        "replaced_batch_runs",
        sa.Column("batch_id", sa.Text(), primary_key=True),
        sa.Column("run", sa.Text(), primary_key=True),
    )
    op.add_column("batches", sa.Column("filled_at", sa.Double()))
    op.add_column("batches", sa.Column("expired_at", sa.Double()))
    _postgres_triggers() if _is_postgres() else _sqlite_triggers()
    _count()
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    on_tables = {"batches_count_runs": "runs", "batches_forget_runs": "runs", "batches_replace_runs": "batch_items"}
    if _is_postgres():
        for name, table in on_tables.items():
            op.execute(f"DROP TRIGGER {name} ON {table}")
        for function in ("turnwise_count_batch_run", "turnwise_replace_batch_run"):
            op.execute(f"DROP FUNCTION {function}()")
    else:
        for name in ("batches_uncount_runs", *on_tables):
            op.execute(f"DROP TRIGGER {name}")
    op.drop_column("batches", "expired_at")
    op.drop_column("batches", "filled_at")
    op.drop_table("replaced_batch_runs")
    op.drop_table("batch_sums")


def _is_postgres() -> bool:
    return op.get_bind().dialect.name == "postgresql"


def _add(row: str, sign: str = "", status: str = _STATUS) -> str:
    """Return the statement that counts a run as it is in `row`, or takes it away again."""
    if _is_postgres():
        # Rows that the ends of a batch's runs are spread over, or each would wait for the commit of the one before.
        slot, cost, sum_of = "hashtext({row}.id) & 15", f"{sign}{{row}}.cost", "batch_sums.cost + excluded.cost"
    else:
        slot, cost = "0", f"'{sign}' || {{row}}.cost"
        sum_of = "turnwise_sum(batch_sums.cost, excluded.cost)"
    sums = ", ".join(f"{sign}{{row}}.{name}" for name in _SUMS)
    values = f"{{row}}.batch_id, {status}, {slot}, {sign}1, {sums}, {cost}".format(row=row)
    return (
        f"INSERT INTO batch_sums ({_COLUMNS}) VALUES ({values}) "
        f"ON CONFLICT (batch_id, status, slot) DO UPDATE SET {_CHANGES}, cost = {sum_of};"
    )


def _postgres_triggers() -> None:
    old, new = (
        f"IF {_COUNTS.format(row=row)} THEN {_add(row, sign)} END IF;" for row, sign in (("OLD", "-"), ("NEW", ""))
    )
    op.execute(
        "CREATE FUNCTION turnwise_count_batch_run() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"{old} IF TG_OP = 'DELETE' THEN {_add('OLD', status=chr(39) + 'deleted' + chr(39))} ELSE {new} END IF; "
        "RETURN NULL; END $$"
    )
    for name, event, condition in (
        ("batches_count_runs", "UPDATE", f"({_COUNTS.format(row='OLD')}) OR ({_COUNTS.format(row='NEW')})"),
        ("batches_forget_runs", "DELETE", "OLD.batch_id IS NOT NULL"),
    ):
        op.execute(
            f"CREATE TRIGGER {name} AFTER {event} ON runs FOR EACH ROW WHEN ({condition}) "
            "EXECUTE FUNCTION turnwise_count_batch_run()"
        )
    op.execute(
        "CREATE FUNCTION turnwise_replace_batch_run() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO replaced_batch_runs VALUES (OLD.batch_id, OLD.run); RETURN NULL; END $$"
    )
    op.execute(
        f"CREATE TRIGGER batches_replace_runs AFTER UPDATE ON batch_items FOR EACH ROW WHEN ({_LEAVES}) "
        "EXECUTE FUNCTION turnwise_replace_batch_run()"
    )


def _sqlite_triggers() -> None:
    deleted = _add("OLD", status="'deleted'")
    for name, event, condition, body in (
        ("batches_uncount_runs", "UPDATE ON runs", _COUNTS.format(row="OLD"), _add("OLD", "-")),
        ("batches_count_runs", "UPDATE ON runs", _COUNTS.format(row="NEW"), _add("NEW")),
        ("batches_forget_runs", "DELETE ON runs", "OLD.batch_id IS NOT NULL", _add("OLD", "-") + deleted),
        (
            "batches_replace_runs",
            "UPDATE ON batch_items",
            _LEAVES,
            "INSERT INTO replaced_batch_runs VALUES (OLD.batch_id, OLD.run);",
        ),
    ):
        op.execute(f"CREATE TRIGGER {name} AFTER {event} WHEN {condition} BEGIN {body} END")


def _count() -> None:
    """Count the runs of the batches that are there; of runs that were deleted already, the use is not known."""
    total = "sum" if _is_postgres() else "turnwise_total"
    sums = ", ".join(f"sum(r.{name})" for name in _SUMS)
    of_row = _STATUS.format(row="r")
    op.execute(
        f"INSERT INTO batch_sums ({_COLUMNS}) SELECT r.batch_id, {of_row}, 0, count(*), {sums}, {total}(r.cost) "
        f"FROM runs r WHERE {_COUNTS.format(row='r')} GROUP BY r.batch_id, {of_row}"
    )
    nothing = ", ".join("0" for _ in _SUMS)
    op.execute(
        f"INSERT INTO batch_sums ({_COLUMNS}) SELECT i.batch_id, 'deleted', 0, count(*), {nothing}, '0' "
        "FROM batch_items i WHERE i.run IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = i.run) "
        "GROUP BY i.batch_id"
    )
    op.execute(
        "INSERT INTO replaced_batch_runs SELECT r.batch_id, r.id FROM runs r WHERE r.batch_id IS NOT NULL "
        "AND r.id NOT IN (SELECT i.run FROM batch_items i WHERE i.run IS NOT NULL)"
    )
