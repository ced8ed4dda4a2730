"""Requests to a language model and its answers, free of any provider."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cached_property
from inspect import isawaitable
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from turnwise.base.configuration import Configuration
from turnwise.base.json_bounds import as_unicode
from turnwise.errors.rate_limits import RateLimits
from turnwise.models.file_attachment import FileAttachment
from turnwise.models.model_names import ModelName
from turnwise.models.shared_fields import SharedFieldsSet
from turnwise.models.tokens.usage import LLMTokenUsage


class Role(str, Enum):
    """The speaker of a message, as chat-completion APIs name it."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    FUNCTION = "function"
    TOOL = "tool"


class StreamEventType(str, Enum):
    """The kind of a piece of a streamed answer; the old API's calls are FUNC, those of today's TOOL."""

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

    @property
    def written(self) -> str:
        """The arguments as text: JSON, or what the model wrote where that was no JSON object."""
        return self.raw if self.arguments is None and self.raw else self.arguments_json

    @property
    def arguments_json(self) -> str:
        """The arguments as a JSON object, which is empty where they were none."""
        return json.dumps(self.arguments or {})


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


def _text(content: Any) -> Any:
    return "" if content is None else content


class LLMMessage(SharedFieldsSet):
    """One message of a model's history: a value, changed by `model_copy(update=...)` and put in the old one's place.

    - `role`: who says it; `name`: the speaker's name, for APIs that take one.
    - `content`: the text, "" for none; None is taken for it.
    - `files`: what is sent with the text of a USER message: images, PDFs and others that the model takes.
    - `tool_calls`: calls that the assistant asked for; `function_call`: one of the deprecated kind.
    - `tool_call_id`: for the role TOOL, the call that the text is the result of.
    - `chat_document_id`: the `ChatDocument` that it came from, "" for none.
    - `recipient`: whom the assistant addressed, "" for no one.
    - `tainted`: that document was a human's words; a conversation that continues from here continues from such a text.
      `quoted`: it was a stranger's, such as an MCP server's.
    - `max_retained_tokens`: so many tokens of it are sent once the model has answered it, None for all.
    """

    model_config = ConfigDict(frozen=True)

    role: Role
    content: Annotated[str, BeforeValidator(_text)] = ""
    name: str | None = None
    tool_call_id: str | None = None
    tool_calls: list[OpenAIToolCall] | None = None
    function_call: LLMFunctionCall | None = None
    files: tuple[FileAttachment, ...] = ()
    # The ChatDocument this came from, where there is one.
    chat_document_id: str = ""
    recipient: str = ""
    tainted: bool = False
    quoted: bool = False
    # Once the model has answered it, so many tokens of it are sent.
    max_retained_tokens: int | None = None

    def api_dict(self, model: str = "", *, as_written: bool = False) -> dict[str, Any]:
        """The message in the form of the OpenAI chat-completions API, as `model` takes files.

        A message without text has no content beside calls, and a blank elsewhere: some servers refuse an empty one.
        Half of a surrogate pair, such as in the name of a file, is sent as a question mark: it is no text to a server.
        Arguments that are no JSON object are sent as the model wrote them with `as_written`, else as an empty object.
        Raises `ConfigurationError` for a file that cannot be sent.
        """
        content = as_unicode(self.content)
        body: dict[str, Any] = {"role": self.role.value, "content": content or " "}
        if self.files and self.role is Role.USER:
            text = [{"type": "text", "text": content}] if content else []
            body["content"] = [*text, *(file.to_dict(model) for file in self.files)]
        if self.name:
            body["name"] = as_unicode(self.name)
        if self.tool_call_id is not None:
            body["tool_call_id"] = self.tool_call_id
        if self.tool_calls:
            body["tool_calls"] = [
                {"id": call.id, "type": "function", "function": _api_function(call.function, as_written)}
                for call in self.tool_calls
            ]
            body["content"] = content or None
        if self.function_call is not None:
            body["function_call"] = _api_function(self.function_call, as_written)
            body["content"] = content or None
        return body


def _api_function(call: LLMFunctionCall | None, as_written: bool) -> dict[str, str]:
    if call is None:
        return {"name": "", "arguments": "{}"}
    return {"name": call.name, "arguments": call.written if as_written else call.arguments_json}


class LLMResponse(BaseModel):
    """The answer of a model.

    - `message`: the text, None when it sent only calls; `reasoning`: what it thought before, where it says so.
    - `oai_tool_calls`: calls that it asks for; `function_call`: one of the deprecated kind.
    - `usage`: tokens and cost of the call; `model`: the model that the server says it was; `cached`: nothing was
      called.
    - `refused`: the model, or its provider's filter, would not answer; the text says so, if there is one, or is what
      the filter had let through.
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
    rate_limits: RateLimits | None = Field(default=None, exclude=True, repr=False)

    @field_validator("usage", mode="before")
    @classmethod
    def _counted(cls, given: Any) -> Any:
        return LLMTokenUsage() if given is None else given

    def tools_content(self) -> str:
        """The calls as text, a line of JSON for each; "" if there are none."""
        if self.function_call is not None:
            return self.function_call.model_dump_json(exclude_none=True)
        return "\n".join(call.model_dump_json(exclude_none=True) for call in self.oai_tool_calls or ())

    def pieces(self) -> list[tuple[str, StreamEventType]]:
        """Reasoning and text as a stream would bring them, each in one piece."""
        parts = [(self.reasoning, StreamEventType.REASONING), (self.message or "", StreamEventType.TEXT)]
        return [(text, kind) for text, kind in parts if text]

    def to_LLMMessage(self) -> LLMMessage:
        """Return the answer as a message of the model, to continue from; an answer of calls only has no text."""
        return LLMMessage(
            role=Role.ASSISTANT,
            content=self.message or "",
            function_call=self.function_call,
            tool_calls=self.oai_tool_calls,
        )


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
    """The forms that the model's answer to one call may have, besides text.

    `tools` become `tools` of the request (or `functions`, with `legacy`); `choice` is `auto`, `none`, `required` or
    the name of the one function that must be called. A text has to be in `response_format`; only models that
    `supports_json_schema` are given one. `strict` names the tools to whose schemas the model is held.
    """

    tools: list[LLMFunctionSpec] = Field(default_factory=list)
    choice: str = "auto"
    legacy: bool = False
    strict: frozenset[str] = frozenset()
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
    - `timeout`: seconds after which a call is given up, more than 0.
    - `stream`: whether pieces of an answer are asked for as they are made. None (the default) asks for them while
      someone watches: a person at the terminal of a script, or the event stream of a served run.

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
    max_output_tokens: int = Field(default=4_096, gt=0)
    min_output_tokens: int = Field(default=500, gt=0)
    chat_context_length: int | None = Field(default=None, gt=0)
    temperature: float | None = None
    timeout: float = Field(default=120.0, gt=0)
    stream: bool | None = None

    @field_validator("chat_model", mode="wrap")
    @classmethod
    def _member_kept(cls, given: Any, validate: Callable[[Any], str]) -> str:
        """Keep a member of an enumeration, whose class names the provider, as a plain text would not."""
        return given if isinstance(given, ModelName) else validate(given)


# Called with each piece of an answer as it arrives, and what it belongs to.
TokenSink = Callable[[str, StreamEventType], Any]


async def pass_on(sink: TokenSink, text: str, kind: StreamEventType) -> None:
    """Give a piece to a sink that may be asynchronous."""
    waiting = sink(text, kind)
    if isawaitable(waiting):
        await waiting
