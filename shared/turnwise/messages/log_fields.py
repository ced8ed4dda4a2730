"""A message as one line of a log."""

from __future__ import annotations

from pydantic import BaseModel


class ChatDocLoggerFields(BaseModel):
    """The fields of one line of a task's log about a message; "" for those that do not apply.

    - `sender_entity`, `sender_name`, `recipient` and `block`: as in its metadata.
    - `tool_type`: OAI_TOOL for calls of an API, FUNC for one of the deprecated kind, TOOL for tools in its text or
      attached; `tool`: their names, or the first one's.
    - `content`: the text.
    """

    sender_entity: str = ""
    sender_name: str = ""
    recipient: str = ""
    block: str = ""
    tool_type: str = ""
    tool: str = ""
    content: str = ""

    @classmethod
    def tsv_header(cls) -> str:
        """The field names, separated by tabs."""
        return "\t".join(cls.model_fields)
