"""The state of an agent that lasts between two turns, besides its history."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from turnwise.messages.handling_agent import KeptMessage
from turnwise.models.base import OpenAIToolCall


class FormatRecord(BaseModel):
    """A format of answers that was set after the agent was made; see `OutputFormat`.

    `kind` is the class as module:qualified.name, `tool` its name if it is a tool; both are "" for no format. With
    `of_factory` the class is that of the format that the factory set, which need have no name; the rest differs.
    """

    kind: str = ""
    tool: str = ""
    instructions: bool = True
    force_tools: bool = True
    defaults: bool = True
    usable: bool = False
    handled: bool = False
    of_factory: bool = False


class AgentMemory(BaseModel):
    """The framework's own memory of an agent; small, and JSON between turns of a served run.

    `tools` lists the names in the three sets where they differ from what the agent began with. `system_message` and
    `user_message` override the configuration's; `output_format` is None where that of the factory holds. `mending` is
    the tool whose fields were wrong in the model's last answer. `fitted` is that of the history, kept here between
    turns. `token_scale` is how many tokens the provider has counted for one of the estimate, where that was more.
    `attributes` are those of the agent's that the program has changed since the factory made it, by name, and `tasks`
    those of tasks over the agent, by path; `settings` are the fields of its configuration that were changed. All as
    `turnwise.agents.attributes` writes them.
    """

    system_message: str | None = None
    user_message: str | None = None
    open_calls: list[OpenAIToolCall] = Field(default_factory=list)
    forced_tool: str | None = None
    kept_message: KeptMessage | None = None
    tools: dict[str, list[str]] | None = None
    output_format: FormatRecord | None = None
    mending: str = ""
    fitted: int = 0
    token_scale: float = 1.0
    attributes: dict[str, Any] | None = None
    tasks: dict[str, dict[str, Any]] | None = None
    settings: dict[str, Any] | None = None

    def dump(self) -> dict[str, Any]:
        """Return what differs from a fresh record, as JSON-able data."""
        if vars(self) == _FRESH:  # as of most agents after most turns
            return {}
        return self.model_dump(mode="json", exclude_defaults=True)


_FRESH = dict(vars(AgentMemory()))
