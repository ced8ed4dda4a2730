"""A served run on the terminal, shown like one of a script."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING

from turnwise.agents.human.terminal import HOW_TO_LEAVE, on_screen, read_line, shared_terminal
from turnwise.api.events import DeltaView, EventView
from turnwise.api.runs import RunView
from turnwise.base.text import visible
from turnwise.cli.text.event_lines import EventLines
from turnwise.cli.text.messages import as_json, document_text
from turnwise.cli.text.run import print_run, result_text
from turnwise.cli.wait_notices import WaitNotices
from turnwise.models.base import StreamEventType
from turnwise.transcripts.entry import Entry, RunTitle
from turnwise.transcripts.from_events import EventReader
from turnwise.transcripts.live import LiveAnswer
from turnwise.transcripts.screen import ScreenSink, colored

if TYPE_CHECKING:
    from turnwise.client import Client

# What is told of the run beside its messages.
_TOLD = frozenset({"ask.expired", "ask.deferred", "limit.reached", "run.retried"})
_LOST = "a part was lost; the whole answer follows"


class ChatScreen:
    """Shows a run from now on: each message once, and on a terminal answers of models while they are written.

    `last` has the number of the last event of each type.
    """

    def __init__(self, client: Client, run: RunView) -> None:
        self._client = client
        self._run = run
        self._out = sys.stdout
        self._sink = ScreenSink(self._out, color=colored(self._out))
        self._sink.open(RunTitle(task=run.task))
        self._pieces = _Pieces(self._sink) if self._out.isatty() else None
        self._silence = WaitNotices(client, run.id, self._tell)
        self._lines = EventLines(width=400)
        self._reader = EventReader()
        self._said = ""
        self._asking = False
        self.last: dict[str, int] = {}

    def questions(self) -> Generator[EventView, None, None]:
        """Show what happens, up to the run's end; yields the `human.asked` event of each question.

        What happened before someone came to the run is not told again, but a question that is open is asked.
        """
        begun = self._run.last_event
        open_question = self._run.waiting_for.get("question") if self._run.waiting_for is not None else None
        for event in self._silence.between(self._client.events(self._run.id, text=self._pieces is not None)):
            if not isinstance(event, EventView):
                if self._pieces is not None and isinstance(event, DeltaView):
                    self._pieces.add(event)
                continue
            self.last[event.type] = event.seq
            new = event.seq > begun
            if self._pieces is not None:
                self._pieces.heard(event)
            for entry in self._reader.entries(as_json(event)):
                if new:
                    self._show(entry)
            if new and event.type in _TOLD and (line := self._lines.line(as_json(event))) is not None:
                self._tell(visible(str(line)))
            if event.type == "human.asked" and (new or event.ask == open_question):
                yield event

    def ask(self, question: EventView, given: str | None = None) -> str:
        """The human's answer to a `human.asked` event, without blanks around it; "q" once the input has ended.

        It is `given` if he gave it before he was asked.
        """
        if given is not None:
            on_screen.set(given.strip())
            return given.strip()
        asker = visible((question.task or "").rpartition("/")[2])
        text = visible(document_text((question.data or {}).get("document")))
        prompt = f"{asker} asks {HOW_TO_LEAVE}: "
        self._asking = True
        try:
            return read_line(prompt if text in self._said else f"\n{text}\n{prompt}")
        finally:
            self._asking = False

    def interrupted(self) -> None:
        """End the line that is being written."""
        if self._pieces is not None:
            self._pieces.broken("interrupted")
        shared_terminal.lines(self._out, "")

    def end(self) -> RunView:
        """Show how the run ended, and its result if that was not said before; the run."""
        run = self._client.run(self._run.id)
        shown = as_json(run)
        if run.status != "completed" or visible(result_text(shown)).strip() not in self._said:
            print_run(shown, stopped=False)  # that goes to stderr
        return run

    def _show(self, entry: Entry) -> None:
        if entry.kind in ("ended", "continued") or (not entry.depth and entry.kind in ("started", "given", "finished")):
            return  # what the human knows, and what `end` and the notice of a retry tell
        if entry.said is not None:
            self._said = visible(entry.said.text)
        self._sink.add(entry)

    def _tell(self, sentence: str) -> None:
        if not self._asking:
            shared_terminal.lines(self._out, f"  {sentence}\n")


class _Pieces:
    """Puts the pieces of answers into their lines, as long as none was lost."""

    def __init__(self, sink: ScreenSink) -> None:
        self._sink = sink
        self._paths: dict[str, str] = {}
        self._early: list[DeltaView] = []
        self._answer: LiveAnswer | None = None
        self._of: tuple[str, int] = ("", 0)
        self._next = 0

    def heard(self, event: EventView) -> None:
        """Remember whose model is asked."""
        if event.type == "turn.asked":
            self._paths = {str(event.ask): str(event.task)}
            early, self._early = self._early, []
            for piece in early:
                self.add(piece)

    def add(self, piece: DeltaView) -> None:
        """Show the text of an `llm.delta` event. Another attempt begins anew; after a gap the rest is not shown."""
        of = (piece.ask, piece.attempt)
        if of[0] not in self._paths:  # pieces may overtake the event that says who is asked
            self._early.append(piece)
            return
        if of != self._of:
            if of[0] == self._of[0] and of[1] < self._of[1]:
                return
            self.broken()
            self._of, self._next = of, 0
            self._answer = self._sink.live(self._paths[of[0]])
        if self._answer is None:
            return
        if piece.offset != self._next:
            self.broken(_LOST)
            return
        self._next += len(piece.text)
        self._answer.piece(piece.text, StreamEventType.TEXT)

    def broken(self, why: str | None = None) -> None:
        """End the line of an answer that does not continue there."""
        if self._answer is not None:
            self._answer.broken(*([why] if why else []))
            self._answer = None
