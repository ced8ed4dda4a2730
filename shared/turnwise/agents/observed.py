"""The telemetry of an agent's answers, its calls of models and its tools."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from turnwise.messages.tool_message import ToolMessage
from turnwise.models.base import LLMMessage, LLMResponse, Role
from turnwise.models.language_model import LanguageModel
from turnwise.models.tokens.usage import LLMTokenUsage
from turnwise.observability.telemetry import names
from turnwise.observability.telemetry.conversation import content, conversation
from turnwise.observability.telemetry.spans import NO_SPAN, Spot, listened, record, span

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent
    from turnwise.agents.history.sending import Prompt
    from turnwise.agents.tools.handler_calls import HandlerCall

_MODEL = (names.OPERATION, names.PROVIDER, names.REQUEST_MODEL, names.SERVER, names.PORT)


def answering(agent: ChatAgent, responder: str, more: dict[str, Any]) -> AbstractContextManager[Spot | None]:
    """Around one answer of the agent's, as `responder` (llm or agent); gives None where no one listens."""
    if not listened(names.AGENT_DURATION):
        return NO_SPAN
    told = {names.AGENT: agent.config.name, names.RESPONDER: responder}
    return invoking(told | more)


def invoking(attributes: dict[str, Any], **how: Any) -> AbstractContextManager[Spot]:
    """Around one answer of the agent that `attributes` name; `how` is as in `span`."""
    told = conversation() | {names.OPERATION: names.INVOKE_AGENT} | attributes
    name = f"{names.INVOKE_AGENT} {attributes[names.AGENT]}"
    measured = (names.OPERATION, names.AGENT)
    return span(name, told, metric=names.AGENT_DURATION, measured=measured, **how)


def chatting(
    agent: ChatAgent, model: LanguageModel, sent: Prompt, max_tokens: int
) -> AbstractContextManager[Spot | None]:
    """Around one call of the agent's model."""
    if not listened(names.CLIENT_DURATION):
        return NO_SPAN
    config = model.config
    name = config.chat_model or config.type
    told = (
        conversation()
        | _of_server(model)
        | {
            names.OPERATION: names.CHAT,
            names.REQUEST_MODEL: name,
            names.REQUEST_MAX_TOKENS: max_tokens,
            names.REQUEST_TEMPERATURE: config.temperature,
            names.AGENT: agent.config.name,
            names.INPUT_MESSAGES: content(lambda: [_message(message) for message in sent.messages]),
        }
    )
    return span(f"{names.CHAT} {name}", told, kind="CLIENT", metric=names.CLIENT_DURATION, measured=_MODEL)


def chatted(spot: Spot | None, model: LanguageModel, response: LLMResponse) -> None:
    """The model has answered."""
    if spot is None:
        return
    usage, answered = response.usage, response.model or model.config.chat_model
    spot.measured[names.RESPONSE_MODEL] = answered
    spot.set(
        {
            names.RESPONSE_MODEL: answered,
            names.INPUT_TOKENS: usage.prompt_tokens,
            names.CACHED_TOKENS: usage.cached_tokens,
            names.OUTPUT_TOKENS: usage.completion_tokens,
            names.COST: None if usage.cost is None else float(usage.cost),
            names.OUTPUT_MESSAGES: content(lambda: [_said(response)]),
        }
    )
    _count(model, answered, usage)


def executing(agent: ChatAgent, call: HandlerCall) -> AbstractContextManager[Spot | None]:
    """Around one call of a tool's handler; an agent's own method is no tool."""
    tool = call.arguments
    if tool is None or not listened(names.TOOL_DURATION):
        return NO_SPAN
    told = conversation() | {
        names.OPERATION: names.EXECUTE_TOOL,
        names.TOOL: call.tool,
        names.TOOL_TYPE: "function",
        names.TOOL_CALL: tool.id or None,
        names.AGENT: agent.config.name,
        names.TOOL_ARGUMENTS: content(lambda: _arguments(tool)),
    }
    measured = (names.OPERATION, names.TOOL)
    return span(f"{names.EXECUTE_TOOL} {call.tool}", told, metric=names.TOOL_DURATION, measured=measured)


def executed(spot: Spot | None, value: Any) -> None:
    """The handler has returned `value`."""
    if spot is not None:
        spot.set({names.TOOL_RESULT: content(lambda: value)})


def _of_server(model: LanguageModel) -> dict[str, Any]:
    """Return who is called; a model without a server has the name of its kind."""
    url = getattr(model.config, "base_url", None)
    if url is None:
        return {names.PROVIDER: model.config.type}
    at = urlsplit(url)
    own = getattr(model.config, "provider", None)
    port = at.port or (443 if at.scheme == "https" else 80)
    return {names.PROVIDER: own or names.provider_name(at.hostname or ""), names.SERVER: at.hostname, names.PORT: port}


def _count(model: LanguageModel, answered: str, usage: LLMTokenUsage) -> None:
    config = model.config
    told = _of_server(model) | {
        names.OPERATION: names.CHAT,
        names.REQUEST_MODEL: config.chat_model or config.type,
        names.RESPONSE_MODEL: answered,
    }
    for kind, tokens in (("input", usage.prompt_tokens), ("output", usage.completion_tokens)):
        record(names.TOKEN_USAGE, tokens, told | {names.TOKEN_TYPE: kind})


def _message(message: LLMMessage) -> dict[str, Any]:
    """A message in the form of the conventions: a role, and parts."""
    parts: list[dict[str, Any]] = []
    if message.role == Role.TOOL:
        parts.append({"type": "tool_call_response", "id": message.tool_call_id, "response": message.content})
    elif message.content:
        parts.append({"type": "text", "content": message.content})
    for call in message.tool_calls or []:
        if call.function is not None:
            arguments = call.function.arguments
            parts.append({"type": "tool_call", "id": call.id, "name": call.function.name, "arguments": arguments})
    return {"role": message.role.value, "parts": parts}


def _said(response: LLMResponse) -> dict[str, Any]:
    said = LLMMessage(role=Role.ASSISTANT, content=response.message or "", tool_calls=response.oai_tool_calls)
    return _message(said)


def _arguments(tool: ToolMessage) -> dict[str, Any]:
    return tool.model_dump(mode="json", exclude={"request", "purpose", "id"})
