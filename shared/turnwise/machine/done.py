"""The end of a task, and the answers that count: done, valid, empty."""

from __future__ import annotations

import re
from functools import lru_cache

from turnwise.machine.facts import Facts
from turnwise.machine.responders import human_wanted
from turnwise.machine.spec import TaskSpec
from turnwise.machine.state import AGENT, JudgedState
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity, StatusCode
from turnwise.messages.signals import DONE, NO_ANSWER, PASS, USER_QUIT_STRINGS
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tool_parsing import find_tools
from turnwise.messages.tools.orchestration import AgentDoneTool, DoneTool, FinalResultTool
from turnwise.messages.toolset import AgentFacts

_DONE_TOOLS = (DoneTool, AgentDoneTool, FinalResultTool)
_PUNCTUATION = re.compile(r"[,.!?:]")
# Of a text that cannot be NO_ANSWER without punctuation; tells without going through all of it.
_OTHER_BEGINNING = re.compile(rf"[\s,.!?:]*[^\s,.!?:{NO_ANSWER[0]}]")


def is_empty(spec: TaskSpec, doc: ChatDocument | None) -> bool:
    """Return whether there is nothing in the answer: no text (or only a pass), no call, no call result, no tool."""
    if doc is None:
        return True
    # MSG-7
    text = doc.content.strip()
    if text and not (spec.recognize_string_signals and text == PASS):
        return False  # as nearly always
    return not (doc.tool_messages or doc.oai_tool_calls or doc.oai_tool_id2result or doc.function_call)


def says_done(spec: TaskSpec, doc: ChatDocument) -> bool:
    """Return whether the text holds DONE, in capitals, anywhere."""
    # MSG-8
    return spec.recognize_string_signals and DONE in doc.content


def ending_tools(doc: ChatDocument, agent: AgentFacts) -> tuple[ToolMessage, ...]:
    """The tools that may end a task: those that a handler or a model put there, and of others the trusted ones.

    A tool that a handler attached while it worked on tainted text ends a task, but is never handled.
    """
    # TRUST-3, TRUST-10
    found = find_tools(doc, agent)
    return found.present if doc.metadata.tools_from_agent else found.tools


def has_done_tool(doc: ChatDocument, agent: AgentFacts) -> bool:
    """Return whether a tool that ends a task is attached, and trusted."""
    attached = doc.tool_messages
    if not attached or not any(ends_tasks(type(tool)) for tool in attached):
        return False
    return any(ends_tasks(type(tool)) for tool in ending_tools(doc, agent))


@lru_cache(maxsize=4_096)
def ends_tasks(kind: type[ToolMessage]) -> bool:
    """Return whether such a tool ends a task; to ask it of a class of pydantic takes long."""
    return issubclass(kind, _DONE_TOOLS)


def user_quits(spec: TaskSpec, doc: ChatDocument, agent: AgentFacts) -> bool:
    """Return whether the human wants to end the task."""
    # MSG-9, MSG-10
    return doc.metadata.sender == Entity.USER and (
        doc.content.strip() in USER_QUIT_STRINGS or says_done(spec, doc) or has_done_tool(doc, agent)
    )


def answer_is_done(spec: TaskSpec, doc: ChatDocument | None, responder: str, agent: AgentFacts) -> bool:
    """Return whether this answer ends the task, by who gave it or by what it says."""
    # VALID-4
    if is_empty(spec, doc):
        return responder in spec.done_if_no_response
    assert doc is not None
    # VALID-3, VALID-5, VALID-6
    return (
        responder in spec.done_if_response or says_done(spec, doc) or (responder == AGENT and has_done_tool(doc, agent))
    )


def task_done(
    spec: TaskSpec, state: JudgedState, facts: Facts, doc: ChatDocument | None = None, responder: str | None = None
) -> tuple[bool, StatusCode]:
    """Return whether the task would be done with the candidate `doc` (default: the pending message), and how.

    The order of the checks is part of the meaning: the first that applies decides.
    """
    # DONE-1
    if facts.killed:
        return True, StatusCode.KILL
    agent = facts.agent(spec.agent)
    current = doc if doc is not None else state.pending
    # DONE-2
    if spec.done_if_tool and current is not None and ending_tools(current, agent):
        return True, StatusCode.DONE
    # DONE-3
    if spec.sequences and sequence_complete(spec, state, current, agent):
        return True, StatusCode.DONE
    # DONE-4
    if state.stalled >= spec.max_stalled_steps:
        return True, StatusCode.STALLED
    # DONE-5, LIMIT-5, LIMIT-6
    if facts.max_cost > 0 and facts.cost > facts.max_cost:
        return True, StatusCode.MAX_COST
    if facts.max_tokens > 0 and facts.tokens > facts.max_tokens:
        return True, StatusCode.MAX_TOKENS
    # DONE-6
    quits = current is not None and user_quits(spec, current, agent)
    if state.caller is None and spec.only_user_quits_root and human_wanted(spec, state.pending, facts):
        return quits, StatusCode.USER_QUIT if quits else StatusCode.OK
    # DONE-7
    if state.answer_done:
        return True, StatusCode.DONE
    # DONE-8, DONE-9
    over = (
        current is None
        or says_done(spec, current)
        or has_done_tool(current, agent)
        or _for_caller(spec, state, current.metadata.recipient)
        or quits
    )
    return over, StatusCode.OK


def _for_caller(spec: TaskSpec, state: JudgedState, recipient: str) -> bool:
    """Return whether the recipient is the task that called this one, by either of its names."""
    return bool(state.caller and recipient) and recipient in (state.caller, spec.caller_alias)


def answer_valid(spec: TaskSpec, doc: ChatDocument | None) -> bool:
    """Return whether the answer says something, apart from ending the task."""
    # RESULT-9
    if doc is None or is_empty(spec, doc):
        return False
    # VALID-2
    if _OTHER_BEGINNING.match(doc.content):
        return True
    return _PUNCTUATION.sub("", doc.content.strip()) != NO_ANSWER


def sequence_complete(spec: TaskSpec, state: JudgedState, current: ChatDocument | None, agent: AgentFacts) -> bool:
    """Return whether a done-sequence ends at `current`."""
    if current is None:
        return False
    seen = current.metadata.id == state.sequenced
    # SEQ-5
    for index, sequence in enumerate(spec.sequences):
        before = state.sequences[index] if index < len(state.sequences) else 0
        after = before if seen else sequence.advance(before, current, agent)
        if sequence.complete(after):
            return True
    return False
