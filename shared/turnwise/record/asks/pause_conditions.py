"""The table of pauses, and the conditions by which statements leave out what is paused.

Whoever claims, tops up or counts asks uses these conditions, so a pause holds from the moment its row is committed. The
table is nearly always empty: a statement reads it once, however many asks it looks at.
"""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.database.columns import Seconds, word
from turnwise.record.database.schema import asks, metadata, runs
from turnwise.record.database.status_statements import status_in
from turnwise.record.states import UNFINISHED

pauses = sa.Table(
    "pauses",
    metadata,
    sa.Column("kind", sa.Text, primary_key=True),  # queue, task or tenant
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("since", Seconds, nullable=False),
    sa.Column("paused_by", sa.Text, nullable=False),
    sa.Column("reason", sa.Text),
    # From then on it holds nothing; the row goes once all that it held has been told.
    sa.Column("resumed_at", Seconds),
)


def names_of(kind: str) -> sa.Select[tuple[str]]:
    """Return the query for the names of that kind that are paused."""
    return sa.select(pauses.c.name).where(pauses.c.kind == word(kind), pauses.c.resumed_at.is_(None))


PAUSED_QUEUES, PAUSED_TASKS, PAUSED_TENANTS = names_of("queue"), names_of("task"), names_of("tenant")
_of = runs.alias("paused_run")
_SOME_TASK = sa.exists(PAUSED_TASKS.with_only_columns(sa.literal(1)))
# For statements that look at few asks. An ask does not know its task, so its run is looked up; but only while some task
# is paused.
ASK_IS_PAUSED = sa.or_(
    asks.c.queue.in_(PAUSED_QUEUES),
    asks.c.tenant.in_(PAUSED_TENANTS),
    sa.and_(_SOME_TASK, sa.exists().where(_of.c.id == asks.c.run_id, _of.c.task.in_(PAUSED_TASKS))),
)
# The same for statements that look at all asks: the runs of paused tasks are read once, and not one by one.
ASK_IS_ONE_OF_THE_PAUSED = sa.or_(
    asks.c.queue.in_(PAUSED_QUEUES),
    asks.c.tenant.in_(PAUSED_TENANTS),
    sa.and_(
        _SOME_TASK,
        asks.c.run_id.in_(sa.select(_of.c.id).where(status_in(_of.c.status, UNFINISHED), _of.c.task.in_(PAUSED_TASKS))),
    ),
)
RUN_IS_PAUSED = sa.or_(runs.c.task.in_(PAUSED_TASKS), runs.c.tenant.in_(PAUSED_TENANTS))
# The same in parts, for the claim: the queue is known, and the run is joined.
QUEUE_IS_OPEN = ~sa.exists(
    PAUSED_QUEUES.with_only_columns(sa.literal(1)).where(pauses.c.name == sa.bindparam("queue", type_=sa.Text))
)
TENANT_IS_OPEN = asks.c.tenant.not_in(PAUSED_TENANTS)
TASK_IS_OPEN = runs.c.task.not_in(PAUSED_TASKS)
