"""Asking an agent in a task, whoever wrote its responders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turnwise.agents import model_turn, responders
from turnwise.agents.human.human_reply import answer_of_human
from turnwise.agents.own_methods import own_call
from turnwise.agents.tools import answering, dispatch
from turnwise.agents.tools.handler_lookup import is_function
from turnwise.agents.tools.reading import as_document
from turnwise.base.call_context import CallContext
from turnwise.base.sync_async import Steps, one_call
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.messages.tool_message import ToolMessage

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent


def asked_handlers(agent: ChatAgent, message: str | ChatDocument | None) -> Steps[ChatDocument | None]:
    """Return what the agent says as AGENT in a task, whoever wrote its `agent_response`."""
    sync, twin = agent.agent_response, agent.agent_response_async
    if is_function(sync, answering.agent_response) and is_function(twin, answering.agent_response_async):
        return dispatch.answer(agent, None if message is None else as_document(message))
    return _own_handlers(agent, message)


def _own_handlers(agent: ChatAgent, message: str | ChatDocument | None) -> Steps[ChatDocument | None]:
    call = own_call(agent, "agent_response", message)
    if agent.inherits("agent_response") and agent.inherits("agent_response_async"):  # it is set on this one agent
        value: ChatDocument | None = yield call
        return value
    value = yield from dispatch.own_code(agent, "agent_response", call)
    made = said(agent, Entity.AGENT, value)
    if isinstance(value, ToolMessage) and made is not None and isinstance(message, ChatDocument):
        made.metadata.tainted = dispatch.forbidden(agent, value, message)
    return made


def asked_model(agent: ChatAgent, message: ChatDocument | None, call: CallContext) -> Steps[Any]:
    """Return what the agent says as LLM in a task, whoever wrote its `llm_response`."""
    sync, twin = agent.llm_response, agent.llm_response_async
    if is_function(sync, responders.llm_response) and is_function(twin, responders.llm_response_async):
        return model_turn.answer(agent, message, call)
    return one_call(own_call(agent, "llm_response", message))


def asked_human(agent: ChatAgent, message: ChatDocument | None) -> Steps[Any]:
    """Return what the agent says as USER in a task, whoever wrote its `user_response`."""
    sync, twin = agent.user_response, agent.user_response_async
    if is_function(sync, responders.user_response) and is_function(twin, responders.user_response_async):
        return answer_of_human(agent, message)
    return one_call(own_call(agent, "user_response", message))


def said(agent: ChatAgent, entity: Entity, value: Any, asked: ChatDocument | None = None) -> ChatDocument | None:
    """Return what an application's own responder returned, as a message from `entity` that answers `asked`."""
    if isinstance(value, ChatDocument):
        return value.as_answer_to(asked)
    made = agent.to_ChatDocument(value, author_entity=entity)
    if made is None:
        return None
    # In the human's place it is what a human says.
    made.metadata.tainted = entity is Entity.USER
    return made.as_answer_to(asked)
