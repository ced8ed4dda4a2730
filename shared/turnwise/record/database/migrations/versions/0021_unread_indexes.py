"""Two indexes less, which each turn wrote and nothing read.

Runs before the deploy. It changes no row; programs of 0002 and later go on working. `ix_histories_total` was for
reading the last n tokens of a history, which no program does. `uq_asks_place` is gone from PostgreSQL since 0015;
SQLite cannot take a constraint from a table, so there the table is copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from alembic import op
from alembic.operations import BatchOperations

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"

_PLACE = ["run_id", "frame_no", "turn", "try_no"]
_STATUSES = "'runnable', 'leased', 'open', 'parked', 'answered', 'cancelled'"


def upgrade() -> None:
    op.drop_index("ix_histories_total", "histories")
    if op.get_bind().dialect.name == "sqlite":
        with _copied_asks() as batch:
            batch.drop_constraint("uq_asks_place", type_="unique")
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    op.create_index("ix_histories_total", "histories", ["run_id", "key", "total"])
    if op.get_bind().dialect.name == "sqlite":
        with _copied_asks() as batch:
            batch.create_unique_constraint("uq_asks_place", _PLACE)


@contextmanager
def _copied_asks() -> Iterator[BatchOperations]:
    """Copy the table, and make its indexes as they were.

    The copy would lose what SQLAlchemy does not read: the order of an index, and the CHECK constraint.
    """
    found = op.get_bind().exec_driver_sql(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'asks' AND sql IS NOT NULL"
    )
    indexes = [(name, sql) for name, sql in found]
    for name, _ in indexes:
        op.drop_index(name, "asks")
    with op.batch_alter_table("asks", recreate="always") as batch:
        batch.create_check_constraint("ck_asks_status", sa.text(f"status IN ({_STATUSES})"))
        yield batch
    for _, sql in indexes:
        op.execute(sa.text(sql))
