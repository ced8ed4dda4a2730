"""The tool handler's answer to a message."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from types import AsyncGeneratorType, GeneratorType
from typing import TYPE_CHECKING, Any

from turnwise.agents import responses
from turnwise.agents.config import NonToolAction
from turnwise.agents.history.retention import of_results
from turnwise.agents.human.answer_display import show_agent_answer, tell_error
from turnwise.agents.output.output_format import take_in
from turnwise.agents.own_methods import own_call
from turnwise.agents.tools.handler_calls import answers_a_run, made, on_copied_state
from turnwise.agents.tools.handler_lookup import declared_by, effect_of, handler_of, is_function
from turnwise.agents.tools.reading import found_in
from turnwise.base.call_context import current_call
from turnwise.base.sync_async import Effect, Steps, finished
from turnwise.base.text import value_as_text
from turnwise.errors import ConfigurationError, InfiniteLoopException
from turnwise.messages.api_results import match_results
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.lent import lent_tool
from turnwise.messages.provenance import steers, unpacked, untrusted
from turnwise.messages.signals import DONE, PASS, SEND_TO
from turnwise.messages.tool_message import ToolMessage
from turnwise.messages.tool_parsing import Found, ToolFault, handles, unknown
from turnwise.messages.tools.orchestration import ONE_AT_A_TIME, AgentDoneTool, FinalResultTool, ForwardTool
from turnwise.messages.tools.recipient import RecipientTool
from turnwise.messages.tools.rewind import RewindTool
from turnwise.models.tokens.estimate import shortened

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent

# At most one tool may say where the conversation goes.
_ALONE: tuple[type[ToolMessage], ...] = (*ONE_AT_A_TIME, RecipientTool, RewindTool)

# Handlers that return a tool have it handled, too; so many in a row that they will not come to an end.
_MOST_IN_A_ROW = 50

_ONE_TOOL = "ERROR: Use ONE tool at a time!"
_ONE_SIGNAL = "ERROR: Please use ONE tool at a time!"


def answer(agent: ChatAgent, doc: ChatDocument | None) -> Steps[ChatDocument | None]:
    """Return what AGENT says to `doc`: the results of its tools, an explanation of bad ones, or the fallback's
    answer. None without a message.
    """
    if doc is None:
        return None
    try:
        result = yield from _answered(agent, doc)
    except BaseException as error:
        tell_error(agent, error)
        raise
    if result is not None:
        show_agent_answer(agent, result)
    return result


def _answered(agent: ChatAgent, doc: ChatDocument) -> Steps[ChatDocument | None]:
    if _overridden(agent, "handle_message", "handle_message_async"):
        value = yield from own_code(agent, "handle_message", own_call(agent, "handle_message", doc))
        result = yield from _as_document(agent, value, None, doc)
    else:
        result = yield from handled(agent, doc)
    return None if result is None else matched(agent, result, doc)


def handled(agent: ChatAgent, doc: ChatDocument) -> Steps[ChatDocument | None]:
    """Return what the tools in `doc` come to, not yet matched to API calls."""
    agent.tools_handled = []
    found = found_in(agent, doc)
    calls = [call for call in doc.oai_tool_calls or [] if call.function]
    if len(calls) > 1 and found.attempted:
        result = yield from _many_calls(agent, doc, found)
    elif found.faults:
        if agent.config.strict_recovery and not calls and doc.function_call is None:
            agent.record.mending = found.faults[0].tool
        result = _text(agent, doc, agent.tool_validation_error(found.faults[0].error))
    elif len(found.mine) == 1:
        result = yield from _handled(agent, found.mine[0], doc)
    elif found.mine:
        result = yield from _many(agent, doc, found)
    else:
        value = _format_fault(agent, doc) or (yield from _fallback(agent, doc))
        result = yield from _as_document(agent, value, None, doc)
    return result


def forbidden(agent: ChatAgent, tool: ToolMessage, doc: ChatDocument) -> bool:
    """Return whether the tool derives from a text that a human typed, and the model may not use it."""
    return untrusted(doc) and tool.request not in agent.toolbox.usable


def bare(result: ChatDocument | None) -> Any:
    """The text, or the results by call id, of an answer that is nothing more; any other answer as it is."""
    if result is None or result.metadata.sender != Entity.AGENT:
        return result
    meta = result.metadata
    marked = meta.tainted or meta.quoted or meta.recipient or meta.max_retained_tokens is not None
    marked = marked or meta.oai_tool_id is not None
    if marked or result.tool_messages or result.files or result.attachment is not None:
        return result
    if result.oai_tool_id2result is not None:
        return dict(result.oai_tool_id2result)
    return result.content if result.content_any in (None, result.content) else result


def _overridden(agent: ChatAgent, name: str, twin: str) -> bool:
    """Return whether the agent or its class has its own `name`, or its async `twin`; asked for each answer."""
    if agent._set_here and not agent._set_here.isdisjoint((name, twin)):
        return True
    kind = type(agent)
    for base in kind.__mro__:
        if name in base.__dict__ or twin in base.__dict__:
            return base not in kind._of_library
    return False


def own_code(agent: ChatAgent, name: str, call: Effect) -> Steps[Any]:
    """Return what the agent's own method comes to: one call, or, if that may be made again, the calls of handlers in
    it.
    """
    effect = agent.config.fallback_effect
    if effect == "once" or name == "handle_message_fallback":
        return (yield from made(agent, name, effect, call))
    return (yield from on_copied_state(agent, call))


def matched(agent: ChatAgent, result: ChatDocument, doc: ChatDocument) -> ChatDocument:
    """Match the result to the API calls that it answers, and mark who put tools into it."""
    meta, asked = result.metadata, doc.metadata
    if meta.sender == Entity.AGENT and meta.id != asked.id:
        if result.tool_messages:
            meta.tools_from_agent = True
        if doc.oai_tool_calls and agent.record.open_calls and meta.oai_tool_id is None:
            result.content, result.oai_tool_id2result, meta.oai_tool_id = match_results(
                result.content, result.oai_tool_id2result, agent.record.open_calls
            )
        if doc.function_call is not None and not meta.sender_name:
            meta.sender_name = doc.function_call.name
        if asked.tool_ids or meta.tool_ids:
            meta.tool_ids = list(asked.tool_ids)
    return result


def _handled(
    agent: ChatAgent, tool: ToolMessage, doc: ChatDocument, before: tuple[str, ...] = ()
) -> Steps[ChatDocument | None]:
    """The result of one tool as a document; `before` are the tools whose handlers led to it."""
    tool = lent_tool(tool)  # its handler may change it
    if _overridden(agent, "handle_tool_message", "handle_tool_message_async"):
        call, effect = own_call(agent, "handle_tool_message", tool, doc), effect_of(agent, tool)
    else:
        handler = handler_of(agent, tool)
        if handler is None:
            return None
        call, effect = handler.call(agent, doc), handler.effect(type(tool))
    agent.tool_in_hand = tool.request
    agent.callbacks.tell("show_start_response", entity="agent")
    value = yield from made(agent, tool.request, effect, call, tool)
    agent.tool_in_hand = None
    agent.tools_handled.append(tool.request)
    result = yield from _as_document(agent, value, tool, doc, (*before, tool.request))
    if result is None:
        return None
    limit = tool.private_default("_max_result_tokens")
    if limit:
        result.content = shortened(result.content, limit)
    kept = of_results([(tool, result.content)])
    if kept != result.metadata.max_retained_tokens and result.metadata.id != doc.metadata.id:
        result.metadata.max_retained_tokens = kept
    if untrusted(doc) and (steers(tool) or unpacked(result, [tool], agent.toolbox.sets)):
        # What an orchestration tool says is what it was given, as is a tool within a tool: as tainted as that was.
        result.metadata.tainted = True
    return result


def _as_document(
    agent: ChatAgent, value: Any, tool: ToolMessage | None, doc: ChatDocument, before: tuple[str, ...] = ()
) -> Steps[ChatDocument | None]:
    if isinstance(value, str):  # as nearly always; whether it is a model of pydantic takes longer to find out
        return _said(agent, value, doc)
    if value is None or isinstance(value, ChatDocument):
        return value
    if isinstance(value, ToolMessage):
        # A final result is for the tasks, whoever knows it: it is attached.
        handled = handles(agent.facts(), value) and not isinstance(value, FinalResultTool)
        same = tool is not None and value.request == tool.request
        # A tool that grew out of what a human typed is under the same filter as what he typed.
        tainted = forbidden(agent, value, doc)
        if handled and not same and not tainted:
            if len(before) >= _MOST_IN_A_ROW:
                raise _endless(agent, (*before, value.request))
            result = yield from _handled(agent, value, doc, before)
            return result
        attached = agent.to_ChatDocument(value)
        assert attached is not None, "only None stays None"
        attached.metadata.tainted = tainted
        return attached
    if isinstance(value, dict) and tool is None and value and value.keys() <= {c.id for c in agent.record.open_calls}:
        by_id = agent.create_agent_response("")
        by_id.oai_tool_id2result = {key: value_as_text(result) for key, result in value.items()}
        return by_id
    if isinstance(value, GeneratorType | AsyncGeneratorType):
        raise _yields(agent, value)
    return _said(agent, value, doc)


def _said(agent: ChatAgent, value: Any, doc: ChatDocument) -> ChatDocument | None:
    said = agent.to_ChatDocument(value)
    if said is not None and answers_a_run(current_call()) and _made_here(agent):
        said.made_for(doc)
    return said


def _endless(agent: ChatAgent, tools: tuple[str, ...]) -> InfiniteLoopException:
    names = ", ".join(repr(name) for name in dict.fromkeys(tools))
    return InfiniteLoopException(
        f"handlers of agent {agent.config.name!r} return each other's tools ({names}), more than {_MOST_IN_A_ROW} in a "
        "row; let one of them return a text, or a tool that this agent does not handle"
    )


def _yields(agent: ChatAgent, value: GeneratorType[Any, Any, Any] | AsyncGeneratorType[Any, Any]) -> ConfigurationError:
    return ConfigurationError(
        f"{value.__qualname__}, called by agent {agent.config.name!r}, gave a generator as its answer; let it return a "
        "text or a value, such as the list of what it yields"
    )


def _made_here(agent: ChatAgent) -> bool:
    """Return whether the library makes the agent's answers; one that a program makes it may hold, and return again."""
    return is_function(agent.to_ChatDocument, responses.to_ChatDocument) and is_function(
        agent.response_template, responses.response_template
    )


def _text(agent: ChatAgent, doc: ChatDocument, text: str) -> ChatDocument:
    return agent.create_agent_response(text, content_any=text)


def _many(agent: ChatAgent, doc: ChatDocument, found: Found) -> Steps[ChatDocument | None]:
    """Several tools written as text, or attached: the texts of their results, as paragraphs."""
    tools = found.mine
    if not agent.config.allow_multiple_tools:
        return _text(agent, doc, _ONE_TOOL)
    results: list[tuple[ToolMessage, str]] = []
    said: list[ChatDocument] = []
    conflict = any(isinstance(tool, _ALONE) for tool in tools)
    for tool in tools:
        if conflict:
            results.append((tool, _ONE_TOOL))
            continue
        result = yield from _handled(agent, tool, doc)
        if result is not None:
            results.append((tool, result.content))
            said.append(result)
    if not results:
        return None
    if all(tool.id for tool in tools):
        response = _by_id(agent, [(tool.id, text) for tool, text in results])
    else:
        paragraphs = [f"Result from {tool.request}: {text}" for tool, text in results]
        response = _text(agent, doc, "\n\n".join(paragraphs))
        response.metadata.max_retained_tokens = of_results(results)
    return _marked(said, response)


def _many_calls(agent: ChatAgent, doc: ChatDocument, found: Found) -> Steps[ChatDocument | None]:
    """Several API calls: one result for each that is this agent's, was badly formed, or is known to no one."""
    mine = {tool.id: tool for tool in found.mine}
    faults: dict[str, ToolFault] = {fault.call_id: fault for fault in found.faults}
    single = agent.config.allow_multiple_tools and not any(isinstance(t, _ALONE) for t in found.mine)
    results: list[tuple[str, str]] = []
    refused: set[str] = set()
    said: list[ChatDocument] = []
    for call in doc.oai_tool_calls or []:
        key, name = call.id or "", call.function.name if call.function else ""
        if key in mine and not single:
            results.append((key, _ONE_TOOL))
        elif key in mine:
            result = yield from _handled(agent, mine[key], doc)
            if result is not None:
                results.append((key, result.content))
                said.append(result)
        elif key in faults:
            results.append((key, agent.tool_validation_error(faults[key].error)))
            refused.add(key)
        elif name not in agent.toolbox.known:
            results.append((key, unknown(name)))
            refused.add(key)
    if not results:
        return None
    return _marked(said, _by_id(agent, results, refused))


def _marked(results: Sequence[ChatDocument], response: ChatDocument) -> ChatDocument:
    """The response, with the marks of the results that it was made of."""
    response.metadata.tainted = any(result.metadata.tainted for result in results)
    response.metadata.quoted = any(result.metadata.quoted for result in results)
    return response


def _by_id(agent: ChatAgent, results: list[tuple[str, str]], refused: Collection[str] = ()) -> ChatDocument:
    """Return the results under the ids of their calls; a signal in one counts, but for the `refused` calls."""
    told = [text for key, text in results if key not in refused]
    if len(results) > 1 and any(signal in text for text in told for signal in (DONE, PASS, SEND_TO)):
        results = [(key, _ONE_SIGNAL) for key, _ in results]
    if len(results) == 1:
        response = agent.create_agent_response(results[0][1], content_any=results[0][1])
        response.metadata.oai_tool_id = results[0][0]
        return response
    response = agent.create_agent_response("")
    response.oai_tool_id2result = dict(results)
    return response


def _format_fault(agent: ChatAgent, doc: ChatDocument) -> str:
    """Return what is wrong with the form of what the model said; "" for nothing, or where no form was wanted.

    What a handler says in the model's name is no answer of the model: no call was used for it.
    """
    if agent.answer_format is None or doc.metadata.sender != Entity.LLM or doc.metadata.usage is None:
        return ""
    return take_in(agent.answer_format, doc, found_in(agent, doc).tools)


def _fallback(agent: ChatAgent, doc: ChatDocument) -> Steps[Any]:
    brought: Callable[..., Any] | None = agent.toolbox.fallback
    if brought is not None:
        effect = declared_by(agent.toolbox.known[agent.toolbox.fallback_of], brought)
        return (
            yield from made(agent, "handle_message_fallback", effect, Effect(sync=lambda: brought(agent, doc.lent())))
        )
    action = agent.config.handle_llm_no_tool
    ours = agent.inherits("handle_message_fallback")
    call = Effect(sync=lambda: agent.handle_message_fallback(doc if ours else doc.lent()))
    if ours and (isinstance(action, (str, ToolMessage)) or not callable(action)):
        return (yield from finished((yield call)))
    return (yield from own_code(agent, "handle_message_fallback", call))


def default_fallback(agent: ChatAgent, doc: ChatDocument) -> Any:
    """Return what `handle_llm_no_tool` says to a message from LLM that holds no tool at all; None for any other
    message.
    """
    action = agent.config.handle_llm_no_tool
    if action is None or doc.metadata.sender != Entity.LLM or doc.oai_tool_calls or doc.function_call:
        return None
    found = found_in(agent, doc)
    if found.tools or found.faults:
        return None
    if isinstance(action, ToolMessage):
        return action
    if callable(action) and not isinstance(action, str):
        return action(doc.lent())
    if action == NonToolAction.FORWARD_USER:
        return ForwardTool(agent=Entity.USER.value)
    if action == NonToolAction.DONE:
        return AgentDoneTool(content=doc.content, tools=doc.tool_messages)
    return action
