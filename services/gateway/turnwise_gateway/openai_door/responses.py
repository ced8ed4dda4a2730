"""Responses, whole and as events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Literal

from pydantic import BaseModel, Field

from turnwise_gateway.http.readable_json import readable
from turnwise_gateway.openai_door.completions import CachedTokens
from turnwise_gateway.openai_door.errors import DoorFault
from turnwise_gateway.openai_door.event_stream import KEEPALIVE, event
from turnwise_gateway.openai_door.followed_run import DoorAnswer, FollowedRun, TokenSum
from turnwise_gateway.openai_door.previous_response import answer_id

_PART = {"item_id": "", "output_index": 0, "content_index": 0}
ResponseStatus = Literal["in_progress", "completed", "incomplete", "failed"]
ItemStatus = Literal["in_progress", "completed", "incomplete"]


class ReasoningTokens(BaseModel):
    """Turnwise does not count them apart."""

    reasoning_tokens: Literal[0] = 0


class ResponseUsage(BaseModel):
    """The tokens that the run used for this answer, of all its models together."""

    input_tokens: int
    input_tokens_details: CachedTokens
    output_tokens: int
    output_tokens_details: ReasoningTokens = ReasoningTokens()
    total_tokens: int

    @classmethod
    def of(cls, used: TokenSum) -> ResponseUsage:
        """The usage in OpenAI's words."""
        return cls(
            input_tokens=used.prompt,
            input_tokens_details=CachedTokens(cached_tokens=used.cached),
            output_tokens=used.completion,
            total_tokens=used.prompt + used.completion,
        )


class OutputText(BaseModel):
    """The text of an answer."""

    type: Literal["output_text"] = "output_text"
    text: str
    annotations: list[dict[str, Any]] = []
    logprobs: list[dict[str, Any]] = []


class OutputMessage(BaseModel):
    """The result of the run, or its question."""

    type: Literal["message"] = "message"
    id: str
    role: Literal["assistant"] = "assistant"
    status: ItemStatus
    content: list[OutputText]


class IncompleteDetails(BaseModel):
    """The reason for an answer that a limit of the run ended."""

    reason: Literal["max_output_tokens"] = "max_output_tokens"


class RunFailure(BaseModel):
    """The error of a run that was streamed."""

    code: str
    message: str


class DoorResponse(BaseModel):
    """The answer of a run."""

    id: str = Field(examples=["resp_01a1fb0d0c7f70008dcbee3f791e29a3_0"])
    object: Literal["response"] = "response"
    created_at: int
    status: ResponseStatus
    model: str
    output: list[OutputMessage]
    usage: ResponseUsage | None = None
    error: RunFailure | None = None
    incomplete_details: IncompleteDetails | None = None
    previous_response_id: str | None = None
    metadata: dict[str, str] = {}
    instructions: None = None
    parallel_tool_calls: bool = True
    tool_choice: Literal["auto"] = "auto"
    tools: list[dict[str, Any]] = []
    temperature: float = 1.0
    top_p: float = 1.0
    background: bool = False
    store: bool = True


class ResponseWriter:
    """A response to one request; `previous` is the id of the one that it continues."""

    def __init__(self, followed: FollowedRun, previous: str | None, metadata: dict[str, str] | None) -> None:
        self._followed = followed
        self._fixed: dict[str, Any] = {"previous_response_id": previous, "metadata": metadata or {}}
        self._id = answer_id("resp", followed)
        self._number = -1
        self._part = _PART | {"item_id": self._id.replace("resp", "msg", 1)}

    def whole(self, answer: DoorAnswer) -> dict[str, Any]:
        """The response as JSON."""
        status: Literal["incomplete", "completed"] = "incomplete" if answer.cut else "completed"
        return self._response(
            status,
            output=[self._message(status, answer.text)],
            usage=ResponseUsage.of(answer.usage),
            incomplete_details=IncompleteDetails() if answer.cut else None,
        )

    async def events(self) -> AsyncGenerator[bytes]:
        """The events of a response that is streamed."""
        begun = self._response("in_progress", output=[])
        yield self._event("response.created", response=begun)
        yield self._event("response.in_progress", response=begun)
        item = self._message("in_progress").model_dump()
        yield self._event("response.output_item.added", output_index=0, item=item)
        yield self._event("response.content_part.added", part=_text(""), **self._part)
        said = ""
        async for piece in self._followed.pieces(text=True):
            said += piece
            if piece:
                yield self._event("response.output_text.delta", delta=piece, logprobs=[], **self._part)
            else:
                yield KEEPALIVE
        outcome = self._followed.outcome
        if isinstance(outcome, DoorFault):
            failure = RunFailure(code="server_error", message=outcome.body()["error"]["message"])
            yield self._event("response.failed", response=self._response("failed", output=[], error=failure))
        elif outcome is not None:
            for made in self._last(outcome, said):
                yield made

    def _last(self, answer: DoorAnswer, said: str) -> list[bytes]:
        """The events after the text, which may show more than the answer itself."""
        whole = self.whole(DoorAnswer(text=said, cut=answer.cut, usage=answer.usage))
        return [
            self._event("response.output_text.done", text=said, logprobs=[], **self._part),
            self._event("response.content_part.done", part=_text(said), **self._part),
            self._event("response.output_item.done", output_index=0, item=whole["output"][0]),
            self._event(f"response.{whole['status']}", response=whole),
        ]

    def _message(self, status: ItemStatus, text: str | None = None) -> OutputMessage:
        content = [] if text is None else [OutputText(text=text)]
        return OutputMessage(id=str(self._part["item_id"]), status=status, content=content)

    def _response(self, status: ResponseStatus, **more: Any) -> dict[str, Any]:
        run = self._followed.run
        made = DoorResponse(
            id=self._id, created_at=int(run.created_at), status=status, model=run.task, **self._fixed, **more
        )
        found: dict[str, Any] = readable(made.model_dump())
        return found

    def _event(self, kind: str, **data: Any) -> bytes:
        self._number += 1
        return event(readable({"type": kind, "sequence_number": self._number, **data}), kind)


def _text(text: str) -> dict[str, Any]:
    return OutputText(text=text).model_dump()
