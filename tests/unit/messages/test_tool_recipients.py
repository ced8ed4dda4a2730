"""For whom a tool is meant."""

from __future__ import annotations

from typing import ClassVar

import pytest
from pydantic import ConfigDict

from turnwise import ToolMessage
from turnwise.messages.tool_parsing import for_agent


class Plain(ToolMessage):
    request: str = "plain"


class Addressed(Plain):
    recipient: str = ""


class Fixed(Plain):
    recipient: ClassVar[str] = "clerk"


class Anything(Plain):
    model_config = ConfigDict(extra="allow")


@pytest.mark.parametrize(
    ("tool", "for_clerk", "for_other"),
    [
        (Plain(), True, True),
        (Addressed(), True, True),
        (Addressed(recipient="clerk"), True, False),
        (Fixed(), True, False),
        (Anything(), True, True),
        (Anything(recipient="clerk"), True, False),  # type: ignore[call-arg]
        (Anything(recipient=3), True, True),  # type: ignore[call-arg]
        (Plain().model_copy(update={"recipient": "clerk"}), True, False),
        (Plain.require_recipient()(recipient="clerk"), True, False),  # type: ignore[call-arg]
    ],
)
def test_a_tool_is_for_whom_it_names_or_for_anyone(tool: ToolMessage, for_clerk: bool, for_other: bool) -> None:
    assert (for_agent(tool, "clerk"), for_agent(tool, "other")) == (for_clerk, for_other)
