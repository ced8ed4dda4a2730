"""Reading and editing the conversation of an agent with its model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwise.agents.history.history import calls_without_result, index_of_last, index_of_nth
from turnwise.models.base import LLMMessage, Role
from turnwise.models.tokens.estimate import beginning, estimated_tokens, message_tokens

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent


def clear_history(agent: ChatAgent, start: int = -2, end: int = -1) -> None:
    """Drop the messages from index `start` to index `end`, that one included; negative counts from the end.

    The default drops the last two: what was asked, and the answer to it.
    """
    messages = agent.message_history
    del messages[start : None if end == -1 else end + 1]
    _see_open_calls(agent)


def update_history(agent: ChatAgent, message: str, response: str) -> None:
    """Append a user message and the model's answer to it."""
    agent.message_history.append(LLMMessage(role=Role.USER, content=message))
    agent.message_history.append(LLMMessage(role=Role.ASSISTANT, content=response))
    _see_open_calls(agent)


def update_last_message(agent: ChatAgent, message: str, role: Role | str = Role.USER) -> None:
    """Put `message` in place of the last content of that role, where there is one.

    For instance a question alone for a prompt that held long passages with it, once the model has answered.
    """
    index = agent.last_message_idx_with_role(role)
    if index >= 0:
        agent.message_history[index] = agent.message_history[index].model_copy(update={"content": message})


def delete_last_message(agent: ChatAgent, role: Role | str = Role.USER) -> None:
    """Drop the last message of that role, where there is one."""
    index = agent.last_message_idx_with_role(role)
    if index >= 0:
        del agent.message_history[index]
        _see_open_calls(agent)


def truncate_message(
    agent: ChatAgent, idx: int, tokens: int = 5, warning: str = "...[Contents truncated!]", inplace: bool = True
) -> LLMMessage:
    """Message `idx` with only the first `tokens` tokens (about) of its content, and `warning` on a line below.

    One without content stays as it is. `inplace` puts it into the history, where the whole one is lost then. Raises
    `IndexError`.
    """
    message = agent.message_history[idx]
    if not message.content.strip():
        return message
    shortened = message.model_copy(update={"content": f"{beginning(message.content, tokens)}\n{warning}"})
    if inplace:
        agent.message_history[idx] = shortened
    return shortened


def last_message_with_role(agent: ChatAgent, role: Role | str) -> LLMMessage | None:
    """The newest message of the history that has that role; None if there is none."""
    index = index_of_last(agent.message_history, role)
    return agent.message_history[index] if index >= 0 else None


def last_message_idx_with_role(agent: ChatAgent, role: Role | str) -> int:
    """The index of the last message of that role, -1 if there is none."""
    return index_of_last(agent.message_history, role)


def nth_message_idx_with_role(agent: ChatAgent, role: Role | str, n: int) -> int:
    """The index of the n-th message (from 1) of that role, -1 if there are not so many."""
    return index_of_nth(agent.message_history, role, n)


def chat_num_tokens(agent: ChatAgent, messages: list[LLMMessage] | None = None) -> int:
    """About how many tokens the messages have (default: the history), as they count in a prompt.

    Exact where the model has a tokenizer at hand. What a history is sent shortened counts whole.
    """
    return agent.num_tokens(agent.message_history if messages is None else messages)


def num_tokens(agent: ChatAgent, prompt: str | list[LLMMessage]) -> int:
    """About how many tokens a text has, or messages as they count in a prompt.

    Exact where the model has a tokenizer at hand.
    """
    count = agent.llm.count_tokens if agent.llm is not None else estimated_tokens
    return count(prompt) if isinstance(prompt, str) else sum(message_tokens(m, count) for m in prompt)


def message_history_str(agent: ChatAgent, i: int | None = None) -> str:
    """The history as text, a line `role: content` for each message.

    With `i` of 0 or more only message `i`, with a negative one the last `-i` messages.
    """
    messages = agent.message_history
    if i is not None:
        messages = messages[i:] if i < 0 else messages[i : i + 1]
    return "\n".join(f"{m.role.value}: {m.content}" for m in messages)


def _see_open_calls(agent: ChatAgent) -> None:
    """After an edit: the open calls are those that the history ends with."""
    agent.record.open_calls = calls_without_result(agent.message_history)
