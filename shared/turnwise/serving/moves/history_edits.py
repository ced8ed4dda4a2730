"""The machine's edits of histories, on the stored ones."""

from __future__ import annotations

from turnwise.agents.chat_agent import ChatAgent
from turnwise.agents.history.history import between, calls_without_result, first_incoming
from turnwise.machine.actions import Clear, CutBack, Edit, Reset, Seed, TakeBack
from turnwise.models.base import LLMMessage, Role
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.records import NewHistory
from turnwise.serving.attempts.served_agent import Registry, history_row, over_template


def apply_edit(tx: RunTransaction, edit: Edit, template: ChatAgent, registry: Registry) -> None:
    """Carry out one edit; an agent that was never asked has nothing to edit."""
    saved = tx.agent(edit.agent)
    if isinstance(edit, CutBack):
        _cut_back(tx, edit, template, registry)
        return
    if isinstance(edit, TakeBack):
        _take_back(tx, edit, template, registry)
        return
    if isinstance(edit, Seed):
        said = [LLMMessage(role=Role(message.role), content=message.content) for message in edit.messages]
        tx.append_history(edit.agent, [history_row(message) for message in said])
        return
    tx.clear_history(edit.agent)
    own_reset = isinstance(edit, Reset) and type(template).init_state is not ChatAgent.init_state
    if saved.record is None and saved.state is None and not own_reset:
        return
    served = over_template(template, saved, registry)
    if isinstance(edit, Reset):
        fresh = served.agent.dump_state()
        served.agent.init_state()
        if saved.state is None and served.agent.dump_state() == fresh:
            tx.save_agent(edit.agent, record=served.record(), state=None)
            return
    elif isinstance(edit, Clear):
        served.agent.record.open_calls = []
        served.agent.record.fitted = 0
    tx.save_agent(edit.agent, record=served.record(), state=served.state())


def _cut_back(tx: RunTransaction, edit: CutBack, template: ChatAgent, registry: Registry) -> None:
    """Drop what lies between the task's first incoming message and the last one.

    Stored rows lack the system message, which is index 0 of an agent's history: the message with index `n` is row
    `n - 1`, and the rows before it are `n - 1`.
    """
    saved = tx.agent(edit.agent)
    last = saved.history_len
    if last <= max(edit.start, 1) + 1:
        return

    def message(index: int) -> LLMMessage:
        return LLMMessage.model_validate(tx.history_row(edit.agent, index - 1).body)

    dropped = between(message, first_incoming(edit.start, message(1)), last)
    if not dropped:
        return
    rows = [tx.history_row(edit.agent, index - 1) for index in range(dropped.stop, last + 1)]
    tx.cut_history(edit.agent, dropped.start - 1)
    tx.append_history(
        edit.agent,
        [NewHistory(role=row.role, body=row.body, tokens=row.tokens, document_id=row.document_id) for row in rows],
    )
    served = over_template(template, saved, registry)
    served.agent.record.fitted = min(served.agent.record.fitted, dropped.start)
    tx.save_agent(edit.agent, record=served.record(), state=None)


def _take_back(tx: RunTransaction, edit: TakeBack, template: ChatAgent, registry: Registry) -> None:
    """Keep the messages before the first one of those documents."""
    saved = tx.agent(edit.agent)
    keep = tx.first_of_documents(edit.agent, edit.documents)
    if keep is None:
        return
    ends: list[LLMMessage] = []
    for idx in range(keep - 1, -1, -1):
        ends.insert(0, LLMMessage.model_validate(tx.history_row(edit.agent, idx).body))
        if ends[0].role != Role.TOOL:
            break
    tx.cut_history(edit.agent, keep)
    served = over_template(template, saved, registry)
    served.agent.record.open_calls = calls_without_result(ends)
    served.agent.record.fitted = min(served.agent.record.fitted, keep + 1)
    tx.save_agent(edit.agent, record=served.record(), state=None)
