"""A log as tab-separated values, for scripts and spreadsheets."""

from __future__ import annotations

from turnwise.base.money import decimal_string
from turnwise.base.text import tsv_field, visible
from turnwise.messages.log_fields import ChatDocLoggerFields
from turnwise.transcripts.entry import Entry, RunTitle

COLUMNS = (
    "mark",
    "task",
    "responder",
    *ChatDocLoggerFields.model_fields,
    "kind",
    "turn",
    "number",
    "parent",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "cost",
    "at",
)


class Tsv:
    """One row per entry under a row of names; `mark` is * for messages that were taken.

    Tabs, line ends and backslashes in a value are written as backslash escapes, so that a row is a line. For the end of
    a task or the run, `content` is its status and error.
    """

    def head(self, title: RunTitle) -> str:
        """The names of the columns."""
        return "\t".join(COLUMNS) + "\n"

    def part(self, entry: Entry) -> str:
        """A row."""
        said, usage = entry.said, entry.usage
        if said is not None:
            fields = {**said.fields.model_dump(), "content": said.text}
        else:
            fields = {**dict.fromkeys(ChatDocLoggerFields.model_fields, ""), "content": _end(entry)}
        values = (
            "*" if entry.mark else "",
            entry.path,
            entry.responder,
            *fields.values(),
            entry.kind,
            entry.turn,
            entry.number or "",
            entry.parent or "",
            *((usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) if usage else ("", "", "")),
            decimal_string(usage.cost) if usage is not None and usage.cost is not None else "",
            entry.at.isoformat(),
        )
        return "\t".join(tsv_field(visible(str(value))) for value in values) + "\n"

    def tail(self) -> str:
        """Nothing."""
        return ""


def _end(entry: Entry) -> str:
    return " ".join(part for part in (entry.status, ": ".join(entry.error or ())) if part)
