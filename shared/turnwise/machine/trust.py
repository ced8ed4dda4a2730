"""The marks of trust on an answer, as the machine has them whoever answered.

A responder marks its answers itself. But it may be another process, of another version, or an application's own; so
what follows from who was asked, and what he was asked, is said here once more, for every way of running a task. Marks
are only ever made stricter.
"""

from __future__ import annotations

from turnwise.machine.state import AGENT, USER
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.provenance import steers, unpacked, untrusted
from turnwise.messages.tool_parsing import find_tools
from turnwise.messages.tools.orchestration import PassTool, handed_on
from turnwise.messages.toolset import AgentFacts


def marked(answer: ChatDocument, responder: str, asked: ChatDocument | None, agent: AgentFacts) -> ChatDocument:
    """Return what `responder` answered to `asked`, marked as tainted where it can be nothing else.

    A human's answer is tainted, if it is not from SYSTEM, and its tools are no one's but his. The handler's is where
    a tool said on what it was given, and that was not trusted, or where it holds a tool that came out of such a one
    and that the model may not use. The marks are set on a copy, where they are not there already.
    """
    meta = answer.metadata
    if responder == USER:
        # TRUST-6
        if meta.sender is not Entity.SYSTEM and (meta.tools_from_agent or not meta.tainted):
            return answer.with_metadata(tainted=True, tools_from_agent=False)
        return answer
    if responder != AGENT or asked is None or meta.tainted:
        return answer
    # TRUST-9, TRUST-13
    derived = any(map(untrusted, _said_on(answer, asked, agent)))
    return answer.with_metadata(tainted=True) if derived else answer


def _said_on(answer: ChatDocument, asked: ChatDocument, agent: AgentFacts) -> list[ChatDocument]:
    """The messages that the answer was made of, without a handler's own doing."""
    sources = []
    handled = find_tools(asked, agent).mine
    if any(map(steers, handled)) or (untrusted(asked) and unpacked(answer, handled, agent.tools)):
        sources.append(asked)
    for tool in handled:
        if isinstance(tool, PassTool):
            sources.append(handed_on(type(tool), asked, lambda doc: find_tools(doc, agent).tools))
    return sources
