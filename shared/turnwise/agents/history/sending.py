"""The messages that a model is sent: the history as it is, or as much of it as fits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from turnwise.agents.history.fitting import MARGIN, ContextWindow, DroppingTurns, Truncating, fit
from turnwise.agents.history.history import MessageHistory
from turnwise.agents.history.retention import retains, with_retention
from turnwise.base.call_context import CallContext
from turnwise.base.sync_async import Steps
from turnwise.errors import ContextOverflowError
from turnwise.models.base import UNLIMITED_CONTEXT, LLMMessage, ToolChoice
from turnwise.models.budget.budget import Amount
from turnwise.models.budget.call import ModelCall
from turnwise.models.budget.gate import GATE, Hold, reserving
from turnwise.models.language_model import LanguageModel
from turnwise.models.tokens.estimate import (
    MOST_FORM,
    choice_tokens,
    estimated_tokens,
    message_tokens,
    most_of_files,
    most_tokens,
)
from turnwise.models.tokens.usage import LLMTokenUsage

if TYPE_CHECKING:
    from turnwise.agents.chat_agent import ChatAgent

# If so many times the estimate would fit, nothing is counted more closely: no text is denser (see `llm.tokens`).
_DOUBT = 2.5
# Prompts of fewer tokens say little about how far off the estimate is, and nothing should make it off by more.
_TELLING, _MOST_SCALE = 1_000, 4.0
_WAYS: dict[str, type[Truncating | DroppingTurns]] = {"truncate": Truncating, "drop_turns": DroppingTurns}


class Prompt(NamedTuple):
    """Messages for the model, the limit of its answer, and the estimate of the whole prompt (0: not estimated)."""

    messages: Sequence[LLMMessage]
    max_tokens: int
    estimate: int = 0


def prompt(agent: ChatAgent, model: LanguageModel, tools: ToolChoice | None) -> Prompt:
    """Return what the model is sent of the agent's history.

    Costs no more the longer the history is, unless something of it is sent shortened. Raises `ContextOverflowError`.
    """
    history, config = agent.history.messages, model.config
    context, most = model.chat_context_length(), config.max_output_tokens
    retaining = retains(agent.toolbox.sets)
    if context >= UNLIMITED_CONTEXT:
        return Prompt(messages=with_retention(history) if retaining else history, max_tokens=most)
    estimate = _estimate(history) + choice_tokens(tools)
    doubt = max(_DOUBT, agent.record.token_scale)
    if not retaining and not history.fitted and estimate * doubt + most + MARGIN <= context:
        return Prompt(messages=history, max_tokens=most, estimate=estimate)
    window = ContextWindow(context=context, most=most, least=min(most, config.min_output_tokens))
    return _fitted(agent, model, tools, window)


def paying(
    agent: ChatAgent, context: CallContext, model: LanguageModel, sent: Prompt, tools: ToolChoice | None
) -> Steps[Hold]:
    """Put room aside for the call, its answer cut to what the limits allow; costs nothing without a limit.

    Raises `LimitReachedError` if they do not allow the shortest answer that is of use (`min_output_tokens`).
    """
    config = model.config

    def price(prompt_tokens: int, output_tokens: int) -> Amount:
        return Amount.of(model.most_usage(prompt_tokens, output_tokens))

    call = ModelCall(
        model=config.chat_model or config.type,
        prompt=lambda: _most_tokens(agent, model, sent, tools),
        price=price,
        least=min(sent.max_tokens, config.min_output_tokens),
        most=sent.max_tokens,
        client=model,
        likely=lambda: sent.estimate or _likely_tokens(agent, sent, tools),
        sent=(sent.messages, tools),
    )
    return reserving(call, context[GATE])


def most_used(
    agent: ChatAgent, model: LanguageModel, sent: Prompt, tools: ToolChoice | None, max_tokens: int
) -> LLMTokenUsage:
    """The most that the call can have used with an answer of `max_tokens`, which is what was reserved for it."""
    return model.most_usage(_most_tokens(agent, model, sent, tools), max_tokens)


def _most_tokens(agent: ChatAgent, model: LanguageModel, sent: Prompt, tools: ToolChoice | None) -> int:
    """An upper bound of the prompt: what the tokenizer counts, or the number of bytes, and something for the form."""
    form = MOST_FORM * len(sent.messages) + most_of_files(sent.messages)
    if (exact := model.tokenizer()) is not None:
        return form + choice_tokens(tools, exact) + sum(message_tokens(message, exact) for message in sent.messages)
    return form + most_tokens(_likely_tokens(agent, sent, tools))


def _likely_tokens(agent: ChatAgent, sent: Prompt, tools: ToolChoice | None) -> int:
    history = agent.history.messages
    whole = sent.messages is history
    return (_estimate(history) if whole else sum(map(message_tokens, sent.messages))) + choice_tokens(tools)


def learn(agent: ChatAgent, sent: Prompt, usage: LLMTokenUsage) -> None:
    """Remember how far the estimate was too low, by what the provider counted."""
    if not usage.doubt and sent.estimate >= _TELLING and usage.prompt_tokens > sent.estimate * agent.record.token_scale:
        agent.record.token_scale = min(_MOST_SCALE, ceil(100 * usage.prompt_tokens / sent.estimate) / 100)


def _estimate(history: MessageHistory) -> int:
    """About how many tokens a history has; its system message, which is made anew each time, is not in its count."""
    return history.tokens() + message_tokens(history[0])


def _fitted(agent: ChatAgent, model: LanguageModel, tools: ToolChoice | None, window: ContextWindow) -> Prompt:
    history, scale = agent.history.messages, agent.record.token_scale
    exact = model.tokenizer()
    count = exact or (lambda text: ceil(estimated_tokens(text) * scale))
    fixed = choice_tokens(tools, exact) if exact else ceil(choice_tokens(tools) * scale)
    way = _WAYS[agent.config.context_overflow_strategy](with_retention(history), partial(message_tokens, count=count))
    found = fit(history, window, way, history.fitted, fixed)
    tokens = fixed + found.tokens
    if not found.fits:
        raise ContextOverflowError(_explanation(agent, model, window, tokens, fixed))
    history.fitted = found.mark
    return Prompt(
        messages=way.sent(found.mark),
        max_tokens=min(window.most, window.room(tokens)),
        estimate=0 if exact else round(tokens / scale),
    )


def _explanation(agent: ChatAgent, model: LanguageModel, window: ContextWindow, tokens: int, fixed: int) -> str:
    system = message_tokens(agent.history.messages[0], model.count_tokens)
    return (
        f"what agent {agent.config.name!r} has to send to its model {model.config.chat_model!r} has about "
        f"{tokens} tokens even shortened ({system} of them the system message, {fixed} the functions); the "
        f"context takes {window.context}, of which {window.least} are kept for the answer and {MARGIN} as a margin. "
        "Shorten the system message or the last message, enable fewer tools, limit tools' results with "
        "_max_result_tokens, lower min_output_tokens, or take a model with a longer context (chat_context_length says "
        "how long it is, where that is not known)"
    )
