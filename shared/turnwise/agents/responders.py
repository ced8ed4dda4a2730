"""The responders of an agent: its model as LLM, its human as USER, and all three in the order of a task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from turnwise.agents import model_turn
from turnwise.agents.human.human_reply import answer_of_human
from turnwise.agents.own_methods import method_beneath
from turnwise.agents.tools.reading import as_document
from turnwise.base.call_context import current_call
from turnwise.base.sync_async import run_async, run_sync
from turnwise.messages.document import ChatDocument
from turnwise.messages.entity import Entity
from turnwise.models.base import LLMMessage

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent

Responder = Callable[[str | ChatDocument | None], ChatDocument | None]
AsyncResponder = Callable[[str | ChatDocument | None], Awaitable[ChatDocument | None]]


def entity_responders(agent: ChatAgent) -> list[tuple[Entity, Responder]]:
    """Return who answers as each of the agent's entities, in the order in which a task asks them."""
    return [
        (Entity.AGENT, agent.agent_response),
        (Entity.LLM, agent.llm_response),
        (Entity.USER, agent.user_response),
    ]


def entity_responders_async(agent: ChatAgent) -> list[tuple[Entity, AsyncResponder]]:
    """Return who answers as each of the agent's entities in an event loop; as `entity_responders`."""
    return [
        (Entity.AGENT, agent.agent_response_async),
        (Entity.LLM, agent.llm_response_async),
        (Entity.USER, agent.user_response_async),
    ]


def llm_can_respond(agent: ChatAgent, message: str | ChatDocument | None = None) -> bool:
    """Return whether the agent has a model, and handles no tool in the message."""
    return agent.llm is not None and not agent.get_tool_messages(message)


def llm_response(agent: ChatAgent, message: str | ChatDocument | None = None) -> ChatDocument | None:
    """Return what the model answers to `message`; both are appended to the history. None if it cannot answer.

    It cannot if the agent has no model, the message is blank, or holds a tool that the agent handles. Without a
    message, the model answers its system and user messages, or its last answer again. Raises `ModelError`, and
    `ContextOverflowError` for a conversation that is too long for it even shortened.
    """
    return run_sync(model_turn.answer(agent, message, current_call()))


async def llm_response_async(agent: ChatAgent, message: str | ChatDocument | None = None) -> ChatDocument | None:
    """The same as `llm_response`, without blocking the event loop."""
    own = method_beneath(agent, "llm_response")
    if own is not None:
        answer: ChatDocument | None = own(message)
        return answer
    return await run_async(model_turn.answer(agent, message, current_call()))


def llm_response_forget(agent: ChatAgent, message: str | ChatDocument | None = None) -> ChatDocument | None:
    """Return what the model answers, after which the history is as it was; None if it cannot answer.

    An override of `llm_response` is not asked. Raises `ModelError`.
    """
    return run_sync(model_turn.one_off(agent, message, current_call()))


async def llm_response_forget_async(agent: ChatAgent, message: str | ChatDocument | None = None) -> ChatDocument | None:
    """The same as `llm_response_forget`, without blocking the event loop."""
    return await run_async(model_turn.one_off(agent, message, current_call()))


def llm_response_messages(
    agent: ChatAgent,
    messages: Sequence[LLMMessage],
    output_len: int | None = None,
    tool_choice: str | dict[str, Any] = "auto",
) -> ChatDocument:
    """Return what the model answers to these messages alone; the agent's history plays no part and stays as it is.

    `output_len` bounds the answer in tokens (default: `max_output_tokens` of the model's settings). `tool_choice`
    is `auto`, `none`, `required`, or names a function as the API does; it counts where tools are functions of the
    API. The messages have to fit: nothing is shortened. `llm_response` does not go through this method. Raises
    `ConfigurationError` without a model, and `ModelError`.
    """
    return run_sync(model_turn.answer_to(agent, messages, output_len, tool_choice, current_call()))


async def llm_response_messages_async(
    agent: ChatAgent,
    messages: Sequence[LLMMessage],
    output_len: int | None = None,
    tool_choice: str | dict[str, Any] = "auto",
) -> ChatDocument:
    """The same as `llm_response_messages`, without blocking the event loop."""
    return await run_async(model_turn.answer_to(agent, messages, output_len, tool_choice, current_call()))


def user_response(agent: ChatAgent, msg: str | ChatDocument | None = None) -> ChatDocument | None:
    """Return what the human answers; None for an empty answer.

    He is `default_human_response` if that is set, else the callback `get_user_response`, else whoever sits at the
    terminal. A text that begins with `SYSTEM` becomes a message from SYSTEM without that word.
    """
    return run_sync(answer_of_human(agent, None if msg is None else as_document(msg)))


async def user_response_async(agent: ChatAgent, msg: str | ChatDocument | None = None) -> ChatDocument | None:
    """The same as `user_response`, awaiting the callback's async twin where it is set."""
    own = method_beneath(agent, "user_response")
    if own is not None:
        answer: ChatDocument | None = own(msg)
        return answer
    return await run_async(answer_of_human(agent, None if msg is None else as_document(msg)))
