"""Finding the tools in a message, and deciding which of them count.

Where tools are looked for: already attached ones; else JSON objects in the text; else API tool calls; else the
deprecated function call. Which count is a matter of trust: of text that a human typed, or that derives from it, only
tools that the agent's model may use; of text that is quoted, none. That filter is here and nowhere else, so it holds
wherever tools are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from turnwise.base.json_bounds import fault_in
from turnwise.base.near_json import read_near_json
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.finite_numbers import NOT_FINITE, not_finite
from turnwise.messages.provenance import untrusted
from turnwise.messages.signals import escape_signals
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tools.orchestration import HANDLED_BY_DEFAULT
from turnwise.messages.toolset import AgentFacts, ToolSets
from turnwise.messages.written_names import written_names
from turnwise.models.base import LLMFunctionCall, OpenAIToolCall


@dataclass(frozen=True)
class ToolFault:
    """A known tool with fields that do not fit; `call_id` is "" for one written as text."""

    tool: str
    error: ValidationError
    call_id: str = ""


class Found(NamedTuple):
    """The tools of a message that count for one agent.

    `tools`: all of them; `mine`: those it handles and that are not meant for another; `faults`: known tools with bad
    fields. `present` are the tools as they stand there, before trust took any away.
    """

    tools: tuple[ToolMessage, ...] = ()
    mine: tuple[ToolMessage, ...] = ()
    faults: tuple[ToolFault, ...] = ()
    present: tuple[ToolMessage, ...] = ()

    @property
    def attempted(self) -> bool:
        """Return whether the message tries to use a tool of this agent, correctly or not."""
        return bool(self.mine or self.faults)


NOTHING_FOUND = Found()


def find_tools(doc: ChatDocument, agent: AgentFacts) -> Found:
    """The tools in `doc` as `agent` sees them; remembered on the document until its text or the agent's sets change."""
    if not may_hold_tools(doc, agent.tools):
        return NOTHING_FOUND
    kept: _Finding | None = doc._found
    if kept is not None and kept.holds_for(doc, agent):
        return kept.found
    distrusted = untrusted(doc)
    found = _find(doc, agent, distrusted)
    doc.keep_tools(_Finding(doc.content, agent, distrusted, len(doc.tool_messages), found))
    return found


class _Finding(NamedTuple):
    """The tools that were found in a message, and what they depend on."""

    text: str
    agent: AgentFacts
    distrusted: bool
    attached: int
    found: Found

    def holds_for(self, doc: ChatDocument, agent: AgentFacts) -> bool:
        """Return whether the same would be found again."""
        own = self.agent
        same_agent = own is agent or (
            own.tools is agent.tools
            and own.name == agent.name
            and own.accept_user_tools == agent.accept_user_tools
            and own.infers_tools == agent.infers_tools
        )
        return (
            same_agent
            and self.text == doc.content
            and self.attached == len(doc.tool_messages)
            and self.distrusted == untrusted(doc)
        )


def may_hold_tools(doc: ChatDocument, tools: ToolSets) -> bool:
    """Return whether there may be a tool in the message; of most texts a look at their characters says no."""
    text = doc.content
    if "{" in text or doc.tool_messages or doc.oai_tool_calls or doc.function_call is not None:
        return True
    return "<" in text and bool(tools.xml)


def tool_attempt(doc: ChatDocument, agent: AgentFacts) -> bool:
    """Return whether the message is to be treated as an attempt to use a tool, not as text."""
    if doc.tool_messages:
        return True
    return doc.metadata.sender == Entity.LLM and find_tools(doc, agent).attempted


def for_agent(tool: ToolMessage, agent_name: str) -> bool:
    """Return whether the tool is meant for this agent: its `recipient` field, if any, is empty or names it.

    Of some tools it is an argument, and says nothing of agents.
    """
    if type(tool)._recipient_is_data:
        return True
    known = "recipient" in vars(tool) or _may_have_recipient(type(tool))
    recipient = getattr(tool, "recipient", "") if known else ""
    return not isinstance(recipient, str) or recipient in ("", agent_name)


@lru_cache(maxsize=4_096)
def _may_have_recipient(kind: type[ToolMessage]) -> bool:
    """Return whether there may be one beside its fields; finding an attribute missing in a pydantic model takes
    long.
    """
    return kind.model_config.get("extra") == "allow" or hasattr(kind, "recipient")


def handles(agent: AgentFacts, tool: ToolMessage) -> bool:
    """Return whether the tool is one that the agent answers, and meant for it."""
    return tool.request in agent.tools.handled and for_agent(tool, agent.name)


def accepts(agent: AgentFacts, doc: ChatDocument) -> bool:
    """Return whether an agent can do anything with the message: it holds a tool of his, or no tool and he answers
    texts.
    """
    present = find_tools(doc, agent).present
    if any(handles(agent, tool) for tool in present):
        return True
    return not present and not agent.respond_tools_only


def with_tools(doc: ChatDocument, agent: AgentFacts) -> ChatDocument:
    """Return the message with the tools that the agent handles, found in its text or calls, attached as structure.

    That is a copy where there are any, and none is attached yet.

    Who is shown the message next sees the tools, not a text to be searched again with other eyes. Marks of trust stay
    as they are, so nothing becomes allowed by it.
    """
    if not doc.tool_messages:
        found = find_tools(doc, agent)
        mine = [tool for tool in found.present if handles(agent, tool)]
        if mine:
            attached = doc.changed(tool_messages=mine)
            if len(mine) == len(found.present) and not doc.oai_tool_calls and doc.function_call is None:
                # All that there is was attached, so it is all that would be found again.
                attached.keep_tools(_Finding(doc.content, agent, untrusted(doc), len(mine), found))
            return attached
    return doc


def _find(doc: ChatDocument, agent: AgentFacts, distrusted: bool) -> Found:
    faults: list[ToolFault] = []
    called = doc.oai_tool_calls or doc.function_call is not None
    if distrusted and not agent.accept_user_tools and not called and _typed_a_tool(doc, agent):
        # Attached or not: what another agent found in a human's text is still only text here.
        return NOTHING_FOUND
    if doc.tool_messages:
        tools = list(doc.tool_messages)
        # The good ones among several calls were attached; what is wrong with the others is still to be said.
        for _ in _from_calls(doc.oai_tool_calls or [], agent, faults):
            pass
    elif doc.oai_tool_calls:
        tools = list(_from_calls(doc.oai_tool_calls, agent, faults))
    elif doc.function_call is not None:
        tools = list(_from_function(doc.function_call, agent, faults, ""))
    elif doc.metadata.quoted:
        return NOTHING_FOUND
    else:
        tools = list(_from_text(doc, agent, faults))
    present = tuple(tools)
    if distrusted:
        # What a human typed wrongly is plain text: no one asks him to mend the fields of a tool.
        tools, faults = [tool for tool in tools if tool.request in agent.tools.usable], []
    if faults and not doc.oai_tool_calls:
        tools, present = [], ()
    mine = tuple([tool for tool in tools if handles(agent, tool)])
    return Found(tuple(tools), mine, tuple(faults), present)


def _typed_a_tool(doc: ChatDocument, agent: AgentFacts) -> bool:
    """Return whether the text holds what could be a tool, for this agent or another one."""
    if doc.json_objects():
        return True
    if "<" not in doc.content:
        return False
    from turnwise.messages.xml.parsing import holds_elements

    return holds_elements(doc.content, {*agent.tools.xml, *(tool.request for tool in doc.tool_messages)})


def _from_text(doc: ChatDocument, agent: AgentFacts, faults: list[ToolFault]) -> Iterator[ToolMessage]:
    if agent.tools.xml and "<" in doc.content:
        yield from _from_xml(doc, agent, faults)
    else:
        for item in doc.json_objects():
            yield from _from_json(item, doc, agent, faults)


def _from_xml(doc: ChatDocument, agent: AgentFacts, faults: list[ToolFault]) -> Iterator[ToolMessage]:
    """Tools in XML and in JSON, as they come."""
    # Loaded only for agents that know a tool in XML.
    from turnwise.messages.xml.parsing import fields_of, pieces, requested

    for piece in pieces(doc.content, agent.tools.xml):
        if isinstance(piece, dict):
            yield from _from_json(piece, doc, agent, faults)
            continue
        request = requested(piece)
        tool_class = agent.tools.known.get(request)
        if tool_class is not None:
            yield from _parsed(request, {**fields_of(piece, tool_class), "request": request}, agent, faults)
        elif not request:
            tool = _inferred(partial(fields_of, piece), agent, untrusted(doc))
            if tool is not None:
                yield tool


def _from_json(
    item: dict[str, Any], doc: ChatDocument, agent: AgentFacts, faults: list[ToolFault]
) -> Iterator[ToolMessage]:
    # Some models wrap the fields in a copy of the schema they were shown. Of a tool that says its name itself,
    # `properties` is a field.
    inner = item.get("properties")
    if isinstance(inner, dict) and "request" not in inner and isinstance(item.get("request"), str):
        inner = None
    fields = inner if isinstance(inner, dict) else item
    request = fields.get("request")
    if request is None and (agent.infers_tools or doc.metadata.sender != Entity.LLM):
        tool = _inferred(lambda _: fields, agent, untrusted(doc))
        if tool is not None:
            yield tool
    elif isinstance(request, str):
        yield from _parsed(request, fields, agent, faults)


def _from_calls(calls: list[OpenAIToolCall], agent: AgentFacts, faults: list[ToolFault]) -> Iterator[ToolMessage]:
    for call in calls:
        if call.function is not None and call.function.name in agent.tools.known:
            # Someone else may handle a tool that this agent only knows, and then says what is wrong with a call of it.
            handled = call.function.name in agent.tools.handled
            yield from _from_function(call.function, agent, faults if handled else [], call.id or "")


def _from_function(
    function: LLMFunctionCall, agent: AgentFacts, faults: list[ToolFault], call_id: str
) -> Iterator[ToolMessage]:
    arguments = function.arguments
    if arguments is None and function.raw is not None:
        arguments, fault = _read(function.raw)
        if fault:
            # What cannot be read is no call with the tool's defaults.
            if function.name in agent.tools.known:
                faults.append(ToolFault(function.name, _refusal(function.name, fault), call_id))
            return
    fields = {**(arguments or {}), "request": function.name}
    yield from _parsed(function.name, fields, agent, faults, call_id)


def _parsed(
    request: str, fields: dict[str, Any], agent: AgentFacts, faults: list[ToolFault], call_id: str = ""
) -> Iterator[ToolMessage]:
    tool_class = agent.tools.known.get(request)
    if tool_class is None:
        return
    if (fault := fault_in(fields)) is not None:
        faults.append(ToolFault(request, _refusal(request, fault), call_id))
        return
    try:
        tool = tool_class.model_validate(fields)
    except ValidationError as error:
        faults.append(ToolFault(request, error, call_id))
        return
    if (place := not_finite(tool, fields)) is not None:
        faults.append(ToolFault(request, _refusal(request, NOT_FINITE, place), call_id))
        return
    if call_id:
        tool.__dict__["id"] = call_id  # also of a frozen tool
    yield tool


def _read(raw: str) -> tuple[dict[str, Any], str]:
    """Return arguments that came as text, and why they cannot be taken, "" where they can."""
    if not raw.strip():
        return {}, "its arguments are missing: the answer ended before they were written"
    try:
        value = read_near_json(raw)
    except RecursionError:
        return {}, "it is nested too deep to be read; make it flatter, or send it as text"
    except ValueError as error:
        why = str(error)
    else:
        if fault := fault_in(value):
            return {}, fault
        if isinstance(value, dict):
            return value, ""
        why = "it is another kind of JSON"
    # They are not quoted: whoever reads the answer could take them for a tool.
    return {}, f"the arguments are not one whole JSON object, and nothing was done: {why}"


def _refusal(request: str, fault: str, place: tuple[int | str, ...] = ()) -> ValidationError:
    told = PydanticCustomError("unwritable", "{fault}", {"fault": fault})
    return ValidationError.from_exception_data(request, [{"type": told, "loc": place, "input": None}])


def _inferred(
    read: Callable[[type[ToolMessage]], dict[str, Any]], agent: AgentFacts, distrusted: bool
) -> ToolMessage | None:
    """The tool meant by an object without `request`: the only handled one that its fields, as it reads them, fit.

    The object may have no field that the tool lacks, and must have one that tells it from others. A tool that every
    agent handles counts only if the model was given it: one that knows no such tool has written plain JSON.
    """
    candidates: list[ToolMessage] = []
    for request in sorted(agent.tools.handled):
        tool_class = agent.tools.known.get(request)
        given = request in agent.tools.usable
        if tool_class is None or (not given and (distrusted or tool_class in HANDLED_BY_DEFAULT)):
            continue
        fields = read(tool_class)
        names = set(fields)
        known = written_names(tool_class)
        if not names & (known - tool_class.common_fields) or names - known:
            continue
        try:
            tool = tool_class.model_validate({**fields, "request": request})
        except ValidationError:  # it does not fit this one: that is the question asked
            continue
        if not_finite(tool, fields) is None:
            candidates.append(tool)
    return candidates[0] if len(candidates) == 1 else None


def call_fault(call: OpenAIToolCall, agent: AgentFacts) -> ToolFault | None:
    """Return what is wrong with the fields of a call of a known tool; None for nothing, and for an unknown one."""
    faults: list[ToolFault] = []
    if call.function is not None:
        for _ in _from_function(call.function, agent, faults, call.id or ""):
            pass
    return faults[0] if faults else None


def unknown(name: str) -> str:
    """Return what the model is told of a tool that there is not."""
    return escape_signals(f"ERROR: there is no tool named `{name}`.")


def explain(tool: str, error: ValidationError) -> str:
    """Return what the model is told of a tool with bad fields: the tool, each field and why, and to write it again.

    A word that the tool allows, such as DONE, ends no task by being named here.
    """
    lines = [f"There was an error in your use of the tool `{tool}`:"]
    for problem in error.errors():
        where = ".".join(str(part) for part in problem["loc"]) or "(whole tool)"
        lines.append(f"- field `{where}`: {problem['msg']}")
    lines.append("Correct these fields and write the whole tool again.")
    return escape_signals("\n".join(lines))
