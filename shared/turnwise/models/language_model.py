"""The client of a language model: what agents and programs ask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, ClassVar

from turnwise.base.sync_async import Callout
from turnwise.models.base import UNLIMITED_CONTEXT, LLMConfig, LLMMessage, LLMResponse, TokenSink, ToolChoice
from turnwise.models.limits.provider import Target
from turnwise.models.tokens.estimate import estimated_tokens
from turnwise.models.tokens.usage import LLMTokenUsage
from turnwise.models.tokens.usage_totals import process_totals


class LanguageModel(ABC):
    """A client of one model. What a call used is in its response; the client keeps no count of its own.

    A program may write a class of its own, and give an instance to an agent: `agent.llm = MyModel(config)`, in a
    factory of a served application, too. Its `chat` and `achat` take their arguments in one of two forms:

    - `chat(messages, max_tokens, tools, tool_choice, functions, function_call, response_format)`: those that do not
      apply are not given. `tools` is a list of `OpenAIToolSpec`, `functions` one of `LLMFunctionSpec`, and
      `response_format` an `OpenAIJsonSchemaSpec`.
    - `chat(messages, max_tokens, tools, on_token)`, recognized by `on_token`: the class streams. `tools` is a
      `ToolChoice` or None; `on_token`, where given, is called with each piece of the answer and a `StreamEventType`.
      That of `achat` may return something to await.

    Responses without a usage are counted by what clients of Turnwise used that the class called, else by the length of
    the texts. What such clients use is not counted beside the response. An override of `chat_cost` gives a price.
    """

    # The settings whose own `client()` method made this client, if one did.
    made_by: LLMConfig | None = None

    # Whether calls by hand reserve and count what they use; the clients of Turnwise do.
    counts_calls: ClassVar[bool] = False

    def __init__(self, config: LLMConfig | None = None) -> None:
        self.config = config if config is not None else LLMConfig()

    @abstractmethod
    def chat(self, messages: Any, *args: Any, **more: Any) -> LLMResponse:
        """Answer a conversation, a list of `LLMMessage`, in at most `max_tokens` tokens; raises `ModelError`."""

    @abstractmethod
    async def achat(self, messages: Any, *args: Any, **more: Any) -> LLMResponse:
        """The same as `chat`, without blocking the event loop."""

    def generate(self, prompt: str, max_tokens: int = 200) -> LLMResponse:
        """Answer a text; a conversation of that text alone. Raises `ModelError`."""
        return self.chat(prompt, max_tokens)

    async def agenerate(self, prompt: str, max_tokens: int = 200) -> LLMResponse:
        """The same as `generate`, without blocking the event loop."""
        return await self.achat(prompt, max_tokens)

    def __call__(self, prompt: str, max_tokens: int) -> LLMResponse:
        return self.generate(prompt, max_tokens)

    def answering(
        self, messages: Sequence[LLMMessage], max_tokens: int, tools: ToolChoice | None, on_token: TokenSink | None
    ) -> Callout | None:
        """Return the call of an agent's that needs neither `chat` nor `achat`, None where the class has its own."""
        return None

    def get_stream(self) -> bool:
        """Return whether answers are streamed in any case, also without a watcher."""
        return bool(self.config.stream)

    def set_stream(self, stream: bool) -> bool:
        """Ask for pieces of answers from now on, or for whole answers; returns how it was before."""
        before = self.get_stream()
        self.config = self.config.model_copy(update={"stream": stream})
        return before

    @staticmethod
    def usage_cost_summary() -> str:
        """A line for each model that was called in this process: its name, tokens, cost and calls."""
        return "".join(f"{model}: {usage}\n" for model, usage in process_totals.by_model().items())

    @staticmethod
    def tot_tokens_cost() -> tuple[int, float]:
        """Tokens and USD of all models that were called in this process; what has no known price costs 0 here.

        For programs to show. What a served run used is on its record, whatever process made the calls.
        """
        return process_totals.total()

    def reset_usage_cost(self) -> None:
        """Let the totals of this process count this model from zero; limits of runs are not affected."""
        process_totals.reset(self.config.chat_model)

    def update_usage_cost(self, chat: bool, prompts: int, completions: int, cost: float) -> None:
        """Add a call to the totals of this process, for one that no agent made; `cost` is in USD.

        `chat` plays no part. Calls of agents, and of the clients of Turnwise, are in them already.
        """
        usage = LLMTokenUsage(prompt_tokens=prompts, completion_tokens=completions, cost=Decimal(str(cost)), calls=1)
        process_totals.add(self.config.chat_model, usage)

    def chat_cost(self) -> tuple[float, float, float]:
        """USD for 1000 tokens of input, of cached input and of output; 0 where no price is known."""
        thousand = (
            LLMTokenUsage(prompt_tokens=1000),
            LLMTokenUsage(prompt_tokens=1000, cached_tokens=1000),
            LLMTokenUsage(completion_tokens=1000),
        )
        into, cached, out = (float(self.price(usage) or 0) for usage in thousand)
        return into, cached, out

    @property
    def supports_json_schema(self) -> bool:
        """Return whether the server can enforce a `ResponseFormat`."""
        return False

    def close(self) -> None:  # noqa: B027 - a client without connections has nothing to do
        """Give back connections; the client may not be used afterwards."""

    def target(self) -> Target | None:
        """Return whose limits its calls count against; None where no one counts them."""
        return None

    def price(self, usage: LLMTokenUsage) -> Decimal | None:
        """USD that `usage` costs (its own `cost` is not read), or None where no price is known."""
        if type(self).chat_cost is LanguageModel.chat_cost:
            return None
        into, cached, out = (Decimal(str(price)) / 1000 for price in self.chat_cost())
        fresh = usage.prompt_tokens - usage.cached_tokens
        return into * fresh + cached * usage.cached_tokens + out * usage.completion_tokens

    def most_usage(self, prompt_tokens: int, max_tokens: int) -> LLMTokenUsage:
        """Return what a call may use, with a prompt of about so many tokens and an answer as long as it may be."""
        usage = LLMTokenUsage(prompt_tokens=prompt_tokens, completion_tokens=max_tokens, calls=1)
        return usage.model_copy(update={"cost": self.price(usage)})

    def chat_context_length(self) -> int:
        """Tokens that prompt and answer may have together; `UNLIMITED_CONTEXT` where no limit is known."""
        return self.config.chat_context_length or UNLIMITED_CONTEXT

    def tokenizer(self) -> Callable[[str], int] | None:
        """Return what counts the tokens of a text exactly, or None where only an estimate is available."""
        return None

    def count_tokens(self, text: str) -> int:
        """The tokens in `text`, by the tokenizer where there is one, else an estimate."""
        return (self.tokenizer() or estimated_tokens)(text)
