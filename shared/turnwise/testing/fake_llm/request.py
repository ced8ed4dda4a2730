"""The requests to the scripted model."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class ChatRequest(BaseModel):
    """The body of `POST /v1/chat/completions`, as far as the fake reads it; unknown fields are kept."""

    model_config = ConfigDict(extra="allow")

    model: str
    messages: list[dict[str, Any]] = Field(min_length=1)
    tools: list[dict[str, Any]] | None = None
    functions: list[dict[str, Any]] | None = None
    response_format: dict[str, Any] | None = None
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    max_tokens: int | None = Field(None, gt=0)
    max_completion_tokens: int | None = Field(None, gt=0)

    @property
    def last(self) -> str:
        """Text of the last message."""
        return text_of(self.messages[-1])

    @property
    def role(self) -> str:
        """Role of the last message."""
        return str(self.messages[-1].get("role", ""))

    @property
    def system(self) -> str:
        """Text of all system messages."""
        return "\n".join(
            text_of(message) for message in self.messages if message.get("role") in ("system", "developer")
        )

    @property
    def tool_names(self) -> list[str]:
        """Names of the tools and functions that the model may call."""
        tools = [tool.get("function") or {} for tool in self.tools or ()]
        return [str(function.get("name", "")) for function in [*tools, *(self.functions or ())]]

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """The JSON schema that the answer has to follow."""
        wanted = (self.response_format or {}).get("json_schema") or {}
        return wanted.get("schema")

    @property
    def output_limit(self) -> int | None:
        """Greatest number of tokens to answer with."""
        return self.max_completion_tokens or self.max_tokens

    @cached_property
    def digest(self) -> str:
        """Sixteen hex digits that are the same for the same model and messages."""
        text = json.dumps([self.model, self.messages], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def text_of(message: dict[str, Any]) -> str:
    """The text of a message, whether its content is a string or a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
