"""The revision of a run, which each change of its row raises.

Runs before the deploy. Whoever carries a run on keeps it in memory and writes under the condition that the revision is
still the one it knows. On PostgreSQL a trigger raises it for the statements of programs that know nothing of it, so
programs of 0002 and later go on working beside those; a SQLite file has one program at a time. There is also the
function with which one statement of many parts refuses to be executed by half.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"

_ON_POSTGRESQL = (
    """
    CREATE FUNCTION turnwise_raise_revision() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.revision := OLD.revision + 1;
        RETURN NEW;
    END $$
    """,
    """
    CREATE TRIGGER runs_revision BEFORE UPDATE ON runs FOR EACH ROW WHEN (NEW.revision = OLD.revision)
    EXECUTE FUNCTION turnwise_raise_revision()
    """,
    """
    CREATE FUNCTION turnwise_require_one(changed bigint, part integer) RETURNS integer LANGUAGE plpgsql AS $$
    BEGIN
        IF changed <> 1 THEN
            RAISE EXCEPTION 'turnwise: part % of a statement was to change one row and changed %; nothing is written',
                part, changed
                USING ERRCODE = 'TW001', DETAIL = part::text, HINT = changed::text;
        END IF;
        RETURN 1;
    END $$
    """,
)


def upgrade() -> None:
    op.add_column("runs", sa.Column("revision", sa.BigInteger, nullable=False, server_default="0"))
    if _is_postgres():
        for statement in _ON_POSTGRESQL:
            op.execute(statement)
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    if _is_postgres():
        op.execute("DROP FUNCTION turnwise_require_one")
        op.execute("DROP TRIGGER runs_revision ON runs")
        op.execute("DROP FUNCTION turnwise_raise_revision")
    op.drop_column("runs", "revision")


def _is_postgres() -> bool:
    return op.get_bind().dialect.name == "postgresql"
