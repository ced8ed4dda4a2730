"""Everything about a message but what it says."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from turnwise.base.ids import new_id
from turnwise.messages.entity import Entity, StatusCode
from turnwise.models.shared_fields import SharedFieldsSet
from turnwise.models.tokens.usage import LLMTokenUsage


def document_id() -> str:
    """Return a fresh id of a document."""
    return new_id("doc")


class ChatDocMetaData(SharedFieldsSet):
    """Everything about a message but what it says.

    - `id`: identifies the message, in every process. `parent_id` is the message that it answers, `child_id` the one
      that answered it, `agent_id` the agent that made it; "" where there is none.
    - `msg_idx`: its index in the history of the agent whose model said it, -1 for others.
    - `sender`: the entity that speaks; `sender_name`: the task or function behind it; `source`: where the text came
      from at first, if that was someone else.
    - `recipient`: the entity or task that may answer, "" for anyone; `block`: an entity that may not, None for none.
    - `tool_ids`: ids handed on from message to message, for programs; nothing reads them.
    - `oai_tool_id`: the API call that the text answers, None for none.
    - `usage`: tokens and cost of the model call that made it, None for what no model said; `cached`: no call was
      needed.
    - `status`: how the task ended, on the result of a task.
    - `tainted`: the text goes back to a human or to the outside, and `tools_from_agent`: tools in it were put there by
      a model or a handler, not typed; `quoted`: the text is that of a stranger, such as an MCP server, and no tool is
      looked for in it; see `Trust` in the docs.
    - `takes_back`: ids of the messages that a rewind undid with this one, which sub-tasks forget.
    - `max_retained_tokens`: of a tool's result, how many tokens a model's history keeps once it was answered; None for
      all.
    """

    model_config = ConfigDict(validate_default=False)

    id: str = Field(default_factory=document_id)
    parent_id: str = ""
    child_id: str = ""
    agent_id: str = ""
    msg_idx: int = -1
    sender: Entity = Entity.USER
    sender_name: str = ""
    recipient: str = ""
    block: Entity | None = None
    tool_ids: list[str] = Field(default_factory=list)
    oai_tool_id: str | None = None
    usage: LLMTokenUsage | None = None
    cached: bool = False
    status: StatusCode | None = None
    tainted: bool = False
    tools_from_agent: bool = False
    quoted: bool = False
    max_retained_tokens: int | None = None
    takes_back: tuple[str, ...] = ()
    source: Entity | str = ""
