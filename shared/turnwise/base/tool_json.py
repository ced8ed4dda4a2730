"""The names in the JSON of a tool that are no fields of its class, or no arguments to be shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Written beside a tool's fields, to find its class again and what JSON cannot hold.
MARKS = frozenset({"$tool", "$agent", "$text", "$fields"})
# Marks, and fields that describe the tool itself: not the arguments of a call.
NOT_ARGUMENTS = MARKS | {"request", "purpose", "id"}


def arguments_of(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call, of the JSON of its tool, which may be what a model has written."""
    beside = tool.get("$fields")
    arguments = {name: value for name, value in tool.items() if name not in NOT_ARGUMENTS}
    return arguments | (dict(beside) if isinstance(beside, Mapping) else {})
