"""The conversation that the runs of a session share: that of a task, its agents and histories.

A run works on rows of its own. When it begins it takes over what is kept of each agent, but not the histories: of
these it says how much it continues with (`base_len`), and adds rows behind that. So the conversation stays as it was
until the run completes; then, in the transaction that ends the run, its rows become the conversation's. A run that
fails or is cancelled keeps its rows for itself. No step costs more for a longer history.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.database import driver
from turnwise.record.database.schema import agent_states, histories
from turnwise.record.states import RunStatus
from turnwise.record.transaction.writes import aside
from turnwise.record.values.records import RunRecord

_run: sa.BindParameter[str] = sa.bindparam("of_run")
_conversation: sa.BindParameter[str] = sa.bindparam("of_conversation")
_LASTING = ("key", "record", "state", "history_len", "history_epoch", "history_tokens")
_TAKE_UP = sa.insert(agent_states).from_select(
    ["owner", *_LASTING, "base_len", "base_epoch"],
    sa.select(
        sa.cast(_run, sa.Text),
        *(agent_states.c[name] for name in _LASTING),
        agent_states.c.history_len,
        agent_states.c.history_epoch,
    ).where(agent_states.c.owner == _conversation),
)
# Agents whose history was cut: the end of the conversation's may have to go.
_CUT = sa.select(agent_states.c.key, agent_states.c.base_len, agent_states.c.history_epoch).where(
    agent_states.c.owner == _run, agent_states.c.history_epoch != agent_states.c.base_epoch
)
_CUT_BACK = (
    sa.update(histories)
    .where(
        histories.c.owner == _conversation,
        histories.c.key == sa.bindparam("of_key"),
        histories.c.idx >= sa.bindparam("keep", type_=sa.Integer),
    )
    .values(owner=sa.bindparam("aside"))
)
_of_run = agent_states.alias("of_the_run")
_GIVE_WAY = sa.delete(agent_states).where(
    agent_states.c.owner == _conversation,
    agent_states.c.key.in_(sa.select(_of_run.c.key).where(_of_run.c.owner == _run)),
)
_HAND_OVER_ROWS = sa.update(histories).where(histories.c.owner == _run).values(owner=_conversation)
_HAND_OVER_AGENTS = (
    sa.update(agent_states)
    .where(agent_states.c.owner == _run)
    .values(owner=_conversation, base_len=sa.literal_column("0"), base_epoch=sa.literal_column("0"))
)


def conversation_id(session_key: str, task: str) -> str:
    """Return what a task's agents and histories are kept under between the runs of a session."""
    return f"{session_key}/{task}"


def take_up(connection: Connection, run: RunRecord) -> None:
    """Have the run begin with the agents as its conversation has them."""
    driver.run(connection, _TAKE_UP, [{"of_run": run.id, "of_conversation": run.conversation_id}])


def settle(connection: Connection, run: RunRecord) -> None:
    """At the end of a run, keep what it changed of its conversation if it completed, else leave that as it was."""
    if run.conversation_id is None or run.status != RunStatus.COMPLETED:
        return
    given = {"of_run": run.id, "of_conversation": run.conversation_id}
    cut = driver.fetch(connection, _CUT, given)
    for key, keep, epoch in cut:
        place = {"of_key": key, "keep": keep, "aside": aside(run.conversation_id, epoch)}
        driver.run(connection, _CUT_BACK, [given | place])
    for statement in (_HAND_OVER_ROWS, _GIVE_WAY, _HAND_OVER_AGENTS):
        driver.run(connection, statement, [given])
