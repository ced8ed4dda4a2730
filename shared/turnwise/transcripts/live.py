"""An answer of a model on the terminal, while it is written."""

from __future__ import annotations

from typing import TextIO

from turnwise.agents.human.terminal import shared_terminal
from turnwise.base.text import visible
from turnwise.messages.entity import Entity
from turnwise.models.base import StreamEventType
from turnwise.transcripts.entry import Entry
from turnwise.transcripts.message_text import Said
from turnwise.transcripts.numbers import used
from turnwise.transcripts.text import Text

_NAMES = (StreamEventType.TOOL_NAME, StreamEventType.FUNC_NAME)
_SPACE = " \t\r\n"


class LiveAnswer:
    """Shows the pieces of one answer as they arrive, in lines like those of `Text`.

    Reasoning comes first and dim, then the text, then each call on a line of its own. What a terminal would obey is
    shown as an escape; each character by itself, so that a sequence may be split over pieces. Blanks at the ends of
    the text are left out.
    """

    def __init__(self, screen: TextIO, text: Text, path: str) -> None:
        self._screen = screen
        self._form = text
        self._path = path
        self._margin = "  " * path.count("/")
        self._kind: StreamEventType | None = None
        self._blank = ""
        self._shown: list[str] = []
        self._calls = 0
        self._refused = False

    def begun(self) -> None:
        """The model is about to be asked, perhaps once more."""
        if self._kind is not None:
            self._note("not taken")
        self._kind, self._blank, self._shown, self._calls, self._refused = None, "", [], 0, False

    def piece(self, text: str, kind: StreamEventType) -> None:
        """Show a piece; nothing while another answer is being written on this terminal."""
        if self._kind is None:
            self._refused = self._refused or not shared_terminal.begin(self)
        if self._refused:
            return
        if kind is not self._kind or kind in _NAMES:
            if not text.strip(_SPACE):
                return
            self._change(kind)
            text = text.lstrip(_SPACE)
        text = self._blank + text
        written = text.rstrip(_SPACE)
        self._blank = text[len(written) :]
        if written:
            self._show(visible(written).replace("\n", f"\n{self._margin}    "))
            if kind is StreamEventType.TEXT:
                self._shown.append(visible(written))

    def broken(self, why: str = "this answer does not count") -> None:
        """The call failed, or its answer was refused; others say whether the model is asked again."""
        if self._kind is not None:
            self._note(why)
        shared_terminal.end(self, self._screen)
        self._kind = None

    def complete(self) -> None:
        """The whole answer is there."""
        shared_terminal.end(self, self._screen)

    def told(self, entry: Entry) -> bool:
        """Add what the entry knows beside the text that was shown; False if the entry has to be shown itself."""
        said = entry.said
        if self._kind is None or said is None or entry.responder != Entity.LLM.value:
            return False
        self._kind = None
        if visible(said.fields.content).strip(_SPACE) not in "".join(self._shown):
            return False
        unseen = [tool for tool in said.tools if not tool.written][self._calls :]
        for tool in unseen:
            self._show(f"\n{self._margin}    {visible(tool.line)}")
        return self._note(*_notes(entry, said))

    def _change(self, kind: StreamEventType) -> None:
        """Begin the next part of the answer on a line of its own."""
        before, self._kind, self._blank = self._kind, kind, ""
        if kind in _NAMES:
            self._calls += 1
        follows = before is not None and before is not StreamEventType.REASONING
        if kind in (StreamEventType.TOOL_ARGS, StreamEventType.FUNC_ARGS):
            head = " "
        elif follows:
            head = f"\n{self._margin}    "
        else:
            thinks = " thinks" if kind is StreamEventType.REASONING else ""
            mark = " " if thinks else "*"
            first = "" if before is None else "\n"
            head = f"{first}{self._margin}{mark} ({visible(self._path)}) {Entity.LLM.value}{thinks}: "
        self._show(head)

    def _show(self, text: str) -> None:
        dim = self._kind is StreamEventType.REASONING
        shared_terminal.write(self, self._screen, self._form.spoken(text, Entity.LLM, dim=dim))

    def _note(self, *notes: str) -> bool:
        """End the answer's line, with notes behind it; False if others have written since."""
        words = f"  [{', '.join(notes)}]" if notes else ""
        return shared_terminal.close_line(self, self._screen, self._form.spoken(words, Entity.LLM, dim=True))


def _notes(entry: Entry, said: Said) -> list[str]:
    notes = [] if entry.mark else ["not taken"]
    if said.fields.recipient:
        notes.append(f"=> {visible(said.fields.recipient)}")
    if said.fields.block:
        notes.append(f"X {visible(said.fields.block)}")
    if cost := used(entry.usage):
        notes.append(cost)
    return notes
