"""Names of `langroid.agent.tools.recipient_tool`, made from the table by `turnwise.porting.generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnwise import AddRecipientTool, RecipientTool

__all__ = [
    "AddRecipientTool",
    "RecipientTool",
]

if not TYPE_CHECKING:
    from turnwise.porting.modules import lend

    __path__: list[str] = []
    __getattr__, __dir__ = lend(__name__)
