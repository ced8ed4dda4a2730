"""The body of `POST /v1/chat/completions`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from turnwise.api.body import Body
from turnwise.messages.given_history import GivenMessage
from turnwise_gateway.openai_door.conversation import GivenConversation, conversation_of, joined
from turnwise_gateway.openai_door.parameters import (
    AS_LIST,
    AS_TEXT,
    CommonParameters,
    Format,
    NoChoice,
    NoTokenLimit,
    NoTools,
    OneText,
    Only,
    Own,
    Zero,
    form_of,
)

_NO_CALLS = "a message of the conversation is text; the task makes its calls itself"
Roles = Literal["system", "developer", "user", "assistant"]


class ChatTextPart(Body):
    """A part of a message; only text."""

    type: Annotated[str, Only(("text",), "a message is text")]
    text: str


ChatContent = Annotated[
    Annotated[str, Tag(AS_TEXT)] | Annotated[list[ChatTextPart], Tag(AS_LIST)], Discriminator(form_of)
]


class ChatMessage(Body):
    """A message of the conversation; the empty fields of a model's message, which clients send back, are taken."""

    role: Annotated[Roles, Field(description="`system` and `developer` reach the model as the user's.")]
    content: ChatContent | None = None
    name: Annotated[Any, Only((), "the task has one user")] = None
    tool_calls: Annotated[Any, Only(([],), _NO_CALLS)] = None
    function_call: Annotated[Any, Only((), _NO_CALLS)] = None
    refusal: Annotated[Any, Only((), "a refusal is the text of a message")] = None
    annotations: Annotated[Any, Only(([],), "a message of the conversation is text")] = None
    audio: Annotated[Any, Only((), "a message of the conversation is text")] = None

    def given(self) -> GivenMessage:
        """The message as a run's history has it."""
        content = self.content if isinstance(self.content, str) else joined(part.text for part in self.content or ())
        return GivenMessage("assistant" if self.role == "assistant" else "user", content)


class ChatParameters(CommonParameters):
    """A completion to be made; the last message has to be the user's."""

    messages: list[ChatMessage] = Field(min_length=1, max_length=2_000)
    n: Annotated[Any, Only((1,), "a run gives one answer")] = None
    presence_penalty: Zero = None
    frequency_penalty: Zero = None
    seed: Own = None
    stop: Annotated[Any, Only(([],), "a task says itself when it is done")] = None
    logit_bias: Annotated[Any, Only(({},), "the task's own models have their settings")] = None
    logprobs: Annotated[Any, Only((False,), "an answer may be made of many models' answers")] = None
    max_tokens: NoTokenLimit = None
    max_completion_tokens: NoTokenLimit = None
    functions: NoTools = None
    function_call: NoChoice = None
    response_format: Format = None
    modalities: Annotated[Any, Only((["text"],), "the answer is one text")] = None
    audio: OneText = None
    prediction: Own = None
    reasoning_effort: Own = None
    verbosity: Own = None
    web_search_options: NoTools = None

    def conversation(self) -> GivenConversation:
        """The message to be answered, and what was said before it; raises `InvalidRequestError`."""
        return conversation_of([message.given() for message in self.messages], "messages")
