"""The body of `POST /v1/responses`."""

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
    NoTokenLimit,
    NoTools,
    OneText,
    Only,
    Own,
    form_of,
)

_TEXT = "an item of the conversation is a message of text; the task makes its calls itself"
_PAST = "name the conversation with previous_response_id, or with metadata.session_id"
Roles = Literal["system", "developer", "user", "assistant"]


class ResponseTextPart(Body):
    """A part of a message; only text. The fields of an answer, which clients send back, are taken."""

    type: Annotated[str, Only(("input_text", "output_text", "text"), "a message is text")]
    text: str
    annotations: Annotated[Any, Only(([],), "a message is text")] = None
    logprobs: Annotated[Any, Only(([],), "a message is text")] = None


ResponseContent = Annotated[
    Annotated[str, Tag(AS_TEXT)] | Annotated[list[ResponseTextPart], Tag(AS_LIST)], Discriminator(form_of)
]


class ResponseInputMessage(Body):
    """A message of the conversation."""

    type: Annotated[str, Only(("message",), _TEXT)] = "message"
    role: Annotated[Roles, Field(description="`system` and `developer` reach the model as the user's.")]
    content: ResponseContent
    id: str | None = Field(None, max_length=200, description="Of an answer that is sent back; without effect.")
    status: Literal["in_progress", "completed", "incomplete"] | None = None
    phase: Literal["commentary", "final_answer"] | None = None

    def given(self) -> GivenMessage:
        """The message as a run's history has it."""
        content = self.content if isinstance(self.content, str) else joined(part.text for part in self.content)
        return GivenMessage("assistant" if self.role == "assistant" else "user", content)


ResponseInput = Annotated[
    Annotated[str, Tag(AS_TEXT)] | Annotated[list[ResponseInputMessage], Tag(AS_LIST)], Discriminator(form_of)
]


class ResponseParameters(CommonParameters):
    """A response to be made; a text is a message of the user."""

    input: ResponseInput = Field(examples=["I was charged twice for May."])
    previous_response_id: str | None = Field(
        None, max_length=200, description="The run of that response is continued, or answered if it asked something."
    )
    instructions: Annotated[Any, Only(("",), "the task has instructions of its own; send yours as a message")] = None
    background: Annotated[Any, Only((False,), "submit a run to be fetched later with POST /v1/runs")] = None
    conversation: Annotated[Any, Only((), _PAST)] = None
    include: Annotated[Any, Only(([],), "a response has its text and its usage")] = None
    text: Annotated[Any, Only(({"format": {"type": "text"}}, {}), "the task decides on the form of its answer")] = None
    reasoning: Annotated[Any, Only(({},), "the task's own models are called as it has configured them")] = None
    truncation: Annotated[Any, Only(("auto", "disabled"), "the task's agents fit what they send")] = None
    max_output_tokens: NoTokenLimit = None
    max_tool_calls: NoTools = None
    prompt: Own = None
    image: OneText = None
    context_management: Own = None
    access_programs: Own = None

    def conversation_given(self) -> GivenConversation:
        """The message to be answered, and what was said before it; raises `InvalidRequestError`."""
        if isinstance(self.input, str):
            return conversation_of([GivenMessage("user", self.input)], "input")
        return conversation_of([message.given() for message in self.input], "input")
