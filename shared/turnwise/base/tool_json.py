"""The names in the JSON of a tool that are no fields of its class, or no arguments to be shown."""

from __future__ import annotations

# Written beside a tool's fields, to find its class again and what JSON cannot hold.
MARKS = frozenset({"$tool", "$agent", "$text", "$fields"})
# Marks, and fields that describe the tool itself: not the arguments of a call.
NOT_ARGUMENTS = frozenset({"$tool", "$agent", "$text", "request", "purpose", "id"})
