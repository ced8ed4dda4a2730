"""Asks of PostgreSQL without the index of their places: the key says the same, because an id is made of the place.

Runs before the deploy. It changes no row; programs of 0002 and later go on working. Each ask was written into that
index twice. And where the table was empty when a statement was planned, PostgreSQL looked an ask up by the first column
of this index, the run: through all asks of the run, in each turn of it.
"""

from __future__ import annotations

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"

_PLACE = ["run_id", "frame_no", "turn", "try_no"]


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint("uq_asks_place", "asks", type_="unique")
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.create_unique_constraint("uq_asks_place", "asks", _PLACE)
