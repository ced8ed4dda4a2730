"""Asking the human of an agent: by callback, else on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turnwise.agents.callbacks import Callbacks, call_with
from turnwise.agents.human.terminal import ask_on_terminal, ask_on_terminal_async
from turnwise.base.sync_async import Effect, Steps, refuse_finished, refuse_unfinished
from turnwise.errors import ConfigurationError
from turnwise.messages.document import ChatDocument
from turnwise.messages.human import human_answer

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent

# A callback's interface was shown the question when it was said, so it gets no prompt besides.
_PROMPT = {"prompt": ""}


def human_reply(callbacks: Callbacks, question: ChatDocument | None, asker: str) -> Effect:
    """The call that brings the human's text for the agent `asker`.

    It raises `ConfigurationError` in a synchronous run if only its async twin is set, and where a callback is of the
    other kind, or returns no text.
    """
    plain, twin = callbacks.get_user_response, callbacks.get_user_response_async
    shown = question.content if question is not None else ""

    def ask() -> str | None:
        if plain is not None:
            said = call_with(plain, _PROMPT)
            refuse_unfinished(said, "get_user_response", "get_user_response_async")
            return _text(said, "get_user_response")
        if twin is not None:
            raise ConfigurationError(
                "the human is asked in a synchronous run, but only the callback get_user_response_async is set; "
                "use run_async, or set get_user_response"
            )
        return ask_on_terminal(shown, asker)

    async def ask_async() -> str | None:
        if twin is None:
            return await ask_on_terminal_async(shown, asker)
        said = call_with(twin, _PROMPT)
        refuse_finished(said, "get_user_response_async", "get_user_response")
        return _text(await said, "get_user_response_async")

    return Effect(sync=ask, awaited=ask_async if plain is None or twin is not None else None)


def _text(said: Any, callback: str) -> str | None:
    if said is None or isinstance(said, str):
        return said
    raise ConfigurationError(
        f"the callback {callback} returned {type(said).__name__}; expected what the human says as text, or None"
    )


def answer_of_human(agent: ChatAgent, question: ChatDocument | None) -> Steps[ChatDocument | None]:
    """Return what the agent's human answers to `question`, None for an empty answer."""
    text = agent.default_human_response
    if text is None:
        text = yield human_reply(agent.callbacks, question, agent.config.name)
    return human_answer(text or "", question, default=agent.default_human_response, open_calls=agent.record.open_calls)
