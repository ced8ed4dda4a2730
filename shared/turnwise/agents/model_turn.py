"""The model's answer to a message."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from turnwise.agents.aside import aside
from turnwise.agents.history.retention import marked, retains
from turnwise.agents.history.sending import Prompt, learn, most_used, paying, prompt
from turnwise.agents.human.answer_display import Showing, begin, tell_error
from turnwise.agents.observed import chatted, chatting
from turnwise.agents.output.output_format import take_in
from turnwise.agents.retries import Failure, call_retries, waiting, within
from turnwise.agents.tools.handler_calls import answers_a_run
from turnwise.agents.tools.reading import as_document, found_in
from turnwise.agents.tools.tool_choice import tool_choice
from turnwise.base.call_context import CallContext
from turnwise.base.sync_async import Steps, one_call
from turnwise.errors import ConfigurationError, ModelRefusedError
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.tool_parsing import call_fault, unknown
from turnwise.models.answer_check import taken
from turnwise.models.asking import asked_by_name
from turnwise.models.base import LLMMessage, LLMResponse, OpenAIToolCall, Role, TokenSink, ToolChoice
from turnwise.models.budget.gate import Hold, failed
from turnwise.models.language_model import LanguageModel
from turnwise.models.retry_policy import ErrorKind, kind_of
from turnwise.models.tokens.usage import LLMTokenUsage, doubt_about
from turnwise.models.tokens.usage_totals import process_totals

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent

logger = logging.getLogger(__name__)


def answer(agent: ChatAgent, message: str | ChatDocument | None, call: CallContext) -> Steps[ChatDocument | None]:
    """Append the message to the history, ask the model, append what it says; None if there is nothing to ask."""
    model = agent.llm
    message = None if message is None else as_document(message)
    if model is None or not _prepare(agent, message):
        return None
    try:
        tools = tool_choice(agent, model, message)
        sent = prompt(agent, model, tools)
        response, showing = yield from _asked(agent, call, model, sent, tools)
    except BaseException as error:
        tell_error(agent, error)
        raise
    learn(agent, sent, response.usage)
    doc = _taken_in(agent, response, message)
    if message is not None and answers_a_run(call):
        doc.made_for(message)
    showing.finished(doc)
    return doc


def _asked(
    agent: ChatAgent, call: CallContext, model: LanguageModel, sent: Prompt, tools: ToolChoice | None
) -> Steps[tuple[LLMResponse, Showing]]:
    """Return what the model says, asked as often as the agent's policy allows. A failed call leaves nothing but its
    cost.
    """
    before: dict[ErrorKind, int] = {}
    while True:
        showing = None
        try:
            hold = yield from paying(agent, call, model, sent, tools)
            showing = yield from _begun(agent, call, hold)
            response = yield from _called(agent, call, model, sent, tools, hold, showing.sink)
        except BaseException as error:
            if showing is not None:
                showing.cancelled()
            wait = _wait_after(agent, call, error, before)
            if wait is None:
                raise
        else:
            agent.add_usage(response.usage)
            if not response.refused:
                return response, showing
            refusal = ModelRefusedError(response.message or "the provider's filter took the answer")
            wait = _wait_after(agent, call, refusal, before)
            if wait is None:  # the refusal is the last word
                return response, showing
            showing.cancelled()
        yield waiting(wait)


def _wait_after(
    agent: ChatAgent, call: CallContext, error: BaseException, before: dict[ErrorKind, int]
) -> float | None:
    """Seconds until the model is asked again, None if it is not; raises what puts the answer off."""
    kind = kind_of(error)
    if kind is None or not isinstance(error, Exception) or not agent.config.retry.covers(kind):
        return None
    failure = Failure(agent=agent.id, call="", kind=kind, error=error, policy=agent.config.retry)
    return call_retries(call).next(failure, before)


def _begun(agent: ChatAgent, call: CallContext, hold: Hold) -> Steps[Showing]:
    try:
        return (yield from begin(agent, call))
    except BaseException:  # a callback of the application's; nothing was called yet
        hold.release()
        raise


def _called(
    agent: ChatAgent,
    call: CallContext,
    model: LanguageModel,
    sent: Prompt,
    tools: ToolChoice | None,
    hold: Hold,
    sink: TokenSink | None,
) -> Steps[LLMResponse]:
    """Call the model within what was reserved, and let its run count what it used."""
    limit = agent.config.answer_timeout
    try:
        with chatting(agent, model, sent, hold.max_tokens) as spot:
            plain = model.answering(sent.messages, hold.max_tokens, tools, sink)
            if plain is not None and limit is None:
                # Not as further steps: a generator more for each call that is under way.
                response = yield plain
            else:
                steps = (
                    one_call(plain)
                    if plain is not None
                    else asked_by_name(model, sent.messages, hold.max_tokens, tools, sink)
                )
                response = yield from within(call, limit, f"an answer of agent {agent.config.name!r}", steps)
            process_totals.add(model.config.chat_model, response.usage)
            response = taken(response)
            if doubt := doubt_about(response.usage):
                most = hold.charged(most_used(agent, model, sent, tools, hold.max_tokens))
                response = _charged(agent, response, most.model_copy(update={"doubt": doubt}))
            chatted(spot, model, response)
    except BaseException as error:
        failed(hold, error)
        raise
    hold.settle(response.usage, response.rate_limits)
    return response


def _charged(agent: ChatAgent, response: LLMResponse, most: LLMTokenUsage) -> LLMResponse:
    """The response, charged with the most that it can have used, since its own count cannot be true."""
    logger.warning(
        "The model of agent %s reports a usage that cannot be true (%s); %d tokens are charged, as reserved",
        agent.config.name,
        most.doubt,
        most.total_tokens,
        extra={"action": "usage_doubted", "agent": agent.config.name},
    )
    return response.model_copy(update={"usage": most})


def answer_to(
    agent: ChatAgent,
    messages: Sequence[LLMMessage],
    output_len: int | None,
    choice: str | dict[str, Any],
    call: CallContext,
) -> Steps[ChatDocument]:
    """The model's answer to messages that are no part of the conversation."""
    model = agent.llm
    if model is None:
        raise ConfigurationError(f"agent {agent.config.name!r} has no model to ask; give its configuration an `llm`")
    asked = agent.response_template(Entity.USER, oai_tool_choice=choice)
    sent = Prompt(messages=messages, max_tokens=output_len or model.config.max_output_tokens)
    try:
        tools = tool_choice(agent, model, asked)
        response, showing = yield from _asked(agent, call, model, sent, tools)
    except BaseException as error:
        tell_error(agent, error)
        raise
    doc = _document(agent, response)
    doc.metadata.agent_id = agent.id
    showing.finished(doc)
    return doc


def one_off(agent: ChatAgent, message: str | ChatDocument | None, call: CallContext) -> Steps[ChatDocument | None]:
    """The model's answer, of which the conversation keeps nothing; several may be made at once."""
    return answer(aside(agent), message, call)


def _prepare(agent: ChatAgent, message: ChatDocument | None) -> bool:
    """Bring the history to where the model is asked; False if the message says nothing to it."""
    if message is not None and agent.get_tool_messages(message):
        return False
    if message is None and len(agent.message_history) > 1 and agent.message_history[-1].role == Role.ASSISTANT:
        agent.clear_history(-1)
    if not agent.message_history:
        agent.init_message_history()
    else:
        agent.history.messages.begin_with(agent.system_and_tools_message())
    if message is None:
        return True
    history = agent.history.messages
    if message.id() == history[-1].chat_document_id:
        return True
    open_calls = agent.record.open_calls
    last = history[-1].function_call
    added = ChatDocument.to_LLMMessage(message, open_calls, last.name if last is not None else None)
    if not any(m.content.strip() or m.files or m.role == Role.TOOL for m in added):
        return False
    if retains(agent.toolbox.sets):
        added = marked(added, message, agent.toolbox.sets, open_calls)
    history.extend(_with_every_call_answered(agent, added, open_calls) if open_calls else added)
    if open_calls:
        agent.record.open_calls = []
    return True


def _with_every_call_answered(
    agent: ChatAgent, added: list[LLMMessage], open_calls: list[OpenAIToolCall]
) -> list[LLMMessage]:
    """The API wants a result for each call before anything else.

    Calls without one get what is wrong with them: bad fields, or no such tool; an empty result if nothing is.
    """
    answered = {m.tool_call_id for m in added if m.role == Role.TOOL}
    others = [
        LLMMessage(role=Role.TOOL, tool_call_id=call.id, content=_unanswered(agent, call))
        for call in open_calls
        if call.id not in answered
    ]
    results = [m for m in added if m.role == Role.TOOL]
    return [*results, *others, *(m for m in added if m.role != Role.TOOL)]


def _unanswered(agent: ChatAgent, call: OpenAIToolCall) -> str:
    name = call.function.name if call.function is not None else ""
    if name not in agent.toolbox.known:
        return unknown(name)
    fault = call_fault(call, agent.facts())
    return agent.tool_validation_error(fault.error) if fault is not None else ""


def _document(agent: ChatAgent, response: LLMResponse) -> ChatDocument:
    """Return the answer of the model as a message, with whom it addresses."""

    def addresses(request: str | None) -> bool:
        if request is None:  # an object of the format is data
            output = agent.answer_format
            return output is None or output.tool is not None
        known = agent.toolbox.known.get(request)
        return known is None or not known._recipient_is_data

    return ChatDocument.from_LLMResponse(
        response,
        recognize_recipient_in_content=agent.config.recognize_recipient_in_content,
        addresses=addresses,
    )


def _taken_in(agent: ChatAgent, response: LLMResponse, message: ChatDocument | None) -> ChatDocument:
    doc = _document(agent, response)
    record, calls = agent.record, response.oai_tool_calls or []
    if calls or record.open_calls:
        record.open_calls = list(calls)
    if record.mending:
        record.mending = ""
    meta, history = doc.metadata, agent.history.messages
    meta.fill(agent_id=agent.id, msg_idx=len(history))
    said = LLMMessage.made(
        role=Role.ASSISTANT,
        content=doc.content,
        tool_calls=response.oai_tool_calls or None,
        function_call=response.function_call,
        chat_document_id=meta.id,
        recipient=meta.recipient,
    )
    history.append(said)
    if message is not None and message.metadata.tool_ids:
        meta.tool_ids = list(message.metadata.tool_ids)
    assert meta.sender is Entity.LLM
    agent.history.ends_with(doc)
    if agent.answer_format is not None:
        take_in(agent.answer_format, doc, found_in(agent, doc).tools)
    return doc
