"""The statements of a transaction over one run; each has the same text every time, so the driver may prepare it."""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.database.columns import word
from turnwise.record.database.rows import AGENT, ASK, REPLY
from turnwise.record.database.schema import agent_states, asks, documents, events, frames, receipts, replies, runs

# The time of a run's last event.
LAST_EVENT = sa.select(events.c.at).where(events.c.run_id == runs.c.id, events.c.seq == runs.c.last_seq).correlate(runs)
FRAMES = (
    sa.select(frames.c.no, frames.c.path, frames.c.state)
    .where(frames.c.run_id == sa.bindparam("run_id"))
    .order_by(frames.c.no)
)
DOCUMENTS = sa.select(documents.c.id, documents.c.body).where(
    documents.c.run_id == sa.bindparam("run_id"), documents.c.id.in_(sa.bindparam("ids", expanding=True))
)
_messages = documents.alias("messages")
# An ask, its accepted reply, the documents of both and the agent that was asked, in one look.
ASK_AND_REPLY = (
    sa.select(*ASK, *REPLY, _messages.c.body, documents.c.body, *AGENT)
    .select_from(asks)
    .outerjoin(_messages, sa.and_(_messages.c.run_id == asks.c.run_id, _messages.c.id == asks.c.message_id))
    .outerjoin(replies, sa.and_(replies.c.run_id == asks.c.run_id, replies.c.ask_id == asks.c.id, replies.c.accepted))
    .outerjoin(documents, sa.and_(documents.c.run_id == asks.c.run_id, documents.c.id == replies.c.document_id))
    .outerjoin(
        agent_states,
        sa.and_(agent_states.c.owner == asks.c.run_id, agent_states.c.key == asks.c.agent),
    )
    .where(asks.c.run_id == sa.bindparam("run_id"), asks.c.id == sa.bindparam("ask_id"))
)
FORGET_BEGUN = sa.delete(receipts).where(
    receipts.c.run_id == sa.bindparam("of_run"),
    receipts.c.ask_id == sa.bindparam("of_ask"),
    receipts.c.status == word("begun"),
)
