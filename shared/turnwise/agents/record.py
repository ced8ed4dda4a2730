"""What lasts of an agent between two turns, besides its history."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from turnwise.llm.base import OpenAIToolCall


class KeptMessage(BaseModel):
    """A model's message that waits for its recipient."""

    content: str
    tainted: bool = False


class AgentRecord(BaseModel):
    """The framework's own memory of an agent; small, and JSON between turns of a served run.

    `tools` lists the names in the three sets where they differ from what the agent began with. `system_message` and
    `user_message` override the configuration's. `fitted` is that of the history, kept here between turns.
    """

    system_message: str | None = None
    user_message: str | None = None
    open_calls: list[OpenAIToolCall] = Field(default_factory=list)
    forced_tool: str | None = None
    kept_message: KeptMessage | None = None
    tools: dict[str, list[str]] | None = None
    fitted: int = 0

    def dump(self) -> dict[str, Any]:
        """What differs from a fresh record, as JSON-able data."""
        return self.model_dump(mode="json", exclude_defaults=True)
