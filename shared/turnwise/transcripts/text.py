"""A log as lines of text, coloured for a terminal."""

from __future__ import annotations

from turnwise.base.text import visible
from turnwise.messages.entity import Entity
from turnwise.transcripts.entry import Entry, RunTitle
from turnwise.transcripts.message_text import Said
from turnwise.transcripts.numbers import used

_BOLD, _DIM, _RED, _END = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[0m"
_COLORS = {
    Entity.LLM.value: "\x1b[32m",
    Entity.AGENT.value: "\x1b[33m",
    Entity.USER.value: "\x1b[34m",
    Entity.SYSTEM.value: "\x1b[35m",
}


class Text:
    """A line per entry, indented by task; * marks messages that were taken, and rejected ones are dim.

    Escape sequences within messages are shown, not obeyed. `color` and `times` can be left out.
    """

    def __init__(self, *, color: bool = True, times: bool = True) -> None:
        self._color = color
        self._times = times

    def head(self, title: RunTitle) -> str:
        """The run's id, where it has one."""
        return f"{self._painted(title.run, _BOLD)}\n" if title.run else ""

    def part(self, entry: Entry) -> str:
        """The entry's line, or lines where its text has several; a root's end is that of the run."""
        if entry.kind == "finished" and not entry.depth:
            return ""
        time = f"{entry.at:%H:%M:%S}.{entry.at.microsecond // 1000:03} " if self._times else ""
        indent = "  " * entry.depth
        first, *rest = self._words(entry).split("\n")
        margin = " " * (len(time) + len(indent) + 4)
        lines = [f"{self._painted(time, _DIM) if time else ''}{indent}{first}", *(f"{margin}{line}" for line in rest)]
        return "\n".join(lines) + "\n"

    def tail(self) -> str:
        """Nothing."""
        return ""

    def spoken(self, text: str, entity: Entity, *, dim: bool = False) -> str:
        """A part of what the entity says, in its colour."""
        return self._painted(text, _DIM if dim else _COLORS[entity.value])

    def _words(self, entry: Entry) -> str:
        if entry.said is not None:
            return self._message(entry, entry.said)
        if entry.kind == "started":
            return self._painted(visible(entry.path), _BOLD)
        if entry.kind == "continued":
            return self._painted(f"{visible(entry.path)} continues after a retry", _BOLD)
        if entry.kind == "none":
            return self._painted(f"  ({visible(entry.path)}) no one answers", _DIM)
        name = "end" if entry.kind == "ended" else visible(entry.path)
        words = f"{name}: {entry.status}" + (f", {visible(': '.join(entry.error))}" if entry.error else "")
        return self._painted(words, _RED if entry.error else _BOLD)

    def _message(self, entry: Entry, said: Said) -> str:
        fields = said.fields
        color = _COLORS.get(fields.sender_entity, "")
        words = [f"{'*' if entry.mark else ' '} ({entry.path}) {entry.responder}"]
        name = f"({fields.sender_name})" if fields.sender_name else ""
        if name or fields.sender_entity != entry.responder:
            words.append(f"{fields.sender_entity}{name}")
        if fields.recipient:
            words.append(f"=> {fields.recipient}")
        if fields.block:
            words.append(f"X {fields.block}")
        if fields.tool:
            words.append(f"{fields.tool_type}({fields.tool})")
        if cost := used(entry.usage):
            words.append(f"[{cost}]")
        text = f"{visible(' '.join(words))}: {visible(said.text)}"
        return self._painted(text, _DIM if entry.kind == "rejected" else color)

    def _painted(self, text: str, color: str) -> str:
        if not self._color or not color:
            return text
        # Line by line, so that a line that is taken out of the log keeps its colour.
        return "\n".join(f"{color}{line}{_END}" if line else "" for line in text.split("\n"))
