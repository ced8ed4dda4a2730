"""Room in the pages of PostgreSQL's tables whose rows each turn replaces.

Runs before the deploy. It changes no row, and takes no lock that others wait for; programs of 0002 and later go on
working. A new version of a row then fits the page of the old ones, which are removed on the way. Without room it goes
to another page, and the dead versions stay until the next VACUUM: 6 MB for the frame of a run of 5,000 turns.
"""

from __future__ import annotations

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"

# Per cent of a page that INSERT fills. A row takes 2 KB of the 8 at most: what is longer is kept elsewhere.
_FILLED = {"frames": 50, "agent_states": 50, "runs": 75}


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        for table, per_cent in _FILLED.items():
            op.execute(f"ALTER TABLE {table} SET (fillfactor = {per_cent})")
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        for table in _FILLED:
            op.execute(f"ALTER TABLE {table} RESET (fillfactor)")
