"""Chat completions, whole and as chunks."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Literal

from pydantic import BaseModel, Field

from turnwise_gateway.http.readable_json import readable
from turnwise_gateway.openai_door.errors import DoorFault
from turnwise_gateway.openai_door.event_stream import DONE, KEEPALIVE, event
from turnwise_gateway.openai_door.followed_run import DoorAnswer, FollowedRun, TokenSum
from turnwise_gateway.openai_door.previous_response import answer_id


class CachedTokens(BaseModel):
    """The part of the prompts that a provider had in its cache."""

    cached_tokens: int


class CompletionUsage(BaseModel):
    """The tokens that the run used for this answer, of all its models together."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: CachedTokens

    @classmethod
    def of(cls, used: TokenSum) -> CompletionUsage:
        """The usage in OpenAI's words."""
        return cls(
            prompt_tokens=used.prompt,
            completion_tokens=used.completion,
            total_tokens=used.prompt + used.completion,
            prompt_tokens_details=CachedTokens(cached_tokens=used.cached),
        )


class CompletionMessage(BaseModel):
    """The result of the run, or its question."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class CompletionChoice(BaseModel):
    """The only choice."""

    index: Literal[0] = 0
    message: CompletionMessage
    logprobs: None = None
    finish_reason: Literal["stop", "length"] = Field(description="length: a limit of the run was reached.")


class ChatCompletion(BaseModel):
    """The answer of a run."""

    id: str = Field(examples=["chatcmpl_01a1fb0d0c7f70008dcbee3f791e29a3_0"])
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: CompletionUsage


def completion(followed: FollowedRun, answer: DoorAnswer) -> dict[str, Any]:
    """A completion as JSON."""
    made = ChatCompletion(
        **_head(followed),
        choices=[CompletionChoice(message=CompletionMessage(content=answer.text), finish_reason=_reason(answer))],
        usage=CompletionUsage.of(answer.usage),
    )
    found: dict[str, Any] = readable(made.model_dump())
    return found


async def chunks(followed: FollowedRun, *, include_usage: bool) -> AsyncGenerator[bytes]:
    """The events of a completion that is streamed."""
    yield _chunk(followed, {"role": "assistant", "content": ""}, include_usage=include_usage)
    async for piece in followed.pieces(text=True):
        yield _chunk(followed, {"content": piece}, include_usage=include_usage) if piece else KEEPALIVE
    outcome = followed.outcome
    if isinstance(outcome, DoorFault):
        yield event(outcome.body())
    elif outcome is not None:
        yield _chunk(followed, {}, reason=_reason(outcome), include_usage=include_usage)
        if include_usage:
            usage = CompletionUsage.of(outcome.usage).model_dump()
            yield event(_head(followed) | {"object": "chat.completion.chunk", "choices": [], "usage": usage})
        yield DONE


def _chunk(followed: FollowedRun, delta: dict[str, str], *, include_usage: bool, reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    made = _head(followed) | {"object": "chat.completion.chunk", "choices": [choice]}
    return event(readable(made | {"usage": None} if include_usage else made))


def _head(followed: FollowedRun) -> dict[str, Any]:
    run = followed.run
    return {"id": answer_id("chatcmpl", followed), "created": int(run.created_at), "model": run.task}


def _reason(answer: DoorAnswer) -> Literal["stop", "length"]:
    return "length" if answer.cut else "stop"
