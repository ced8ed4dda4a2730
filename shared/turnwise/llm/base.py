"""What a language model is asked and what it answers, free of any provider."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from functools import cached_property
from inspect import isawaitable
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from turnwise.configuration import Configuration
from turnwise.llm.shared_fields import SharedFieldsSet
from turnwise.llm.tokens import estimated_tokens
from turnwise.provider_limits.announcement import RateLimits
from turnwise.provider_limits.provider import Target


class Role(str, Enum):
    """The speaker of a message, as chat-completion APIs name it."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    FUNCTION = "function"
    TOOL = "tool"


class StreamEventType(str, Enum):
    """What a piece of a streamed answer belongs to; the old API's calls are FUNC, those of today's TOOL."""

    TEXT = "text"
    REASONING = "reasoning"
    FUNC_NAME = "func_name"
    FUNC_ARGS = "func_args"
    TOOL_NAME = "tool_name"
    TOOL_ARGS = "tool_args"


class LLMFunctionCall(BaseModel):
    """A call that a model asks for.

    `name` is the function's, `arguments` are already parsed. If they were not a JSON object, they are None, and `raw`
    is their text.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    arguments: dict[str, Any] | None = None
    raw: str | None = None


class OpenAIToolCall(BaseModel):
    """One entry of an assistant message's `tool_calls`.

    `id` is what its result has to name; `type` is "function", the only one there is; `function` is the call itself.
    """

    model_config = ConfigDict(frozen=True)

    id: str | None = None
    type: str = "function"
    function: LLMFunctionCall | None = None


class LLMFunctionSpec(BaseModel):
    """A function as the model is told of it.

    `name` is what it calls, `description` says what for, and `parameters` is the JSON schema of an object.
    """

    name: str
    description: str
    parameters: dict[str, Any]

    @cached_property
    def as_json(self) -> str:
        """The whole as text; written once."""
        return self.model_dump_json()


class LLMTokenUsage(BaseModel):
    """Tokens and money of one or more calls of models.

    - `prompt_tokens`: what was sent, `cached_tokens` among them: those that the provider had seen before.
    - `completion_tokens`: what was answered, reasoning included.
    - `cost`: in USD; None when a call had no known price (never 0).
    - `calls`: how many calls these are.
    - `doubt`: why the provider's own count was not taken, "" where it was; the most that the call could use was.
    """

    model_config = ConfigDict(frozen=True)

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: Decimal | None = Decimal(0)
    calls: int = 0
    doubt: str = ""

    @property
    def total_tokens(self) -> int:
        """What counts toward a limit of tokens: prompt, cached or not, and completion."""
        return self.prompt_tokens + self.completion_tokens

    def plus(self, other: LLMTokenUsage) -> LLMTokenUsage:
        """The sum; its cost is unknown if either is."""
        unknown = self.cost is None or other.cost is None
        return LLMTokenUsage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost=None if unknown else (self.cost or Decimal(0)) + (other.cost or Decimal(0)),
            calls=self.calls + other.calls,
            doubt=self.doubt or other.doubt,
        )

    def minus(self, earlier: LLMTokenUsage) -> LLMTokenUsage:
        """What was used since `earlier`; its cost is unknown if either is."""
        unknown = self.cost is None or earlier.cost is None
        return LLMTokenUsage(
            prompt_tokens=self.prompt_tokens - earlier.prompt_tokens,
            cached_tokens=self.cached_tokens - earlier.cached_tokens,
            completion_tokens=self.completion_tokens - earlier.completion_tokens,
            cost=None if unknown else (self.cost or Decimal(0)) - (earlier.cost or Decimal(0)),
            calls=self.calls - earlier.calls,
        )


class LLMMessage(SharedFieldsSet):
    """One message of a model's history: a value, changed by `model_copy(update=...)` and put in the old one's place.

    - `role`: who says it; `content`: the text, "" for none; `name`: the speaker's name, for APIs that take one.
    - `tool_calls`: calls that the assistant asked for; `function_call`: one of the deprecated kind.
    - `tool_call_id`: for the role TOOL, the call that the text is the result of.
    - `chat_document_id`: the `ChatDocument` that it came from, "" for none.
    - `tainted`: that document was a human's words; a conversation that goes on from here goes on from such a text.
    - `max_retained_tokens`: so many tokens of it are sent once the model has answered it, None for all.
    """

    model_config = ConfigDict(frozen=True)

    role: Role
    content: str = ""
    name: str | None = None
    tool_call_id: str | None = None
    tool_calls: list[OpenAIToolCall] | None = None
    function_call: LLMFunctionCall | None = None
    # The ChatDocument this came from, where there is one.
    chat_document_id: str = ""
    tainted: bool = False
    # Once the model has answered it, so many tokens of it are sent.
    max_retained_tokens: int | None = None

    def api_dict(self) -> dict[str, Any]:
        """The message in the form of the OpenAI chat-completions API.

        A message without text has no content beside calls, and a blank elsewhere: some servers refuse an empty one.
        """
        body: dict[str, Any] = {"role": self.role.value, "content": self.content or " "}
        if self.name:
            body["name"] = self.name
        if self.tool_call_id is not None:
            body["tool_call_id"] = self.tool_call_id
        if self.tool_calls:
            body["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {
                        "name": call.function.name if call.function else "",
                        "arguments": json.dumps((call.function.arguments or {}) if call.function else {}),
                    },
                }
                for call in self.tool_calls
            ]
            body["content"] = self.content or None
        if self.function_call is not None:
            body["function_call"] = {
                "name": self.function_call.name,
                "arguments": json.dumps(self.function_call.arguments or {}),
            }
            body["content"] = self.content or None
        return body


class LLMResponse(BaseModel):
    """What a model answered.

    - `message`: the text, None when it sent only calls; `reasoning`: what it thought before, where it says so.
    - `oai_tool_calls`: calls that it asks for; `function_call`: one of the deprecated kind.
    - `usage`: tokens and cost of the call; `model`: the model that the server says it was; `cached`: nothing was
      called.
    - `refused`: the model, or its provider's filter, would not answer; the text says so, if there is one.
    - `rate_limits`: what the provider announced of its limits, None where it announces nothing.
    """

    message: str | None = None
    reasoning: str = ""
    oai_tool_calls: list[OpenAIToolCall] | None = None
    function_call: LLMFunctionCall | None = None
    usage: LLMTokenUsage = Field(default_factory=LLMTokenUsage)
    model: str = ""
    cached: bool = False
    refused: bool = False
    rate_limits: RateLimits | None = Field(None, exclude=True, repr=False)

    def pieces(self) -> list[tuple[str, StreamEventType]]:
        """Reasoning and text as a stream would bring them, each in one piece."""
        parts = [(self.reasoning, StreamEventType.REASONING), (self.message or "", StreamEventType.TEXT)]
        return [(text, kind) for text, kind in parts if text]


class ResponseFormat(BaseModel):
    """The JSON that an answer has to be; `strict` holds the model to every word of a schema that allows it."""

    model_config = ConfigDict(frozen=True)

    name: str
    description: str = ""
    json_schema: dict[str, Any]
    strict: bool = True

    @cached_property
    def as_json(self) -> str:
        """The whole as text; written once."""
        return self.model_dump_json()


class ToolChoice(BaseModel):
    """What the model is told that its answer to one call may be, besides text.

    `tools` become `tools` of the request (or `functions`, with `legacy`); `choice` is `auto`, `none`, `required` or
    the name of the one function that must be called. A text has to be in `response_format`; only models that
    `supports_json_schema` are given one.
    """

    tools: list[LLMFunctionSpec] = Field(default_factory=list)
    choice: str = "auto"
    legacy: bool = False
    response_format: ResponseFormat | None = None


# The context of a model that has no limit, or none that is known: nothing is counted or shortened for it.
UNLIMITED_CONTEXT = 1_000_000_000


class LLMConfig(Configuration):
    """Settings that every model client understands.

    - `type`: which client, "openai" or "mock"; `chat_model`: the model's name, as its server knows it.
    - `max_output_tokens`: bounds an answer. Where the context is nearly full, it is asked to be shorter, but not
      shorter than `min_output_tokens`.
    - `chat_context_length`: the length of the model's context in tokens, prompt and answer together; None for what is
      known of the model, and no limit where nothing is.
    - `temperature`: how much the model may vary its words; None leaves that to the server.
    - `timeout`: seconds after which a call is given up.
    - `stream`: whether pieces of an answer are asked for as they are made.

    Raises `ConfigurationError` for a setting that does not exist.
    """

    _instead: ClassVar[Mapping[str, str]] = {
        "cache_config": "answers of models are not kept",
        "completion_context_length": "models are asked by chat; give 'chat_context_length'",
        "completion_model": "models are asked by chat; give 'chat_model'",
        "streamer": "pieces of an answer are told to the agent's callbacks, see `Callbacks.start_llm_stream`",
        "use_chat_for_completion": "models are always asked by chat",
    }

    type: str = "openai"
    chat_model: str = ""
    max_output_tokens: int = Field(4_096, gt=0)
    min_output_tokens: int = Field(500, gt=0)
    chat_context_length: int | None = Field(None, gt=0)
    temperature: float | None = None
    timeout: float = 120.0
    stream: bool = False


# Called with each piece of an answer as it arrives, and what it belongs to.
TokenSink = Callable[[str, StreamEventType], Any]


async def pass_on(sink: TokenSink, text: str, kind: StreamEventType) -> None:
    """Give a piece to a sink that may be asynchronous."""
    waiting = sink(text, kind)
    if isawaitable(waiting):
        await waiting


class LanguageModel(ABC):
    """A client of one model. Stateless but for connections: usage is returned, never kept here."""

    def __init__(self, config: LLMConfig) -> None:
        self.config = config

    @abstractmethod
    def chat(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None = None,
        on_token: TokenSink | None = None,
    ) -> LLMResponse:
        """Answer the conversation in at most `max_tokens` tokens; raises `ModelError`.

        `tools` are what the answer may be besides text. `on_token`, where given, is called with each piece of the
        answer as it arrives, and what it belongs to.
        """

    @abstractmethod
    async def achat(
        self,
        messages: Sequence[LLMMessage],
        max_tokens: int,
        tools: ToolChoice | None = None,
        on_token: TokenSink | None = None,
    ) -> LLMResponse:
        """The same as `chat`, without blocking the event loop; `on_token` may return something to await."""

    @property
    def supports_json_schema(self) -> bool:
        """Whether the model can be held to a `ResponseFormat`."""
        return False

    def close(self) -> None:  # noqa: B027 - a client without connections has nothing to do
        """Give back connections; the client may not be used afterwards."""

    def target(self) -> Target | None:
        """Whose limits its calls count against; None where nobody counts them."""
        return None

    def price(self, usage: LLMTokenUsage) -> Decimal | None:
        """USD that `usage` costs (its own `cost` is not read), or None where no price is known."""
        return None

    def most_usage(self, prompt_tokens: int, max_tokens: int) -> LLMTokenUsage:
        """What a call may use, with a prompt of about so many tokens and an answer as long as it may be."""
        usage = LLMTokenUsage(prompt_tokens=prompt_tokens, completion_tokens=max_tokens, calls=1)
        return usage.model_copy(update={"cost": self.price(usage)})

    def chat_context_length(self) -> int:
        """Tokens that prompt and answer may have together; `UNLIMITED_CONTEXT` where no limit is known."""
        return self.config.chat_context_length or UNLIMITED_CONTEXT

    def tokenizer(self) -> Callable[[str], int] | None:
        """What counts the tokens of a text exactly, or None where only an estimate can be had."""
        return None

    def count_tokens(self, text: str) -> int:
        """The tokens in `text`, by the tokenizer where there is one, else an estimate."""
        return (self.tokenizer() or estimated_tokens)(text)
