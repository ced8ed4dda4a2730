"""The responders that may answer a message, and their order."""

from __future__ import annotations

from turnwise.machine.facts import Facts
from turnwise.machine.spec import TaskSpec
from turnwise.machine.state import AGENT, LLM, USER
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.tool_parsing import accepts, find_tools, handles, tool_attempt
from turnwise.messages.toolset import AgentFacts

ENTITIES = (AGENT, LLM, USER)


def candidates(spec: TaskSpec, pending: ChatDocument | None, last_asked: str, facts: Facts) -> tuple[str, ...]:
    """Return who is tried in this step: the human first unless he was the last one asked or a tool is called."""
    # STEP-1
    others: tuple[str, ...] = (AGENT, LLM)
    if spec.sub_tasks:
        others += tuple(sub.name for sub in spec.sub_tasks)
    attempted = pending is not None and tool_attempt(pending, facts.agent(spec.agent))
    return others if last_asked == USER or attempted else (USER, *others)


def known_recipient(spec: TaskSpec, recipient: str) -> bool:
    """Return whether this task can route to the name: itself, an entity, or a sub-task, in any case."""
    # STEP-2
    name = recipient.lower()
    return (
        not name
        or name in (spec.name.lower(), spec.alias.lower())
        or any(name == entity.lower() for entity in ENTITIES)
        or any(name == sub.name.lower() for sub in spec.sub_tasks)
    )


def may_answer(spec: TaskSpec, responder: str, pending: ChatDocument | None, pending_sender: str, facts: Facts) -> bool:
    """Return whether the rules let the responder be asked.

    No one answers his own message, one addressed to another, or one that blocks his entity. Entities are named in any
    case, tasks in exactly theirs; a task's own name is open to its own entities, not to its sub-tasks.
    """
    # WHO-1
    if pending_sender == responder:
        return False
    if responder == USER and not human_wanted(spec, pending, facts):
        return False
    if pending is None:
        return responder != LLM or model_may_answer(facts.agent(spec.agent), None)
    sub = None if responder in ENTITIES else spec.sub_task(responder)
    # WHO-7, WHO-8
    if sub is not None and not accepts(facts.agent(sub.agent), pending):
        return False
    # WHO-2
    meta = pending.metadata
    recipient = meta.recipient
    if recipient and not _addressed(spec, responder, recipient, is_entity=sub is None):
        return False
    # WHO-4
    block = meta.block
    return not (sub is None and block is not None and block == responder)


def human_wanted(spec: TaskSpec, pending: ChatDocument | None, facts: Facts) -> bool:
    """Return whether the human may answer: the task is interactive, or the message is for the human, without a tool."""
    # WHO-6
    if spec.interactive:
        return True
    recipient = pending.metadata.recipient if pending is not None else ""
    if not recipient or pending is None:
        return False
    return recipient == Entity.USER and not tool_attempt(pending, facts.agent(spec.agent))


def model_may_answer(agent: AgentFacts, pending: ChatDocument | None) -> bool:
    """Return whether the model can be sent the message: there is a model, some text, and no tool that the agent
    handles.

    A tool that trust took away still keeps the model from answering: it was meant for the handler. An application's own
    `llm_response` is asked whatever the message is, that case apart.
    """
    # WHO-5
    if not (agent.has_llm or agent.own_llm):
        return False
    if pending is None:
        return True
    found = find_tools(pending, agent)
    # WHO-9
    if agent.own_llm:
        return not any(handles(agent, tool) and tool not in found.tools for tool in found.present)
    # TRUST-4
    if any(handles(agent, tool) for tool in found.present):
        return False
    return bool(
        pending.content.strip()
        or pending.content_any not in (None, "")
        or pending.files
        or pending.oai_tool_id2result
        or pending.oai_tool_calls
        or pending.function_call
    )


def handler_is_silent(agent: AgentFacts, pending: ChatDocument | None) -> bool:
    """Return whether the tool handler certainly answers nothing, so that no worker has to be asked."""
    if pending is None:
        return True
    return agent.silent and not find_tools(pending, agent).attempted


def _addressed(spec: TaskSpec, responder: str, recipient: str, *, is_entity: bool) -> bool:
    # WHO-3
    if is_entity:
        return recipient.lower() == responder.lower() or recipient in (spec.name, spec.alias)
    return recipient == responder
