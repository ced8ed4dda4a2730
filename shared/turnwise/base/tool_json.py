"""The names in the JSON of a tool that are no fields of its class, or no arguments to be shown."""

from __future__ import annotations

# Written beside a tool's fields, to find its class again and what JSON cannot hold.
MARKS = frozenset({"$tool", "$agent", "$text", "$fields"})
# What says how a tool works, and not what is meant this time.
NOT_ARGUMENTS = frozenset({"$tool", "$agent", "$text", "request", "purpose", "id"})
