"""CHECK constraints for the statuses of runs and asks.

Runs before the deploy. Every version of Turnwise writes these statuses and no others, so programs of 0002 and later go
on working.

On PostgreSQL the constraints are added without a look at the rows that there are (NOT VALID), which locks the tables
for a moment only; `turnwise migrate` validates them afterwards, in a transaction that lets others read and write.
SQLite cannot add a constraint to a table, so the tables are copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from alembic import op
from alembic.operations import BatchOperations

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"

_STATUSES = {
    "runs": ("queued", "running", "waiting", "completed", "failed", "cancelled"),
    "asks": ("runnable", "leased", "open", "parked", "answered", "cancelled"),
}


def upgrade() -> None:
    for table, statuses in _STATUSES.items():
        name, condition = f"ck_{table}_status", f"status IN ({', '.join(repr(each) for each in statuses)})"
        if op.get_bind().dialect.name == "postgresql":
            op.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} CHECK ({condition}) NOT VALID")
        else:
            with _copied(table) as batch:
                batch.create_check_constraint(name, sa.text(condition))
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    for table in _STATUSES:
        if op.get_bind().dialect.name == "postgresql":
            op.drop_constraint(f"ck_{table}_status", table, type_="check")
        else:
            with _copied(table):
                pass  # a copy has no CHECK constraints but those that it is given


@contextmanager
def _copied(table: str) -> Iterator[BatchOperations]:
    """Copy a table of SQLite, and make its indexes as they were.

    The copy would lose what SQLAlchemy does not read of an index, such as a descending order.
    """
    found = op.get_bind().exec_driver_sql(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL", (table,)
    )
    indexes = [(name, sql) for name, sql in found]
    for name, _ in indexes:
        op.drop_index(name, table)
    with op.batch_alter_table(table, recreate="always") as batch:
        yield batch
    for _, sql in indexes:
        op.execute(sa.text(sql.replace(":", r"\:")))
